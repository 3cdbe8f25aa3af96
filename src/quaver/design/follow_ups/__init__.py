"""Follow-ups: calls that go with a call, asked of the same model about the same item, one kind a file.

Each is a condition of its own beside the one that it follows. One that quotes the answer is asked
once that answer is stored, for each of its repeats; one that does not is asked once an item. An
answer that is an error is not followed.
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
    """Whether it goes on from the answer; else it starts from the prompt."""

    continues: bool
    """Whether the model is to go on with a message of its own that has been begun for it."""

    def decoding(self, variant: Variant) -> Decoding:
        """How it is answered; always greedily, under any name.

        ``logprobs`` is how many are wanted: a model that has fewer gives what it has.
        """
        ...

    def messages(self, prompt: tuple[Message, ...], answer: str) -> tuple[Message, ...]:
        """What the model sees.

        Args:
            prompt: What it saw before.
            answer: What it answered; an empty text where the follow-up does not quote it.
        """
        ...

    def choices(self, labels: LabelSet, variant: Variant) -> tuple[str, ...]:
        """The only answers allowed; empty where anything is."""
        ...
