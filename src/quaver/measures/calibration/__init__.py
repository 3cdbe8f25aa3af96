"""Measures of confidence: how far stated or token confidence is from the share of correct labels."""
