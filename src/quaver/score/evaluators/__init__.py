"""Evaluators: named rules that turn a response into a label or a reason why not."""
