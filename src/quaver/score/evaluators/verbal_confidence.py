"""``verbal_confidence``: the label that was answered, with the confidence that the model then stated."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final, Literal

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Response, Variant
from quaver.score.parsing.evaluator import Answer, Given, Reader, Rule, evaluator_within
from quaver.score.parsing.label_forms import Forms, forms_of
from quaver.score.parsing.statuses import read_alone, verbal_confidence

_NOT_STORED: Final = Response("", finish="error", error="no answer is stored")


class VerbalConfidence:
    """A follow-up that asked how sure the model is gives the confidence, the answer itself the label.

    The label, status and marks are those that another evaluator reads in the answer. The confidence
    is the one distinct well-formed number in what the model said when it was asked: a percentage
    (``85%``), a decimal from 0 to 1 with a point, or so many out of 100, tried in this order.
    Several, none, a range, or a number outside 0 to 1 is no confidence, and the reason says which.

    Args:
        label: The registered evaluator that reads the label: its name, or ``use`` and its options.
    """

    reads: ClassVar[Literal["pair"]] = "pair"
    of: ClassVar[str] = "verbal_decimal"

    def __init__(self, *, label: Given = "marked_label") -> None:
        self._evaluator = evaluator_within(label, "label")

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers and the follow-ups about them."""
        return Rule(_confident, (self._evaluator.reader(labels, variant), forms_of(labels, variant)))


def _confident(answer: Answer, reader: Reader, forms: Forms) -> Reading:
    reading = read_alone(answer.about or _NOT_STORED, reader, forms)
    confidence, why = verbal_confidence(answer)
    reason = "; ".join(part for part in (reading.reason, why and f"confidence: {why}") if part) or None
    return replace(reading, confidence=confidence, probabilities=None, reason=reason)
