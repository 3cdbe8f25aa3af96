"""``verbal_confidence``: the label that was answered, with the confidence that the model then stated."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from quaver import registry
from quaver.errors import SpecError
from quaver.records import LabelSet, Reading, Response, Variant
from quaver.score import Answer, Evaluator, Reader
from quaver.score.annotate import read
from quaver.score.verbal import verbal_confidence

__all__ = ["VerbalConfidence"]


class VerbalConfidence:
    """A follow-up that asked how sure the model is gives the confidence, the answer itself the label.

    The label, status and marks are those that another evaluator reads in the answer. The confidence
    is the one distinct well-formed number in what the model said when it was asked: a percentage
    (``85%``), a decimal from 0 to 1 with a point, or so many out of 100, tried in this order.
    Several, none, a range, or a number outside 0 to 1 is no confidence, and the reason says which.

    Args:
        label: The registered evaluator that reads the label, with its defaults.
    """

    reads: ClassVar[Literal["pair"]] = "pair"
    of: ClassVar[str] = "verbal_decimal"

    def __init__(self, *, label: str = "first_label") -> None:
        plugin = registry.load("evaluators", label, where="label")
        if getattr(plugin, "of", "") or getattr(plugin, "reads", "text") != "text":
            raise SpecError(
                f"the evaluator {label!r} does not read the answer itself",
                where="label",
                expected="a rule that finds the label in an answer's text",
            )
        self._evaluator: Evaluator = plugin()

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers and what was said of them."""

        def read_both(said: Answer) -> Reading:
            about = said.about or Response("", finish="error", error="no answer is stored")
            reading = read(about, self._evaluator, labels, variant)
            confidence = verbal_confidence(said)
            why = confidence.reason and f"confidence: {confidence.reason}"
            reason = "; ".join(part for part in (reading.reason, why) if part) or None
            return replace(reading, confidence=confidence.value, probabilities=None, reason=reason)

        return read_both
