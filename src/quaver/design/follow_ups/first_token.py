"""``first_token``: the same prompt, one token long, with the likeliest tokens' log-probabilities."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from quaver.core.records import Decoding, LabelSet, Message, Variant

__all__ = ["FirstToken"]


class FirstToken:
    """How likely each label's first token is, where the answer itself is longer than one token.

    The prompt is asked again for one token. What a model would say first does not depend on how its
    answer is then drawn, so this is asked once an item, whatever the repeats and the temperature.

    Args:
        logprobs: How many of the likeliest tokens are wanted; a model that returns fewer gives
            what it has.
    """

    quotes_answer: ClassVar[bool] = False
    continues = False

    def __init__(self, *, logprobs: Annotated[int, Field(ge=1)] = 200) -> None:
        self._logprobs = logprobs

    def decoding(self, variant: Variant) -> Decoding:
        """One token."""
        return Decoding("first_token", max_tokens=1, logprobs=self._logprobs)

    def messages(self, prompt: tuple[Message, ...], answer: str) -> tuple[Message, ...]:
        """The prompt as it was."""
        return prompt

    def choices(self, labels: LabelSet, variant: Variant) -> tuple[str, ...]:
        """Anything may be written: a constraint would move the probabilities."""
        return ()
