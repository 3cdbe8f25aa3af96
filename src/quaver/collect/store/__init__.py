"""Stored responses: one SQLite file, what protects it from faults, and what reads it back."""
