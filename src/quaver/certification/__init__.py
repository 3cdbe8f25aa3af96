"""Simulated studies whose truth is known: how often intervals cover it, and tests reject what is true."""
