"""The protocol of an evaluator.

A response is read in three steps. ``parsed_answer`` removes what is not the answer (thinking, marks of the
chat format, invisible characters). ``statuses`` decides, once for all evaluators, whether there is anything
to read (``error``, ``empty``, ``refused``) and how it ended (``truncated``, ``looping``). An evaluator then
reads the answer and decides between a label, ``ambiguous`` and ``no_label``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.parsed_answer import Answer

__all__ = ["Answer", "Evaluator", "Reader"]

Reader = Callable[[Answer], Reading]
"""Reads one answer. It is pure, never raises, and returns the status ``valid``, ``ambiguous`` or ``no_label``
(made by ``quaver.score.parsing.readings``). Marks and other statuses are set elsewhere.

A reader may have a method ``many`` that reads a list of answers at once, which is faster."""


class Evaluator(Protocol):
    """A named rule that turns an answer into a label or a reason why not.

    A class registered under ``quaver.evaluators``. Its constructor takes the rule's options as keyword
    arguments; its docstring states the rule exactly, since the report quotes it.

    It is shown the answer's text, how the answer ended and whether there was thinking, and answers that show
    the same are read once. A class attribute ``reads`` asks for more: ``"tokens"`` means that it reads the
    tokens' log-probabilities instead of the text, so that an empty or refusing text does not matter;
    ``"pair"`` that it reads a follow-up with the answer that it quotes (``Answer.about``), and sets status
    and marks itself; ``"response"`` that it is shown the whole response (thinking, what else the model sent,
    how long it took), so that every answer is read. A class attribute ``of`` names the follow-up that it
    reads by default.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers.

        Args:
            labels: The task's label set.
            variant: The prompt variant; ``variant.answers`` maps each label code to the answer asked for.
        """
        ...
