"""Measures of whether labels can be used: compliance, missing labels, coders, conclusions, readiness."""
