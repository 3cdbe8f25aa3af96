"""Items: read from files and data sets, with ids, gold labels, groups and options."""
