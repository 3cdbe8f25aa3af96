"""A population of items, prompts and answers whose behaviour is known, to draw studies from.

An item has a gold label; the model reads it as that label or as another one, drawn from the labels' shares,
and each answer is the label as read or a fresh draw from the prompt's own shares. Where the prompt has no
bias, every prompt's labels so have the same shares, however noisy its answers are. Hard items get more fresh
draws; groups of items share part of what makes them hard, and of their gold labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from quaver.core.label_values import occurring_numbers
from quaver.core.records import Label, LabelSet, Level

Row = dict[str, Any]


def covering_array(factors: Mapping[str, Sequence[Any]]) -> list[Row]:
    """Rows that hold each pair of levels of two factors at least once, by a greedy search.

    Each row is the one among all combinations with the most pairs that no row has yet (Cohen, Dalal,
    Fredman & Patton 1997, IEEE Trans. Software Engineering 23, 437-444); of several such rows the first whose
    levels were used least: the same rows every time.

    >>> rows = covering_array({"a": [1, 2], "b": [1, 2], "c": [1, 2]})
    >>> len(rows), rows[0]
    (6, {'a': 1, 'b': 1, 'c': 1})
    """
    names = list(factors)
    pairs = list(combinations(range(len(names)), 2))
    every = list(product(*(range(len(levels)) for levels in factors.values())))
    left = {(i, row[i], j, row[j]) for row in every for i, j in pairs}
    used: Counter[tuple[int, int]] = Counter()
    rows = []

    def worth(row: tuple[int, ...]) -> tuple[int, float]:
        new = sum((i, row[i], j, row[j]) in left for i, j in pairs)
        return new, -sum(used[i, level] for i, level in enumerate(row))

    while left:
        best = max(every, key=worth)
        used.update(enumerate(best))
        left -= {(i, best[i], j, best[j]) for i, j in pairs}
        rows.append({name: factors[name][level] for name, level in zip(names, best, strict=True)})
    return rows


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GROUP = "author"
"""The column that holds the groups of items."""

SMALL, NUMBER = "small", "age"
"""Columns of the items: a category with a small group (``yes``), and a number."""

FACTORS = {"tone": ("plain", "polite"), "length": ("short", "long")}
"""Factors of the prompts, which have no effect of their own."""

_NAMES = ("tax", "war", "health", "other")
_STEP, _OF_AGE, _NOISE, _LEAST = 10.0, 3.0, 1.0, 20.0
"""Of numbers: how far labels lie apart, what ``age`` adds, an answer's noise, the first label's number."""
_SMALL_SHARE = 0.1
_BROKEN = 0.9
"""The share of a broken prompt's answers that are fresh draws."""
_MISREAD, _UNREAD = 0.02, 0.06
"""How often the second evaluator reads another label, and none."""


class Prompts(NamedTuple):
    """A set of prompts.

    Attributes:
        agreement: Log-odds that an answer of an item of mean difficulty is the label as read, shape
            (models, prompts).
        kept: The share of these answers that noise leaves as they are, shape (models, prompts).
        shares: The shares of the labels among fresh draws, shape (models, prompts, labels).
        missing: The share of answers without a label, shape (models, prompts).
    """

    agreement: Floats
    kept: Floats
    shares: Floats
    missing: Floats

    def some(self, which: slice) -> Prompts:
        """Some of the prompts."""
        return Prompts(*(one[:, which] for one in self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """What studies are drawn from.

    Attributes:
        items: How many items a study has.
        variants: How many prompts; the first is the original.
        repeats: How often each prompt asks about an item.
        models: How many models answer.
        evaluators: One, or two: the second fails to parse some of the answers.
        shares: The labels' shares among the items.
        validity: The share of items that a model reads as their gold label; the rest it reads as a label
            drawn from the shares.
        agreement: The probability that an answer to an item of mean difficulty is the label as read.
        difficulty: Standard deviation of the items' log-odds of that.
        interaction: The same of an item under a prompt.
        prompt_sd: The same of prompts.
        label_sd: Standard deviation of a prompt's log-odds of labels among its fresh draws.
        noisy: The share of prompts that are noisy, in a fixed set; of prompts that are drawn, each is noisy
            by so much, from nothing to ``noise``: a set of few could not know of noise that few have.
        noise: The share of answers that noisy prompts replace by fresh draws.
        group_size: How many items make a group; of groups of unequal sizes, on average.
        unequal: Whether the groups' sizes follow a power law (Zipf's: the k-th has 1/k as many as the first).
        broken: The share of prompts that are broken: nine of ten of their answers are fresh draws. Of a set
            that is drawn, each prompt is broken with this probability.
        shape: How difficulties are spread: ``normal``; ``heavy`` (Student's t, 2 degrees of freedom); or
            ``bimodal`` (a tenth of the items nearly lost, the rest nearly certain).
        hostile: Whether the coder names the second label for every item that has the first, and no other.
        icc: The groups' share of the variance of gold labels and of difficulty.
        missing: The share of answers without a label; hard items have more of them.
        sharpness: The factor by which stated and token confidence exaggerate their log-odds; 1 is
            calibrated.
        unparsed: The share of stated confidences that are missing.
        effect: How far ``small`` items and a standard deviation of ``age`` move the gold label, in standard
            deviations of what decides it.
    """

    items: int = 300
    variants: int = 10
    repeats: int = 2
    models: int = 1
    evaluators: int = 1
    shares: tuple[float, ...] = (1 / 3, 1 / 3, 1 / 3)
    validity: float = 1.0
    agreement: float = 0.85
    difficulty: float = 1.0
    interaction: float = 0.5
    prompt_sd: float = 0.0
    label_sd: float = 0.0
    noisy: float = 0.0
    noise: float = 0.5
    group_size: int = 1
    unequal: bool = False
    broken: float = 0.0
    shape: str = "normal"
    hostile: bool = False
    icc: float = 0.0
    missing: float = 0.0
    sharpness: float = 1.0
    unparsed: float = 0.0
    effect: float = 0.0

    @property
    def labels(self) -> LabelSet:
        """The labels, by letters."""
        return LabelSet(tuple(Label(code, code) for code in self.codes))

    @property
    def codes(self) -> tuple[str, ...]:
        """The labels' codes."""
        return tuple(chr(ord("a") + at) for at in range(len(self.shares)))

    def prompts(self, seed: int, variants: int | None = None) -> Prompts:
        """A set of prompts, drawn from the population of prompts."""
        rng = np.random.default_rng([seed, 1])
        size = (self.models, self.variants if variants is None else variants)
        bias = rng.normal(0, 1, (*size, len(self.shares))) * self.label_sd
        shares = np.exp(bias) * np.asarray(self.shares)
        noise = self.noise * rng.random(size[1]) if self.noisy else np.zeros(size[1])
        noise = np.where(self._broken(seed, size[1]), _BROKEN, noise)
        return Prompts(
            agreement=special.logit(self.agreement) + self.prompt_sd * rng.normal(0, 1, size),
            kept=np.broadcast_to(1 - noise, size),
            shares=shares / shares.sum(-1, keepdims=True),
            missing=np.full(size, self.missing),
        )

    def _broken(self, seed: int, variants: int) -> NDArray[np.bool_]:
        """Which prompts of a drawn set are broken."""
        return np.asarray(np.random.default_rng([seed, 4]).random(variants) < self.broken)

    def of_kinds_tried(self, seed: int) -> Population:
        """The population of prompts of the kinds that a drawn set has: without broken ones where it has none.

        Prompts like those tried are of these; no answer to a prompt that works tells of others.
        """
        return self if self._broken(seed, self.variants).any() else replace(self, broken=0.0)

    def fixed_prompts(self, seed: int) -> Prompts:
        """A set of prompts of which exactly the share ``noisy`` is noisy: one at least, not the original."""
        drawn = self.prompts(seed)
        count = max(1, round(self.noisy * self.variants)) if self.noisy else 0
        kept = np.ones(self.variants)
        kept[1 : 1 + count] = 1 - self.noise
        if self.broken:
            kept[-max(1, round(self.broken * self.variants)) :] = 1 - _BROKEN
        return drawn._replace(kept=np.broadcast_to(kept, drawn.kept.shape))


def study(population: Population, prompts: Prompts, seed: int) -> pl.DataFrame:
    """The annotations of a study of its items, with all columns that a measure may need.

    >>> population = Population(items=20, variants=3, repeats=1)
    >>> study(population, population.prompts(1), 1).height
    60
    """
    rng = np.random.default_rng([seed, 2])
    return _annotations(population, prompts, lambda size: rng.random((population.items, size)), rng)


def large_study(population: Population, prompts: Prompts, seed: int, items: int = 2**14) -> pl.DataFrame:
    """A very large study with the same prompts: what its measures give is what smaller ones estimate.

    The items are spread evenly (a scrambled Sobol sequence, Owen 1998) where a study's are random, so that
    its numbers are closer to those of infinitely many items than those of as many random ones. They are in no
    groups: a group moves its items together, and not what an item is like.
    """
    from scipy.stats import qmc  # half a second to import, for few processes

    rng = np.random.default_rng([seed, 3])
    alone = replace(population, items=items, group_size=1)

    def even(size: int) -> Floats:
        drawn = qmc.Sobol(size, scramble=True, rng=rng).random(items)
        return np.asarray(np.clip(drawn, 1e-9, 1 - 1e-9))

    return _annotations(alone, prompts, even, rng)


class _Answers(NamedTuple):
    """A study's answers, in arrays of shape (items, models, prompts, repeats)."""

    said: Ints
    missing: NDArray[np.bool_]
    confidence: Floats
    probabilities: Floats


def _annotations(
    population: Population, prompts: Prompts, uniform: Callable[[int], Floats], rng: np.random.Generator
) -> pl.DataFrame:
    """The frame, from uniform numbers that come a row an item."""
    models, variants = prompts.agreement.shape
    conditions, repeats = models * variants, population.repeats
    numbers = uniform(6 + conditions * (1 + 3 * repeats))
    items, rest = numbers[:, :6], numbers[:, 6:]
    ease, gold, columns = _items(population, items, rng)
    read = np.where(
        items[:, 2] < population.validity, gold, _label(items[:, 3], np.asarray(population.shares))
    )
    shape = (-1, models, variants)
    personal = special.ndtri(rest[:, :conditions]).reshape(shape)
    drawn = rest[:, conditions:].reshape(*personal.shape, repeats, 3)
    answers = _answers(population, prompts, ease, personal, read, drawn)
    return _frame(population, answers, gold, columns, rng)


def _items(
    population: Population, uniform: Floats, rng: np.random.Generator
) -> tuple[Floats, Ints, dict[str, NDArray[np.str_] | Floats]]:
    """How easy each item is, its gold label, and its columns."""
    count = uniform.shape[0]
    group = _groups(population, count)
    shared = rng.normal(0, 1, (2, count))[:, group]
    share = population.icc if population.group_size > 1 else 0.0
    own = special.ndtri(uniform[:, :2].T)
    latent, ease = np.sqrt(share) * shared + np.sqrt(1 - share) * own
    ease = _spread(ease, population.shape)
    small, number = uniform[:, 4] < _SMALL_SHARE, special.ndtri(uniform[:, 5])
    latent = latent - population.effect * (small + number)
    gold = _label(special.ndtr(latent), np.asarray(population.shares))
    names = np.where(small, "yes", "no")
    groups = np.char.add("g", group.astype(str))
    return ease, gold, {GROUP: groups, SMALL: names, NUMBER: number}


def _groups(population: Population, count: int) -> Ints:
    """The group of each item."""
    even = np.arange(count) // population.group_size
    if not population.unequal or population.group_size == 1:
        return even
    shares = 1 / np.arange(1, int(even[-1]) + 2)
    ends = np.ceil(np.cumsum(shares) / shares.sum() * count)
    return np.searchsorted(ends, np.arange(count), side="right")


def _spread(ease: Floats, shape: str) -> Floats:
    """Difficulties of a shape, from normal ones."""
    if shape == "heavy":
        return np.asarray(special.stdtrit(2, special.ndtr(ease)))
    if shape == "bimodal":
        return np.where(special.ndtr(ease) < 0.1, -3.0, 1.0) + 0.3 * ease
    return ease


def _label(uniform: Floats, shares: Floats) -> Ints:
    """The label at each quantile; ``shares`` along its last axis."""
    ends = np.cumsum(shares, axis=-1)[..., :-1]
    return np.asarray((uniform[..., None] >= ends).sum(-1))


def _answers(
    population: Population, prompts: Prompts, ease: Floats, personal: Floats, read: Ints, drawn: Floats
) -> _Answers:
    """Each answer: its label as read, or a fresh draw."""
    logit = (
        prompts.agreement + population.difficulty * ease[:, None, None] + population.interaction * personal
    )
    keeps = special.expit(logit) * prompts.kept
    fresh = _label(drawn[..., 1], prompts.shares[:, :, None, :])
    said = np.where(drawn[..., 0] < keeps[..., None], read[:, None, None, None], fresh)
    lost = prompts.missing[..., None] * 2 * special.ndtr(-ease)[:, None, None, None]
    marginal = np.asarray(population.shares)
    chance, by_chance = float(marginal @ marginal), prompts.shares @ marginal
    right = keeps * (population.validity + (1 - population.validity) * chance) + (1 - keeps) * by_chance
    confidence = special.expit(population.sharpness * special.logit(np.clip(right, 1e-6, 1 - 1e-6)))
    own = np.eye(marginal.size)[read][:, None, None]
    likely = keeps[..., None] * own + (1 - keeps[..., None]) * prompts.shares
    return _Answers(said, drawn[..., 2] < lost, confidence, likely)


def _frame(
    population: Population,
    answers: _Answers,
    gold: Ints,
    columns: dict[str, NDArray[np.str_] | Floats],
    rng: np.random.Generator,
) -> pl.DataFrame:
    """The answers as annotations."""
    said = answers.said
    item, model, variant, repeat = (at.ravel() for at in np.indices(said.shape))
    names = [f"i{at}" for at in range(said.shape[0])]
    coder = np.where(
        rng.random(gold.size) < 0.1, _label(rng.random(gold.size), np.asarray(population.shares)), gold
    )
    if population.hostile:
        coder = np.where(coder == 0, 1, coder)
    absent = answers.missing.ravel()
    confidence = np.broadcast_to(answers.confidence[..., None], said.shape).ravel()
    stated = np.floor(confidence * 10 + rng.random(confidence.size)) / 10
    unstated = absent | (rng.random(confidence.size) < population.unparsed)
    likely = np.repeat(answers.probabilities.reshape(-1, len(population.shares)), said.shape[3], axis=0)
    codes = population.codes
    label = _named(said.ravel(), codes)
    frame = pl.DataFrame(
        {
            "item": _named(item, names),
            "model": _named(model, ["m", "n", "o", "p"][: said.shape[1]]),
            "variant": _named(variant, [f"v{at:02}" for at in range(said.shape[2])]),
            "decoding": pl.Series(["d"]).cast(pl.Categorical).extend_constant("d", item.size - 1),
            "repeat": pl.Series(repeat, dtype=pl.Int32),
            "label": _without(label, absent),
            "gold": _named(gold, codes)[item],
            "coder": _named(coder, codes)[item],
            "original": pl.Series(variant == 0),
            "confidence": _without(pl.Series(confidence), absent),
            "token": _without(pl.Series(confidence), absent),
            "stated": _without(pl.Series(stated), unstated),
            "probabilities": _without(pl.Series(likely).arr.to_list(), absent),
            "noise": pl.Series(rng.spawn(1)[0].standard_normal(item.size)),
            **{name: pl.Series(values)[item] for name, values in columns.items()},
            **{
                name: _named((variant >> at) & 1, levels) for at, (name, levels) in enumerate(FACTORS.items())
            },
        }
    ).with_columns(mass_coverage=1.0, truncated=False, looping=False, reason=pl.lit(None, pl.String))
    read = [_evaluated(frame, "e")]
    if population.evaluators > 1:
        changed, lost = rng.random((2, item.size))
        other = _named(np.where(changed < _MISREAD, (said.ravel() + 1) % len(codes), said.ravel()), codes)
        read.append(_evaluated(frame.with_columns(label=_without(other, absent | (lost < _UNREAD))), "f"))
    return pl.concat(read)


def as_sets(frame: pl.DataFrame, population: Population, level: Level) -> tuple[pl.DataFrame, LabelSet]:
    """A study whose labels are sets of names; the first, which may be a rare one, is the largest.

    The label k of n stands for the names whose bits the number max(3, n) − k has, so that confusing two
    labels confuses two sets that share some names, or none.

    >>> population = Population(items=9, variants=1, repeats=1)
    >>> frame, labels = as_sets(study(population, population.prompts(1), 1), population, "jaccard")
    >>> [label.code for label in labels.labels]
    ['tax', 'war', 'tax;war']
    """
    most = max(3, len(population.codes))
    sets = {
        code: ";".join(name for bit, name in enumerate(_NAMES) if (most - at) >> bit & 1)
        for at, code in enumerate(population.codes)
    }
    names = [name for bit, name in enumerate(_NAMES) if most >> bit]
    occurring = dict.fromkeys([*names, *sets.values()])
    frame = frame.with_columns(pl.col("label", "gold").cast(pl.String).replace(sets))
    return frame, LabelSet(tuple(Label(one, one) for one in occurring), level)


def as_numbers(frame: pl.DataFrame, population: Population, level: Level) -> tuple[pl.DataFrame, LabelSet]:
    """A study whose labels are numbers, in tenths: the label's, what the item adds, and an answer's noise.

    An answer with another label is far off, so that the errors have long tails where few labels are wrong.
    """
    base = {code: _LEAST + _STEP * at for at, code in enumerate(population.codes)}

    def number(column: str, noise: pl.Expr) -> pl.Expr:
        own = pl.col(column).cast(pl.String).replace_strict(base, return_dtype=pl.Float64)
        return (own + _OF_AGE * pl.col(NUMBER) + noise).clip(0).round(1).cast(pl.String).alias(column)

    frame = frame.with_columns(number("label", _NOISE * pl.col("noise")), number("gold", pl.lit(0.0)))
    found = pl.concat([frame["label"], frame["gold"]]).drop_nulls().unique().to_list()
    known = sorted(found, key=float)
    return frame, occurring_numbers(known, level)


def _evaluated(frame: pl.DataFrame, evaluator: str) -> pl.DataFrame:
    status = pl.when(pl.col("label").is_null()).then(pl.lit("no_label")).otherwise(pl.lit("valid"))
    return frame.with_columns(
        evaluator=pl.lit(evaluator).cast(pl.Categorical), status=status.cast(pl.Categorical)
    )


def _named(codes: Ints, names: tuple[str, ...] | list[str]) -> pl.Series:
    """Names by their codes, as a categorical column."""
    return pl.Series(list(names), dtype=pl.Categorical)[codes]


def _without(values: pl.Series, absent: NDArray[np.bool_]) -> pl.Series:
    """The values, null where they are absent."""
    return pl.select(pl.when(~pl.Series(absent)).then(values)).to_series()
