"""Families of prompt variants: each is a factor, and the factors are fully crossed."""
