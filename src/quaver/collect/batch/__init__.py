"""Batches: requests that are handed to a provider together and collected hours later."""
