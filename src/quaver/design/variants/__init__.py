"""Variant families, one a file: each is a factor, and the factors are crossed in full."""
