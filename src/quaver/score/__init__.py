"""Responses become annotations: evaluators parse what a model answered."""
