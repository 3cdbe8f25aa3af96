"""Models asked in processes elsewhere: the workers of a Ray cluster."""
