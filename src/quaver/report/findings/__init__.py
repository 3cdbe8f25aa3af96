"""Findings: verdicts drawn from estimates, and the sentences rendered from them."""
