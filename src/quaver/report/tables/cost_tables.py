"""What answers cost: by model, and by the levels of factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from quaver.report.page_words import in_words
from quaver.report.table_rows import Column, Table, listed, tally, text


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
        paraphrases: Whether the calls made paraphrases.
    """

    model: str
    calls: int
    reused: int
    errors: int
    prompt_tokens: float
    cached_tokens: float
    completion_tokens: float
    money: float | None
    paraphrases: bool = False

    @property
    def name(self) -> str:
        """What a table calls it."""
        return f"{self.model} (paraphrases)" if self.paraphrases else self.model


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
    """Where a report looks up texts and costs."""

    def texts(self, items: Sequence[str]) -> Mapping[str, str]:
        """The texts of some items by id, as far as they are known."""
        ...

    def costs(self) -> Sequence[Cost]:
        """What each model's answers cost; nothing if no calls were made."""
        ...

    def part_costs(self) -> Sequence[PartCost]:
        """What the answers at each level of each factor cost, of all models together."""
        ...


def cost_table(costs: Sequence[Cost]) -> Table:
    """What each model's answers cost: calls, tokens, money."""
    reused = [tally("reused", "reused")] if any(one.reused for one in costs) else []
    columns = (
        text("model", "model"),
        tally("calls", "calls"),
        *reused,
        tally("errors", "errors"),
        tally("tokens read", "prompt_tokens"),
        tally("of these cached", "cached_tokens"),
        tally("tokens written", "completion_tokens"),
        _MONEY,
    )
    return listed(
        [one._asdict() | {"model": one.name} for one in costs], columns, most=len(costs), name="cost"
    )


def part_cost_table(costs: Sequence[PartCost]) -> Table:
    """What each level of each factor costs: in all, and for a call."""

    def each(heading: str, tokens: str) -> Column:
        return Column(heading, lambda one: f"{one[tokens] / max(1, one['calls']):,.1f}")

    columns = (
        text("factor", lambda one: in_words(one["factor"])),
        text("level", "level"),
        tally("calls", "calls"),
        each("tokens read per call", "prompt_tokens"),
        each("tokens written per call", "completion_tokens"),
        _MONEY,
    )
    return listed([one._asdict() for one in costs], columns, most=len(costs), name="factor-cost")


def _money(one: Mapping[str, Any]) -> str:
    return "unknown" if one["money"] is None else f"{one['money']:,.4f}" if one["money"] else "0"


_MONEY = Column("US dollars", _money)
