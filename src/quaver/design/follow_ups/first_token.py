"""``first_token``: the prompt again, for one token and the log-probabilities of the most likely ones."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from quaver.core.records import Decoding, LabelSet, Message, Variant


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

    def messages(self, prompt: tuple[Message, ...], answer: str) -> tuple[Message, ...]:
        """The prompt as it was."""
        return prompt

    def choices(self, labels: LabelSet, variant: Variant) -> tuple[str, ...]:
        """Anything may be written: a constraint would move the probabilities."""
        return ()
