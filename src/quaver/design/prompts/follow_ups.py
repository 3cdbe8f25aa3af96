"""Follow-ups: further calls to the same model about the same item.

Each follow-up is a condition of its own. One that quotes the answer is asked once that answer is stored, for
each repeat; one that does not is asked once for each item. An answer that is an error has no follow-up.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Protocol

from pydantic import Field

from quaver.core.calls import Message
from quaver.core.records import Decoding, LabelSet, Variant

_LEAST = 4


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

    def messages(self, answer: str) -> tuple[Message, ...]:
        """The messages that the model sees after the prompt.

        Args:
            answer: The model's answer; empty if the follow-up does not quote it.
        """
        ...

    def choices(self, labels: LabelSet, variant: Variant) -> tuple[str, ...]:
        """The only answers allowed; empty if any answer is."""
        ...


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

    def messages(self, answer: str) -> tuple[Message, ...]:
        """The answer, and the marker."""
        if self.continues:
            return (Message("assistant", answer + self._marker),)
        return Message("assistant", answer), Message("user", self._marker.strip())

    def choices(self, labels: LabelSet, variant: Variant) -> tuple[str, ...]:
        """The variant's answers."""
        return tuple(variant.answers[code] for code in labels.codes)


class FirstToken:
    """How likely each label's first token is, for answers longer than one token.

    It sends the prompt again for one token. The probabilities of the first token do not depend on decoding,
    so one call for each item is enough, whatever the repeats and the temperature.

    Args:
        logprobs: How many of the most likely tokens to return; a model that has fewer returns those.
    """

    quotes_answer: ClassVar[bool] = False
    continues = False

    def __init__(self, *, logprobs: Annotated[int, Field(ge=1)] = 200) -> None:
        self._logprobs = logprobs

    def decoding(self, variant: Variant) -> Decoding:
        """One token."""
        return Decoding("first_token", max_tokens=1, logprobs=self._logprobs)

    def messages(self, answer: str) -> tuple[Message, ...]:
        """The prompt stays as it was."""
        return ()

    def choices(self, labels: LabelSet, variant: Variant) -> tuple[str, ...]:
        """Anything may be written: a constraint would move the probabilities."""
        return ()


Tokens = Annotated[int, Field(ge=1)]


class Verbal:
    """A question of your own about the answer, in the same conversation.

    Args:
        question: The question.
        max_tokens: The limit on the reply.
    """

    quotes_answer: ClassVar[bool] = True
    continues = False

    def __init__(self, *, question: Annotated[str, Field(min_length=1)], max_tokens: Tokens = 8) -> None:
        self._question, self._max_tokens = question, max_tokens

    def decoding(self, variant: Variant) -> Decoding:
        """A few tokens."""
        return Decoding("verbal", max_tokens=self._max_tokens)

    def messages(self, answer: str) -> tuple[Message, ...]:
        """The answer, and the question."""
        return Message("assistant", answer), Message("user", self._question)

    def choices(self, labels: LabelSet, variant: Variant) -> tuple[str, ...]:
        """Anything may be written."""
        return ()


class VerbalDecimal(Verbal):
    """How sure the model is, as a decimal from 0 to 1.

    Args:
        max_tokens: The limit on the reply.
    """

    def __init__(self, *, max_tokens: Tokens = 8) -> None:
        super().__init__(
            question="Now rate how certain you are of this answer. Give a decimal number from 0 (not at all) "
            "to 1 (fully), and write that number only.",
            max_tokens=max_tokens,
        )


class VerbalPercentage(Verbal):
    """How sure the model is: the chance, in percent, that its answer is right.

    Args:
        max_tokens: The limit on the reply.
    """

    def __init__(self, *, max_tokens: Tokens = 8) -> None:
        super().__init__(
            question="What is the chance that your answer is the right one? Please reply with a percentage, "
            "including the % sign.",
            max_tokens=max_tokens,
        )
