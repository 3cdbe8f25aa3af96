"""Responses become annotations: evaluators read what a model answered."""
