"""Recorded answers, found by what was asked."""
