"""Follow-ups: further calls to the same model about the same item, one kind a file.

Each follow-up is a condition of its own. One that quotes the answer is asked once that answer is stored, for
each repeat; one that does not is asked once for each item. An answer that is an error has no follow-up.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from quaver.core.records import Decoding, LabelSet, Message, Variant

__all__ = ["FollowUp"]


class FollowUp(Protocol):
    """A kind of follow-up, registered under ``quaver.follow_ups``.

    Its constructor takes the options that stand beside its name in the study file, as keyword
    arguments with annotated types.
    """

    quotes_answer: ClassVar[bool]
    """Whether it continues from the answer; otherwise it starts from the prompt."""

    continues: bool
    """Whether the model continues a message of its own that was begun for it."""

    def decoding(self, variant: Variant) -> Decoding:
        """Its decoding: always greedy, under any name.

        A model that has fewer log-probabilities than ``logprobs`` returns those it has.
        """
        ...

    def messages(self, prompt: tuple[Message, ...], answer: str) -> tuple[Message, ...]:
        """The messages that the model sees.

        Args:
            prompt: The messages before the answer.
            answer: The model's answer; empty if the follow-up does not quote it.
        """
        ...

    def choices(self, labels: LabelSet, variant: Variant) -> tuple[str, ...]:
        """The only answers allowed; empty if any answer is."""
        ...
