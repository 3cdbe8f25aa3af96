"""Families of prompt variants, one a file: each is a factor, and the factors are fully crossed."""
