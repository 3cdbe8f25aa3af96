"""Estimates become findings, charts, tables and one HTML page."""
