"""``constrained``: the model ends its own answer with a label and nothing else."""

from __future__ import annotations

from typing import ClassVar, Literal

from quaver.core.records import Decoding, LabelSet, Message, Variant

_LEAST = 4


class Constrained:
    """Makes the model end its own answer with a label, for answers that no rule can parse.

    The model sees its answer again, followed by a marker, and can write one of the variant's answers and
    nothing else.

    Args:
        marker: The text between the answer and the label.
        how: ``continue`` lets the model continue its own message after the marker, as some engines can;
            ``ask`` sends the marker as the user's next message, which every chat model supports.
    """

    quotes_answer: ClassVar[bool] = True

    def __init__(
        self, *, marker: str = "\n\nFinal answer: ", how: Literal["continue", "ask"] = "continue"
    ) -> None:
        self._marker = marker
        self.continues = how == "continue"

    def decoding(self, variant: Variant) -> Decoding:
        """Enough tokens for the longest label: a token is at least one character."""
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
