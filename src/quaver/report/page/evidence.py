"""What a report needs beside the annotations: item texts, raw answers, costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class RawAnswer(NamedTuple):
    """A stored answer as the model gave it: its place in the design, and its text."""

    item: str
    model: str
    variant: str
    decoding: str
    text: str


class Cost(NamedTuple):
    """What a model's answers cost.

    Attributes:
        model: Its name in the study.
        calls: Calls that were made.
        reused: Answers that were reused from other studies.
        errors: How many of the calls ended in an error.
        prompt_tokens: Tokens read.
        cached_tokens: How many of these the server had in its cache.
        completion_tokens: Tokens written.
        money: US dollars; None where the price is not known.
    """

    model: str
    calls: int
    reused: int
    errors: int
    prompt_tokens: float
    cached_tokens: float
    completion_tokens: float
    money: float | None


class PartCost(NamedTuple):
    """What the answers at one level of a factor cost.

    Attributes:
        factor: A factor of the variants, ``decoding`` or ``model``.
        level: One of its levels.
        calls: Answers.
        prompt_tokens: Tokens read.
        completion_tokens: Tokens written.
        money: US dollars; None where the price of one of the models is not known.
    """

    factor: str
    level: str
    calls: int
    prompt_tokens: float
    completion_tokens: float
    money: float | None


class Behind(Protocol):
    """Where a report looks up texts, answers and costs, a few items at a time."""

    @property
    def raw(self) -> bool:
        """Whether raw answers are stored."""
        ...

    def texts(self, items: Sequence[str]) -> Mapping[str, str]:
        """The texts of some items by id, as far as they are known."""
        ...

    def answers(self, items: Sequence[str]) -> Sequence[RawAnswer]:
        """The first repeat's raw answers about some items, each cut to a few hundred characters."""
        ...

    def costs(self) -> Sequence[Cost]:
        """What each model's answers cost; nothing if no calls were made."""
        ...

    def part_costs(self) -> Sequence[PartCost]:
        """What the answers at each level of each factor cost, of all models together."""
        ...
