"""``constrained``: the answer so far, a marker, and nothing but a label may follow."""

from __future__ import annotations

from typing import ClassVar, Literal

from quaver.core.records import Decoding, LabelSet, Message, Variant

__all__ = ["Constrained"]

_LEAST = 4


class Constrained:
    """Has the model end its own answer with a label: the repair for answers that no rule can read.

    The model gets its answer back, followed by a marker, and can write nothing but one of the
    variant's answers.

    Args:
        marker: What stands between the answer and the label.
        how: ``continue`` lets the model go on with its own message after the marker, as some engines
            can; ``ask`` puts the marker as the user's next message, as every chat model can.
    """

    quotes_answer: ClassVar[bool] = True

    def __init__(
        self, *, marker: str = "\n\nFinal answer: ", how: Literal["continue", "ask"] = "continue"
    ) -> None:
        self._marker = marker
        self.continues = how == "continue"

    def decoding(self, variant: Variant) -> Decoding:
        """As long as the longest label can be; a token is a character at least."""
        longest = max(len(answer.encode()) for answer in variant.answers.values())
        return Decoding("constrained", max_tokens=max(_LEAST, longest), constraint="labels")

    def messages(self, prompt: tuple[Message, ...], answer: str) -> tuple[Message, ...]:
        """The prompt, the answer, and the marker."""
        if self.continues:
            return (*prompt, Message("assistant", answer + self._marker))
        return (*prompt, Message("assistant", answer), Message("user", self._marker.strip()))

    def choices(self, labels: LabelSet, variant: Variant) -> tuple[str, ...]:
        """The variant's answers."""
        return tuple(variant.answers[code] for code in labels.codes)
