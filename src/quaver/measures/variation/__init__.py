"""Measures of how labels and their distribution move with the prompt."""
