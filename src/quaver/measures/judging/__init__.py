"""Measures of a model that grades answers: what moves its grades beside the answers' quality."""
