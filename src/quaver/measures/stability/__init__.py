"""Measures of how far the same question gets the same label: prompt stability and its kin."""
