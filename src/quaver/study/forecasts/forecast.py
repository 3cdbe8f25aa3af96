"""What a study will take: calls, tokens, time and money, before they are spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

from quaver.collect.run.ledger import Entry
from quaver.collect.run.progress import Price
from quaver.core.batch import Batched
from quaver.core.model import Model
from quaver.core.records import Condition
from quaver.core.rows import Rows
from quaver.design.calls.call_plan import Plan
from quaver.design.paraphrase.paraphraser import ToAsk


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
    characters = {variant.id: total for variant, total in of_variants}
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
    """From the least to the most, with what is likely; None where nothing is measured."""

    low: float
    high: float
    likely: float | None = None

    def times(self, share: float) -> Range:
        """A part of it."""
        return Range(self.low * share, self.high * share, self.likely and self.likely * share)

    def __str__(self) -> str:
        """As dollars."""
        if self.high == 0:
            return "free"
        low, high = _dollars(self.low), _dollars(self.high)
        if low == high:
            return low
        return (
            f"{low} to {high}" if self.likely is None else f"about {_dollars(self.likely)} ({low} to {high})"
        )


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
        likely = None
        if self.completion.likely is not None:
            prompt = self.prompt.likely or (self.prompt.low + self.prompt.high) / 2
            cached = min(prompt, (self.cached.low + self.cached.high) / 2)
            likely = price.of(prompt, cached, self.completion.likely)
        return Range(
            price.of(self.prompt.low, min(self.prompt.low, self.cached.high), self.completion.low),
            price.of(self.prompt.high, min(self.prompt.high, self.cached.low), self.completion.high),
            likely,
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
    cap = most / max(1.0, calls)  # what a model thinks before its answer may go beyond it
    high = mean + error if mean > cap else min(cap, mean + error)
    return Range(max(0.0, mean - error) * calls, high * calls, mean * calls)


_COUNTED = 48
"""Prompts whose tokens are counted; the rest are taken to be like them."""

_CHARACTERS_A_TOKEN = 4.0
"""A rule of thumb for English, where the model cannot count."""


class BatchForecast(NamedTuple):
    """The same calls in the batches of a model's provider.

    Attributes:
        cost: US dollars of the calls that are not stored, from the least to the most; None where the price is
            not known.
        is_published: Whether genai-prices has the model's price in batches; where it has none, half of its
            usual price is taken, which is what providers charge.
        hours: Within which answers come, or never; 0 where the files are run by you.
    """

    cost: Range | None
    is_published: bool
    hours: float

    def __str__(self) -> str:
        cost = "cost unknown" if self.cost is None else str(self.cost)
        if cost not in ("free", "cost unknown") and not self.is_published:
            cost += " (half the usual price, since none for batches is listed)"
        return f"{cost}, within {self.hours:g} h" if self.hours else f"{cost}, as files that you run"


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
        counted: Whether the model's own tokenizer counted; else prompts are estimated from those whose
            length the model reported, or, before there are any, at four characters a token.
        seconds: For the calls that are not stored, at the pace of those that are; None before any is.
        cost: US dollars of the calls that are not stored, from the least to the most; None where the
            price is not known.
        whole: The tokens of all of its calls.
        batch: The same calls in batches; None where its provider has none.
    """

    model: str
    calls: int
    stored: int
    prompts: int
    prompt_tokens: int
    new_tokens: int
    answer_tokens: int
    counted: bool
    seconds: float | None
    cost: Range | None
    whole: Tokens
    batch: BatchForecast | None = None


class ParaphrasesForecast(NamedTuple):
    """What a model's calls took that made paraphrases, or will take at least that are to make them.

    Attributes:
        model: Its name.
        calls: How many there were, or one for each missing paraphrase (a useless answer takes another).
        prompt_tokens: Tokens that they read; where they are to be made, at four characters a token.
        answer_tokens: Tokens that they wrote; where they are to be made, at most.
        cost: US dollars; None where the price is not known.
        made: Whether these calls are over.
    """

    model: str
    calls: int
    prompt_tokens: int
    answer_tokens: int
    cost: Range | None
    made: bool = True

    def __str__(self) -> str:
        cost = "cost unknown" if self.cost is None else str(self.cost)
        if not self.made:
            tokens = f"about {self.prompt_tokens:,} tokens read, at most {self.answer_tokens:,} written"
            return f"{self.calls:,} calls of {self.model} or more are to make paraphrases: {tokens}, {cost}"
        tokens = f"{self.prompt_tokens:,} tokens read, {self.answer_tokens:,} written"
        return (
            f"{self.calls:,} calls of {self.model} made paraphrases: {tokens}, {cost}; the budget counts them"
        )


@dataclass(frozen=True, slots=True)
class Forecast(Rows):
    """A study's plan in numbers.

    Attributes:
        items: Items after sampling.
        variants: Prompt variants.
        decodings: Decodings.
        models: Each model's part.
        parts: What each level of each factor takes, of all models together.
        notes: On how the variants were chosen.
        elsewhere: What all calls of one model would cost on others, by name.
        paraphrases: What the calls take that make paraphrases, by model; these are not among the others.
    """

    items: int
    variants: int
    decodings: int
    models: tuple[ModelForecast, ...]
    parts: tuple[PlanPart, ...] = ()
    notes: tuple[str, ...] = ()
    elsewhere: Mapping[str, Range] = field(default_factory=dict)
    paraphrases: tuple[ParaphrasesForecast, ...] = ()

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
    def size(self) -> str:
        """Items × variants × decodings, in words."""
        counts = (("item", self.items), ("variant", self.variants), ("decoding", self.decodings))
        return " × ".join(f"{n:,} {name}{'s' * (n != 1)}" for name, n in counts)

    def __str__(self) -> str:
        """The plan, a line a model."""
        lines = [f"{self.size}: {self.calls:,} calls, {self.stored:,} answered"]
        for one in self.models:
            time = "time unknown" if one.seconds is None else f"{one.seconds:,.0f} s left"
            cost = "cost unknown" if one.cost is None else str(one.cost)
            lines.append(
                f"{one.model}: {one.calls:,} calls, {one.prompt_tokens:,} prompt tokens "
                f"({one.new_tokens:,} read once), at most {one.answer_tokens:,} answer tokens, {time}, {cost}"
                + (f"; in batches {one.batch}" if one.batch else "")
            )
        return "\n".join([*lines, *map(str, self.paraphrases)])

    __repr__ = __str__

    def rows(self) -> list[dict[str, Any]]:
        """A row for each model: its calls, tokens, seconds, and cost from least to most."""
        return [
            {
                "model": one.model,
                "calls": one.calls,
                "answered": one.stored,
                "prompts": one.prompts,
                "prompt_tokens": one.prompt_tokens,
                "tokens_read_once": one.new_tokens,
                "most_answer_tokens": one.answer_tokens,
                "seconds_left": one.seconds,
                "least_cost": None if one.cost is None else one.cost.low,
                "most_cost": None if one.cost is None else one.cost.high,
                "least_cost_in_batches": one.batch.cost.low if one.batch and one.batch.cost else None,
                "most_cost_in_batches": one.batch.cost.high if one.batch and one.batch.cost else None,
            }
            for one in self.models
        ]


def forecast(
    plan: Plan,
    models: Mapping[str, Model],
    usage: Mapping[str, Mapping[str, float]],
    prices: Mapping[str, Price | None],
    compared: Mapping[str, Price] | None = None,
    entries: Sequence[Entry] = (),
) -> Forecast:
    """Forecast what a plan will take."""
    experiment = plan.experiment
    forecasts, rates = [], {}
    for name, model in models.items():
        one, rates[name] = _of_model(plan, name, model, usage.get(name, {}), prices.get(name))
        forecasts.append(one)
    return Forecast(
        items=len(experiment.items),
        variants=len(experiment.variants),
        decodings=len(experiment.decodings),
        models=tuple(forecasts),
        parts=parts_of(plan, rates),
        notes=tuple(experiment.notes),
        elsewhere=_elsewhere(forecasts, compared or {}),
        paraphrases=tuple(_of_paraphrases(entry, prices.get(entry.model)) for entry in entries),
    )


def _of_model(
    plan: Plan, name: str, model: Model, used: Mapping[str, float], price: Price | None
) -> tuple[ModelForecast, float]:
    """One model's part, and its tokens a character."""
    experiment, survey = plan.experiment, plan.order.survey
    of_variant = {variant.id: n for variant, n in zip(experiment.variants, survey.of_variants, strict=True)}
    conditions = [condition for condition in experiment.conditions if condition.model == name]
    rate, counted = _tokens_a_character(plan, model)
    asked = sum(of_variant[variant] for variant in {c.variant for c in conditions})
    calls = len(experiment.items) * sum(condition.repeats for condition in conditions)
    stored = int(used.get("calls", 0))
    prompt = rate * sum(of_variant[c.variant] * c.repeats for c in conditions)
    new = rate * survey.new_characters * asked / survey.characters
    longest = sum(answer_tokens(plan, c) for c in conditions)
    left = (calls - stored) / calls
    whole = expected_tokens(calls, prompt, prompt - new, longest, counted, used)
    if whole.measured and not counted:  # what some prompts took is nearer than what their length suggests
        nearer = (whole.prompt.low + whole.prompt.high) / 2 / prompt
        rate, prompt, new = nearer * rate, nearer * prompt, nearer * new
    rest = expected_tokens(
        calls - stored, left * prompt, left * (prompt - new), left * longest, counted, used
    )
    found = ModelForecast(
        model=name,
        calls=calls,
        stored=stored,
        prompts=len(experiment.items) * len({c.variant for c in conditions}),
        prompt_tokens=round(prompt),
        new_tokens=round(new),
        answer_tokens=longest,
        counted=counted,
        seconds=(calls - stored) * used["seconds"] / stored if stored else None,
        cost=None if price is None else rest.cost(price),
        whole=whole,
        batch=_in_batches(model, price, rest),
    )
    return found, rate


def _in_batches(model: Model, price: Price | None, rest: Tokens) -> BatchForecast | None:
    """The same in the batches of a model's provider."""
    service = model.batches(Path()) if isinstance(model, Batched) else None
    if service is None:
        return None
    cost = None if price is None else rest.cost(price.in_batch)
    return BatchForecast(cost, price is not None and price.batch is not None, service.limits.hours)


def forecast_of_paraphrases(
    left: Sequence[tuple[str, ToAsk]], prices: Mapping[str, Price | None]
) -> tuple[ParaphrasesForecast, ...]:
    """Forecast what the paraphrases will take that have not been made."""
    found = []
    for name, one in left:
        read, longest = one.calls * one.characters / _CHARACTERS_A_TOKEN, one.calls * one.answer_tokens
        tokens, price = expected_tokens(one.calls, read, 0, longest, False, {}), prices.get(name)
        cost = None if price is None else tokens.cost(price)
        found.append(ParaphrasesForecast(name, one.calls, round(read), longest, cost, made=False))
    return tuple(found)


def _of_paraphrases(entry: Entry, price: Price | None) -> ParaphrasesForecast:
    read, written = round(entry.prompt_tokens), round(entry.completion_tokens)
    money = (
        None if price is None else price.of(entry.prompt_tokens, entry.cached_tokens, entry.completion_tokens)
    )
    return ParaphrasesForecast(
        entry.model, entry.calls, read, written, None if money is None else Range(money, money)
    )


def _elsewhere(forecasts: Sequence[ModelForecast], compared: Mapping[str, Price]) -> dict[str, Range]:
    """What all that the most asked model is asked would cost on others, the cheapest first."""
    if not forecasts:
        return {}
    most = max(forecasts, key=lambda one: one.calls).whole
    costs = {name: most.cost(price) for name, price in compared.items()}
    return dict(sorted(costs.items(), key=lambda one: one[1].high))


def _tokens_a_character(plan: Plan, model: Model) -> tuple[float, bool]:
    step = max(1, plan.order.survey.prompts // _COUNTED)
    some = [prompt.messages for _, _, prompt in islice(plan.order.prompts(), 0, None, step)]
    counts = model.count_tokens(some)
    if counts is None:
        return 1 / _CHARACTERS_A_TOKEN, False
    return sum(counts) / sum(len(content) for messages in some for _, content in messages), True
