"""What a study will take: calls, tokens, time and money, before they are spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import exp, inf, log1p, sqrt
from typing import Any, NamedTuple

import scipy

from quaver.collect.run.ledger import Entry
from quaver.collect.run.progress import Price
from quaver.core.batch import Batched
from quaver.core.model import Model
from quaver.core.number_format import count
from quaver.core.rows import Rows
from quaver.design.calls.call_plan import Plan
from quaver.design.paraphrase.paraphraser import ToAsk

_FEW = 5
"""Answers from which their length is forecast."""

_QUANTILE = 0.99
"""Of Student's t: lengths of thought are skewed, so that of 95 in 100 forecasts the cost lies within."""

_COUNTED = 48
"""Prompts whose tokens are counted; the rest are taken to be like them."""

_CHARACTERS_A_TOKEN, _EITHER_WAY = 4.0, 0.25
"""A rule of thumb for English, where the model cannot count, and how far it may be off."""


class Range(NamedTuple):
    """From the least to the most, with what is likely; None where nothing is measured."""

    low: float
    high: float
    likely: float | None = None

    def __str__(self) -> str:
        """As dollars."""
        low, high = _dollars(self.low), _dollars(self.high)
        if self.high == 0 or low == high:
            return low if self.high else "free"
        likely = self.likely
        return f"{low} to {high}" if likely is None else f"about {_dollars(likely)} ({low} to {high})"


def _dollars(amount: float) -> str:
    if 0 < amount < 0.01:
        return f"${amount:.2g}" if amount >= 1e-4 else "under $0.0001"
    return f"${amount:,.2f}"


def priced(cost: Range | None) -> str:
    """A cost in words."""
    return "cost unknown" if cost is None else str(cost)


def expected_cost(
    calls: float,
    prompt: float,
    longest: float,
    price: Price | None,
    *,
    shared: float = 0.0,
    counted: bool = False,
    used: Mapping[str, float] | None = None,
) -> Range | None:
    """What calls will cost: the least with as much as possible from the server's cache, the most with little.

    Args:
        calls: How many.
        prompt: Tokens of their prompts.
        longest: Tokens of their answers, if each is as long as it may be.
        price: The model's; None where it is not known.
        shared: Tokens that neighbouring prompts share, which a cache may hold.
        counted: Whether the model's own tokenizer counted.
        used: What the answers that are stored took (`Calls.usage`).
    """
    if price is None:
        return None
    used = used or {}
    n = int(used.get("counted", 0))
    off = 0.0 if counted else _EITHER_WAY
    read, written = Range(prompt * (1 - off), prompt * (1 + off)), Range(calls, longest)
    least_cached, most_cached = 0.0, shared
    if n >= _FEW:
        written = _mean(n, used["completion_tokens"], used["completion_squares"], calls, longest)
        if not counted:
            read = _mean(n, used["prompt_tokens"], used["prompt_squares"], calls)
        share = used["cached_tokens"] / used["prompt_tokens"] if used["prompt_tokens"] else 0.0
        least_cached, most_cached = share * read.low, share * read.high
    likely, cached = read.likely or (read.low + read.high) / 2, (least_cached + most_cached) / 2
    return Range(
        price.of(read.low, min(read.low, most_cached), written.low),
        price.of(read.high, min(read.high, least_cached), written.high),
        None if written.likely is None else price.of(likely, min(likely, cached), written.likely),
    )


def _mean(n: int, total: float, squares: float, calls: float, most: float = inf) -> Range:
    """A sum over calls like ``n`` measured ones, by Cox's interval for the mean of a lognormal variable."""
    if not total:
        return Range(0.0, 0.0, 0.0)
    mean, cap = (
        total / n,
        most / max(1.0, calls),
    )  # what a model thinks before its answer may go beyond the cap
    spread = log1p(max(0.0, squares / n / mean**2 - 1) * n / (n - 1))
    error = sqrt(spread * (1 / n + 1 / max(1.0, calls)) + spread**2 / (2 * (n - 1)))
    factor = exp(float(scipy.special.stdtrit(n - 1, _QUANTILE)) * error)
    high = mean * factor if mean > cap else min(cap, mean * factor)
    return Range(mean / factor * calls, high * calls, mean * calls)


@dataclass(frozen=True, slots=True)
class ModelForecast:
    """One model's part.

    Attributes:
        model: Its name in the study.
        calls: All of its calls.
        stored: How many of these are answered already.
        prompts: Different prompts.
        prompt_tokens: Tokens of all calls' prompts.
        new_tokens: Tokens left to read where what neighbouring prompts share is read once.
        answer_tokens: At most, if every answer is as long as it may be.
        known: Whether the model's own tokenizer counted, or its answers so far report their tokens; else
            prompts are estimated at four characters a token.
        seconds: For the calls that are not stored, at the pace of those that are; None before any is.
        cost: US dollars of the calls that are not stored; None where the price is not known.
        batch: In words, the cost of the same calls in its provider's batches; empty where there are none.
    """

    model: str
    calls: int
    stored: int
    prompts: int
    prompt_tokens: int
    new_tokens: int
    answer_tokens: int
    known: bool
    seconds: float | None
    cost: Range | None
    batch: str = ""


@dataclass(frozen=True, slots=True)
class Forecast(Rows):
    """A study's plan in numbers.

    Attributes:
        items: Items after sampling.
        variants: Prompt variants.
        decodings: Decodings.
        models: Each model's part.
        notes: On how the variants were chosen.
        paraphrases: A sentence for each model on the calls that made paraphrases, or are to make them; these
            are not among the others.
    """

    items: int
    variants: int
    decodings: int
    models: tuple[ModelForecast, ...]
    notes: tuple[str, ...] = ()
    paraphrases: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(model.calls for model in self.models)

    @property
    def stored(self) -> int:
        """Calls that are answered already."""
        return sum(model.stored for model in self.models)

    @property
    def seconds(self) -> float | None:
        """For what is not stored, the models working side by side; None where one is not known."""
        known = [model.seconds for model in self.models]
        return None if None in known else max((s for s in known if s is not None), default=0.0)

    @property
    def costs(self) -> str:
        """What is not stored costs, a model at a time, in words."""
        costs = [model.cost for model in self.models]
        words = " and ".join("an unknown price" if cost is None else str(cost) for cost in costs)
        measured = all(cost is None or not cost.high or cost.likely is not None for cost in costs)
        return words if measured else f"{words}, more if it thinks before it answers"

    @property
    def most(self) -> float:
        """US dollars at most, of the models whose price is known."""
        return sum(model.cost.high for model in self.models if model.cost is not None)

    def is_wide(self, times: float) -> bool:
        """Whether what some model costs may be more than so many times the least."""
        return any(
            model.cost is not None and model.cost.high > times * model.cost.low for model in self.models
        )

    @property
    def size(self) -> str:
        """Items × variants × decodings, in words."""
        counts = (("item", self.items), ("variant", self.variants), ("decoding", self.decodings))
        return " × ".join(count(n, name) for name, n in counts)

    def __str__(self) -> str:
        """The plan, a line a model."""
        lines = [f"{self.size}: {self.calls:,} calls, {self.stored:,} answered"]
        for model in self.models:
            time = "time unknown" if model.seconds is None else f"{model.seconds:,.0f} s left"
            lines.append(f"{model.model}: {model.calls:,} calls, {time}, {priced(model.cost)}")
        return "\n".join([*lines, *self.paraphrases])

    __repr__ = __str__

    def rows(self) -> list[dict[str, Any]]:
        """A row for each model: its calls, tokens, seconds, and cost from least to most."""
        return [
            {
                "model": model.model,
                "calls": model.calls,
                "answered": model.stored,
                "prompts": model.prompts,
                "prompt_tokens": model.prompt_tokens,
                "tokens_read_once": model.new_tokens,
                "most_answer_tokens": model.answer_tokens,
                "seconds_left": model.seconds,
                "least_cost": model.cost and model.cost.low,
                "most_cost": model.cost and model.cost.high,
            }
            for model in self.models
        ]


def forecast(
    plan: Plan,
    models: Mapping[str, Model],
    usage: Mapping[str, Mapping[str, float]],
    prices: Mapping[str, Price | None],
    entries: Sequence[Entry] = (),
) -> Forecast:
    """Forecast what a plan will take."""
    experiment = plan.experiment
    return Forecast(
        items=len(experiment.items),
        variants=len(experiment.variants),
        decodings=len(experiment.decodings),
        models=tuple(
            _of_model(plan, name, model, usage.get(name, {}), prices.get(name))
            for name, model in models.items()
        ),
        notes=tuple(experiment.notes),
        paraphrases=tuple(_made(entry, prices.get(entry.model)) for entry in entries),
    )


def _of_model(
    plan: Plan, name: str, model: Model, used: Mapping[str, float], price: Price | None
) -> ModelForecast:
    experiment, survey = plan.experiment, plan.order.survey
    of_variant = {variant.id: n for variant, n in zip(experiment.variants, survey.of_variants, strict=True)}
    conditions = [condition for condition in experiment.conditions if condition.model == name]
    rate, counted = _tokens_a_character(plan, model)
    asked = sum(of_variant[variant] for variant in {c.variant for c in conditions})
    calls, stored = len(experiment.items) * sum(c.repeats for c in conditions), int(used.get("calls", 0))
    prompt = rate * sum(of_variant[c.variant] * c.repeats for c in conditions)
    new = rate * survey.new_characters * asked / survey.characters
    longest = len(experiment.items) * sum(c.repeats * plan.max_tokens(c) for c in conditions)
    measured = int(used.get("counted", 0))
    if measured >= _FEW and not counted:  # what prompts took is nearer than what their length suggests
        nearer = calls * used["prompt_tokens"] / measured / prompt
        prompt, new = nearer * prompt, nearer * new
    left = (calls - stored) / calls

    def cost(price: Price | None) -> Range | None:
        shared = left * (prompt - new)
        return expected_cost(
            left * calls, left * prompt, left * longest, price, shared=shared, counted=counted, used=used
        )

    service = model.batches() if isinstance(model, Batched) else None
    in_batches = priced(cost(price and price.in_batch))
    return ModelForecast(
        model=name,
        calls=calls,
        stored=stored,
        prompts=len(experiment.items) * len({c.variant for c in conditions}),
        prompt_tokens=round(prompt),
        new_tokens=round(new),
        answer_tokens=longest,
        known=counted or measured >= _FEW,
        seconds=(calls - stored) * used["seconds"] / stored if stored else None,
        cost=cost(price),
        batch="" if service is None else f"{in_batches}, within {service.hours:g} h",
    )


def paraphrases_to_make(
    left: Sequence[tuple[str, ToAsk]], prices: Mapping[str, Price | None]
) -> tuple[str, ...]:
    """What the paraphrases will take that have not been made, a sentence for each model."""
    found = []
    for name, one in left:
        read, longest = one.calls * one.characters / _CHARACTERS_A_TOKEN, one.calls * one.answer_tokens
        cost = expected_cost(one.calls, read, longest, prices.get(name))
        found.append(
            f"{one.calls:,} calls of {name} or more are to make paraphrases: about {round(read):,} tokens "
            f"read, at most {longest:,} written, {priced(cost)}"
        )
    return tuple(found)


def _made(entry: Entry, price: Price | None) -> str:
    read, written = entry.prompt_tokens, entry.completion_tokens
    cost = Range(*[price.of(read, entry.cached_tokens, written)] * 2) if price else None
    return (
        f"{entry.calls:,} calls of {entry.model} made paraphrases: {read:,.0f} tokens read, {written:,.0f} "
        f"written, {priced(cost)}; the budget counts them"
    )


def _tokens_a_character(plan: Plan, model: Model) -> tuple[float, bool]:
    step = max(1, plan.order.survey.prompts // _COUNTED)
    some = [prompt.messages for _, _, prompt in islice(plan.order.prompts(), 0, None, step)]
    counts = model.count_tokens(some)
    if counts is None:
        return 1 / _CHARACTERS_A_TOKEN, False
    return sum(counts) / sum(len(content) for messages in some for _, content in messages), True
