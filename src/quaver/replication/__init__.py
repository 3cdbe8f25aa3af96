"""Published numbers beside the same numbers recomputed from the published annotations."""
