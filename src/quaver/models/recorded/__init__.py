"""Answers that exist already, found by what was asked."""
