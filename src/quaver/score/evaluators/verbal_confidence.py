"""``verbal_confidence``: the label that was answered, with the confidence that the model then stated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal

import numpy as np

from quaver.core.annotations import AnswerRows, Reading
from quaver.core.records import LabelSet, Response, Variant
from quaver.score.distinct_readings import DistinctReadings, alone
from quaver.score.parsing.evaluator import Answer, Given, Reader, evaluator_within
from quaver.score.parsing.statuses import verbal_confidence

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
        return _VerbalConfidenceReader(alone(self._evaluator, labels, variant))


@dataclass(frozen=True, slots=True)
class _VerbalConfidenceReader:
    labels: DistinctReadings

    def __call__(self, answer: Answer) -> Reading:
        return self.many([answer])[0]

    def many(self, answers: Sequence[Answer]) -> list[Reading]:
        about = [(0, 0, 0, answer.about or _NOT_STORED, None) for answer in answers]
        found = self.labels.of(np.zeros(len(about), np.intp), AnswerRows.of(about))
        return [_with_confidence(found.reading(index), answer) for index, answer in enumerate(answers)]


def _with_confidence(reading: Reading, answer: Answer) -> Reading:
    confidence = verbal_confidence(answer)
    why = confidence.reason and f"confidence: {confidence.reason}"
    reason = "; ".join(part for part in (reading.reason, why) if part) or None
    return replace(reading, confidence=confidence.value, probabilities=None, reason=reason)
