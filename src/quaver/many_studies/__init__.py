"""A collection: several studies in one file that shares what is common, run and reported together."""
