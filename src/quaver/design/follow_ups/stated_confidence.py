"""``verbal``: asks the model how sure it is of the answer that it has just given.

The stated confidence depends on the question. The two phrasings here differ in scale, mood and format, so
that a study that uses both can see how much.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from quaver.core.records import Decoding, LabelSet, Message, Variant

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

    def messages(self, prompt: tuple[Message, ...], answer: str) -> tuple[Message, ...]:
        """The prompt, the answer, and the question."""
        return (*prompt, Message("assistant", answer), Message("user", self._question))

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
