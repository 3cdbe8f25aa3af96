"""Prompts: templates, and the messages that a model sees."""
