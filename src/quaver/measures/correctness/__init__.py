"""Measures against gold labels: accuracy, F1, differences, and what factors do to them."""
