"""Measures of annotations, a folder a family."""
