"""responses -> annotations: evaluators, one a file, and the frame that they fill.

A response is read in three steps, each in its file. `answer` takes away what is not the answer
(thinking, marks of the chat format, invisible characters); `status` decides by stated rules
whether there is anything to read (``error``, ``empty``, ``refused``) and how it ended
(``truncated``, ``looping``), once for all evaluators; an evaluator then reads the answer, and
decides between a label, ``ambiguous`` and ``no_label``. `annotate` does so for a whole study.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.parsed_answer import Answer

__all__ = ["Answer", "Evaluator", "Reader"]

Reader = Callable[[Answer], Reading]
"""Reads one answer: pure, never raises, and its status is ``valid``, ``ambiguous`` or ``no_label``
(``quaver.score.parsing.readings`` makes these). The marks and the other statuses are set elsewhere.

A reader may have a method ``many``, that reads a list of answers into a list of readings: with it, a
study's answers are read by the thousand."""


class Evaluator(Protocol):
    """A named rule that turns an answer into a label or a reason why not.

    A class registered under ``quaver.evaluators``; its constructor takes the rule's options as
    keyword arguments, and its docstring states the rule exactly, for the report quotes it.

    A class attribute ``reads = "tokens"`` says that it reads the tokens' log-probabilities and not
    the text, so that an empty or refusing text does not matter to it. ``reads = "pair"`` says that it reads
    a follow-up together with the answer that it quotes (``Answer.about``), and decides on the status and
    the marks too. A class attribute ``of`` names the follow-up that it reads where the study names no other.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers.

        Args:
            labels: The task's label set.
            variant: What was asked; ``variant.answers`` maps each label code to what the model
                was to write for it.
        """
        ...
