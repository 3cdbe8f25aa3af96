"""What each part of a study takes: calls and tokens by level of every factor, and by decoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

from quaver.collect.run.progress import Price
from quaver.core.records import Condition
from quaver.design.calls.call_plan import Plan


@dataclass(frozen=True, slots=True)
class PlanPart:
    """The calls at one level of a factor, of all models together.

    Attributes:
        factor: A factor of the variants, ``decoding`` or ``model``.
        level: One of its levels; an empty text where a variant has none.
        calls: Calls.
        prompt_tokens: Tokens of their prompts.
        answer_tokens: At most, if every answer is as long as it may be.
    """

    factor: str
    level: str
    calls: int
    prompt_tokens: int
    answer_tokens: int


def parts_of(plan: Plan, tokens_a_character: Mapping[str, float]) -> tuple[PlanPart, ...]:
    """Split a plan by whatever has several levels in it.

    Returns:
        The parts, factor by factor; those of one factor sum to the whole plan.
    """
    experiment = plan.experiment
    factors_of = {variant.id: variant.factors for variant in experiment.variants}
    names = list(dict.fromkeys(name for factors in factors_of.values() for name in factors))
    sums: dict[tuple[str, str], list[float]] = {}
    of_variants = zip(experiment.variants, plan.order.survey.of_variants, strict=True)
    characters = {one.id: total for one, total in of_variants}
    for condition in experiment.conditions:
        read = characters[condition.variant] * condition.repeats
        tokens = read * tokens_a_character[condition.model]
        levels = [(name, factors_of[condition.variant].get(name, "")) for name in names]
        for key in (*levels, ("decoding", condition.decoding), ("model", condition.model)):
            total = sums.setdefault(key, [0, 0, 0])
            total[0] += len(experiment.items) * condition.repeats
            total[1] += tokens
            total[2] += answer_tokens(plan, condition)
    found = [
        PlanPart(factor, level, int(calls), round(prompts), int(answers))
        for (factor, level), (calls, prompts, answers) in sums.items()
    ]
    several = {part.factor for part in found if part.calls < experiment.calls}
    order = [name for name in (*names, "decoding", "model") if name in several]
    return tuple(part for name in order for part in found if part.factor == name)


def answer_tokens(plan: Plan, condition: Condition) -> int:
    """Tokens of a condition's answers, if each is as long as it may be."""
    return len(plan.experiment.items) * condition.repeats * plan.max_tokens(condition)


_FEW = 5
"""Answers from which their length is taken to be known, within two standard errors."""

_CHARACTERS_EITHER_WAY = 0.25
"""How far four characters a token may be off, where nothing counted."""


class Range(NamedTuple):
    """From the least to the most."""

    low: float
    high: float

    def __str__(self) -> str:
        """As dollars."""
        if self.high == 0:
            return "free"
        low, high = _dollars(self.low), _dollars(self.high)
        return low if low == high else f"{low} to {high}"


def _dollars(amount: float) -> str:
    if 0 < amount < 0.01:
        return f"${amount:.2g}" if amount >= 1e-4 else "under $0.0001"
    return f"${amount:,.2f}"


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens that some calls will take.

    Attributes:
        prompt: Read, cached ones among them.
        cached: How many of these the server has read before: the most in ``high``.
        completion: Written.
        measured: Answers that this rests on; 0 where it is what is possible.
    """

    prompt: Range
    cached: Range
    completion: Range
    measured: int

    def cost(self, price: Price) -> Range:
        """In US dollars: the least with as much as possible from the server's cache, the most with little."""
        return Range(
            price.of(self.prompt.low, min(self.prompt.low, self.cached.high), self.completion.low),
            price.of(self.prompt.high, min(self.prompt.high, self.cached.low), self.completion.high),
        )


def expected_tokens(
    calls: float, prompt: float, shared: float, longest: float, counted: bool, used: Mapping[str, float]
) -> Tokens:
    """The tokens that calls will take."""
    n = int(used.get("counted", 0))
    if n < _FEW:
        off = 0.0 if counted else _CHARACTERS_EITHER_WAY
        return Tokens(
            Range(prompt * (1 - off), prompt * (1 + off)), Range(0.0, shared), Range(calls, longest), 0
        )
    written = _mean(n, used["completion_tokens"], used["completion_squares"], calls, longest)
    read = (
        Range(prompt, prompt) if counted else _mean(n, used["prompt_tokens"], used["prompt_squares"], calls)
    )
    share = used["cached_tokens"] / used["prompt_tokens"] if used["prompt_tokens"] else 0.0
    return Tokens(read, Range(share * read.low, share * read.high), written, n)


def _mean(n: int, total: float, squares: float, calls: float, most: float = float("inf")) -> Range:
    """A sum over calls like ``n`` measured ones, two standard errors either way."""
    mean = total / n
    error = 2 * sqrt(max(0.0, squares / n - mean * mean) / (n - 1))
    return Range(max(0.0, mean - error) * calls, min(most, (mean + error) * calls))
