"""responses -> annotations: evaluators, one a file, and the frame that they fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from quaver.records import LabelSet, Reading, Response, Variant

__all__ = ["Evaluator", "Reader"]

Reader = Callable[[Response], Reading]
"""Reads one response; pure, and never raises."""


class Evaluator(Protocol):
    """A named rule that turns a response into a label or a reason why not.

    A class registered under ``quaver.evaluators``; its constructor takes the rule's options as
    keyword arguments, and its docstring states the rule exactly, for the report quotes it.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers.

        Args:
            labels: The task's label set.
            variant: What was asked; ``variant.answers`` maps each label code to what the model
                was to write for it.
        """
        ...
