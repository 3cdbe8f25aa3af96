"""Statistics of repeated looks: e-processes that may be watched for ever."""
