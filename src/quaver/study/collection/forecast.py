"""What a study will take: calls, tokens, time and money, before they are spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import exp, inf, log1p, sqrt
from types import MappingProxyType
from typing import Any

import scipy

from quaver.collect.run.ledger import Entry
from quaver.collect.run.progress import Price
from quaver.core.batch import Batched
from quaver.core.model import Model
from quaver.core.number_format import count, enumeration
from quaver.core.records import Condition
from quaver.core.rows import Rows
from quaver.design.calls.call_plan import Plan
from quaver.design.items.text_parts import CHARACTERS_A_TOKEN

_FEW = 5
"""Answers from which their length is forecast."""

_QUANTILE = 0.99
"""Of Student's t: lengths of thought are skewed, so that of 95 in 100 forecasts the cost lies within."""

_COUNTED = 48
"""Prompts whose tokens are counted; the rest are taken to be like them."""

_EITHER_WAY = 0.25
"""How far the rule of thumb may be off by which a model's tokens are estimated that it cannot count."""


Cost = tuple[float, float, float | None]
"""US dollars from the least to the most, with what is likely; None where nothing is measured."""


def in_dollars(cost: Cost | None) -> str:
    """A cost in words.

    >>> in_dollars((0.5, 0.5, None)), in_dollars((0.001, 12.5, 2.0)), in_dollars((0.0, 0.0, None))
    ('$0.50', 'about $2.00 ($0.001 to $12.50)', 'free')
    """
    if cost is None:
        return "cost unknown"
    low, high = map(_dollars, cost[:2])
    if cost[1] == 0 or low == high:
        return low if cost[1] else "free"
    likely = cost[2]
    return f"{low} to {high}" if likely is None else f"about {_dollars(likely)} ({low} to {high})"


def _dollars(amount: float) -> str:
    if 0 < amount < 0.01:
        return f"${amount:.2g}" if amount >= 1e-4 else "under $0.0001"
    return f"${amount:,.2f}"


def expected_cost(
    calls: float,
    prompt: float,
    longest: float,
    price: Price | None,
    *,
    shared: float = 0.0,
    counted: bool = False,
    used: Mapping[str, float] | None = None,
) -> Cost | None:
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
    read: Cost = (prompt * (1 - off), prompt * (1 + off), prompt)
    written: Cost = (calls, longest, None)
    least_cached, most_cached = 0.0, shared
    if n >= _FEW:
        written = _mean(n, used["completion_tokens"], used["completion_squares"], calls, longest)
        if not counted:
            read = _mean(n, used["prompt_tokens"], used["prompt_squares"], calls)
        share = used["cached_tokens"] / used["prompt_tokens"] if used["prompt_tokens"] else 0.0
        least_cached, most_cached = share * read[0], share * read[1]
    (least, most, likely), cached = read, (least_cached + most_cached) / 2
    return (
        price.of(least, min(least, most_cached), written[0]),
        price.of(most, min(most, least_cached), written[1]),
        None if written[2] is None else price.of(likely or 0.0, min(likely or 0.0, cached), written[2]),
    )


def _mean(n: int, total: float, squares: float, calls: float, most: float = inf) -> Cost:
    """A sum over calls like ``n`` measured ones, by Cox's interval for the mean of a lognormal variable."""
    if not total:
        return 0.0, 0.0, 0.0
    mean, cap = total / n, most / max(1.0, calls)  # what a model thinks first may go beyond the cap
    spread = log1p(max(0.0, squares / n / mean**2 - 1) * n / (n - 1))
    error = sqrt(spread * (1 / n + 1 / max(1.0, calls)) + spread**2 / (2 * (n - 1)))
    factor = exp(float(scipy.special.stdtrit(n - 1, _QUANTILE)) * error)
    high = mean * factor if mean > cap else min(cap, mean * factor)
    return mean / factor * calls, high * calls, mean * calls


@dataclass(frozen=True, slots=True)
class Forecast(Rows):
    """A study's plan in numbers.

    Attributes:
        items: Items after sampling; a text that is asked about in parts is one.
        parts: What is asked about: these texts or, of long ones, their parts.
        variants: Prompt variants.
        decodings: Decodings.
        models: Each model's part: ``model``, its ``calls``, how many of them are ``answered``, its different
            ``prompts``, the ``prompt_tokens`` of all calls, the ``tokens_read_once`` where what neighbouring
            prompts share is read once, the ``most_answer_tokens``; whether its tokens are ``counted`` (else a
            token is taken for four characters); in words what is added by asking about long texts in parts,
            ``split``. For what is not answered: ``seconds_left`` at the pace of what is, None before any is;
            ``least_cost``, ``most_cost`` and ``likely_cost`` in US dollars, None where nothing is known; and
            in words the ``cost``, and in ``batch`` that of the same calls in its provider's batches, empty
            where there are none.
        notes: On how the variants were chosen.
        paraphrases: A sentence for each model on the calls that made paraphrases, or are to make them; these
            are not among the others.
    """

    _rows_in = "models"

    items: int
    parts: int
    variants: int
    decodings: int
    models: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()
    paraphrases: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(model["calls"] for model in self.models)

    @property
    def stored(self) -> int:
        """Calls that are answered already."""
        return sum(model["answered"] for model in self.models)

    @property
    def seconds(self) -> float | None:
        """For what is not stored, the models working side by side; None where one is not known."""
        left = [model["seconds_left"] for model in self.models]
        return None if None in left else max(left, default=0.0)

    @property
    def costs(self) -> str:
        """What is not stored costs, a model at a time, in words."""
        costs = ["an unknown price" if model["most_cost"] is None else model["cost"] for model in self.models]
        measured = all(not model["most_cost"] or model["likely_cost"] is not None for model in self.models)
        return " and ".join(costs) + ("" if measured else ", more if it thinks before it answers")

    @property
    def most(self) -> float:
        """US dollars at most, of the models whose price is known."""
        return sum(model["most_cost"] or 0.0 for model in self.models)

    def is_wide(self, times: float) -> bool:
        """Whether what some model costs may be more than so many times the least."""
        return any(
            model["most_cost"] is not None and model["most_cost"] > times * model["least_cost"]
            for model in self.models
        )

    @property
    def size(self) -> str:
        """Items × variants × decodings, in words."""
        counts = (("item", self.items), ("variant", self.variants), ("decoding", self.decodings))
        items, *others = (count(n, name) for name, n in counts)
        in_parts = f" in {self.parts:,} parts" if self.parts > self.items else ""
        return " × ".join([items + in_parts, *others])

    def __str__(self) -> str:
        """The plan, a line a model."""
        lines = [f"{self.size}: {self.calls:,} calls, {self.stored:,} answered"]
        for model in self.models:
            left = model["seconds_left"]
            time = "time unknown" if left is None else f"{left:,.0f} s left"
            lines.append(f"{model['model']}: {model['calls']:,} calls, {time}, {model['cost']}")
            if model["split"]:
                lines.append(f"{model['model']}: {model['split']}")
        return "\n".join([*lines, *self.paraphrases])

    __repr__ = __str__


def forecast(
    plan: Plan,
    models: Mapping[str, Model],
    usage: Mapping[str, Mapping[str, float]],
    prices: Mapping[str, Price | None],
    entries: Sequence[Entry] = (),
    unfollowed: Mapping[str, int] = MappingProxyType({}),
) -> Forecast:
    """Forecast what a plan will take; ``unfollowed`` are calls of each model that there will not be."""
    experiment = plan.experiment
    return Forecast(
        items=len(plan.whole.items),
        parts=len(experiment.items),
        variants=len(experiment.variants),
        decodings=len(experiment.decodings),
        models=tuple(
            _of_model(plan, name, model, usage.get(name, {}), prices.get(name), unfollowed.get(name, 0))
            for name, model in models.items()
        ),
        notes=(*experiment.notes, *_on_media(plan, usage)),
        paraphrases=tuple(_made(entry, prices.get(entry.model)) for entry in entries),
    )


def _on_media(plan: Plan, usage: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Which tokens of pictures, pages and recordings are counted, where items have any."""
    if not any(item.media for item in plan.experiment.items):
        return []
    models = dict.fromkeys(condition.model for condition in plan.experiment.conditions)
    unknown = [name for name in models if usage.get(name, {}).get("counted", 0) < _FEW]
    if not unknown:
        return ["The tokens of pictures, pages and recordings are counted as the servers have reported them."]
    return [
        "Every provider counts the tokens of pictures, pages and recordings in its own way. For "
        f"{enumeration(unknown)} they are not counted yet; a pilot measures them."
    ]


def _of_model(
    plan: Plan, name: str, model: Model, used: Mapping[str, float], price: Price | None, unfollowed: int
) -> dict[str, Any]:
    experiment, survey = plan.experiment, plan.order.survey
    ids = [variant.id for variant in experiment.variants]
    of_variant = dict(zip(ids, survey["of_variants"], strict=True))
    conditions = [
        replace(condition, repeats=condition.repeats * experiment.ways_down[""])  # with those of each level
        for condition in experiment.conditions
        if condition.model == name and not experiment.is_level(condition)
    ]
    texts = len(experiment.items) + experiment.joins
    rate, counted = _tokens_a_character(plan, model)
    asked = sum(of_variant[variant] for variant in {c.variant for c in conditions})
    calls, stored = texts * sum(c.repeats for c in conditions), int(used.get("calls", 0))
    prompt = rate * sum(of_variant[c.variant] * c.repeats for c in conditions) * texts / len(experiment.items)
    new = rate * survey["new_characters"] * asked / survey["characters"]
    longest = texts * sum(c.repeats * plan.max_tokens(c) for c in conditions)
    measured = int(used.get("counted", 0))
    if measured >= _FEW and not counted:  # what prompts took is nearer than what their length suggests
        nearer = calls * used["prompt_tokens"] / measured / prompt
        prompt, new = nearer * prompt, nearer * new
    every, calls = calls, calls - unfollowed
    left = (calls - stored) / every

    def cost(price: Price | None) -> Cost | None:
        shared = left * (prompt - new)
        return expected_cost(
            left * every, left * prompt, left * longest, price, shared=shared, counted=counted, used=used
        )

    service, own = model.batches() if isinstance(model, Batched) else None, cost(price)
    in_batches = in_dollars(cost(price and price.in_batch))
    least, most, likely = own or (None, None, None)
    return {
        "model": name,
        "calls": calls,
        "answered": stored,
        "prompts": len(experiment.items) * len({c.variant for c in conditions}),
        "prompt_tokens": round(prompt),
        "tokens_read_once": round(new),
        "most_answer_tokens": longest,
        "counted": counted or measured >= _FEW,
        "seconds_left": (calls - stored) * used["seconds"] / stored if stored else None,
        "least_cost": least,
        "most_cost": most,
        "likely_cost": likely,
        "cost": in_dollars(own),
        "split": _added_by_split(plan, conditions, rate, price),
        "batch": "" if service is None else f"{in_batches}, within {service.hours:g} h",
    }


def _added_by_split(plan: Plan, asked: Sequence[Condition], rate: float, price: Price | None) -> str:
    """What there would not be if each text were asked about whole, in words; empty where each is."""
    texts = len(plan.experiment.items) + plan.experiment.joins - len(plan.whole.items)
    if not texts:
        return ""
    of_variant = zip(
        plan.experiment.variants, plan.order.survey["of_variants"], plan.of_whole["of_variants"], strict=True
    )
    added = {variant.id: rate * (parts - whole) for variant, parts, whole in of_variant}
    calls = texts * sum(one.repeats for one in asked)
    tokens = sum(added[one.variant] * one.repeats for one in asked)
    longest = texts * sum(plan.max_tokens(one) * one.repeats for one in asked)
    cost = in_dollars(expected_cost(calls, tokens, longest, price))
    return f"texts in parts take {calls:,} calls and about {round(tokens):,} tokens more, {cost}"


def paraphrases_to_make(
    left: Sequence[tuple[str, int, int, int]], prices: Mapping[str, Price | None]
) -> tuple[str, ...]:
    """What the paraphrases will take that have not been made, a sentence for each model.

    Args:
        left: For each model its name, the least calls, the characters of each prompt, the most tokens of each
            answer.
        prices: What models cost, by name.
    """
    drafts = []
    for name, calls, characters, tokens in left:
        read, longest = calls * characters / CHARACTERS_A_TOKEN, calls * tokens
        cost = expected_cost(calls, read, longest, prices.get(name))
        drafts.append(
            f"{calls:,} calls of {name} or more are to make paraphrases: about {round(read):,} tokens "
            f"read, at most {longest:,} written, {in_dollars(cost)}"
        )
    return tuple(drafts)


def _made(entry: Entry, price: Price | None) -> str:
    read, written = entry.prompt_tokens, entry.completion_tokens
    cost = None
    if price is not None:
        spent = price.of(read, entry.cached_tokens, written)
        cost = (spent, spent, None)
    return (
        f"{entry.calls:,} calls of {entry.model} made paraphrases: {read:,.0f} tokens read, {written:,.0f} "
        f"written, {in_dollars(cost)}; the budget counts them"
    )


def _tokens_a_character(plan: Plan, model: Model) -> tuple[float, bool]:
    step = max(1, plan.order.survey["prompts"] // _COUNTED)
    some = [prompt.messages for _, _, prompt in islice(plan.order.prompts(), 0, None, step)]
    counts = model.count_tokens(some)
    if counts is None:
        return 1 / CHARACTERS_A_TOKEN, False
    return sum(counts) / sum(len(content) for messages in some for _, content in messages), True
