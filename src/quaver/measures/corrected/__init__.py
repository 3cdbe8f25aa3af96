"""Measures that a designed sample of gold labels corrects for the labels' errors."""
