"""Statistics of repeated looks: error spent over looks, and e-processes that may be watched for ever."""
