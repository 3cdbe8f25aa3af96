"""Pairs of labels, counted: two repeats of one prompt, two prompts about one item, two items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import polars as pl

from quaver.agreement.disagreement import disagreement, scale
from quaver.agreement.stratified_alpha import (
    alpha_losses,
    in_strata,
    ranged,
    scaled,
    spread_over,
    stray_labels,
)
from quaver.core.records import OF_SETS, Estimate, LabelSet, Level
from quaver.estimation.bootstrap import Floats, Ratio, Resampling, Units
from quaver.estimation.cells import Missing
from quaver.estimation.encoding import Tally
from quaver.estimation.grouped_items import ItemGroups
from quaver.estimation.intervals import Interval, mean_within
from quaver.estimation.means import quotient
from quaver.estimation.statistic import Cell, Sampler, Statistic


def counted(frame: pl.DataFrame, by: Sequence[str], labels: Sequence[str]) -> tuple[Floats, list[str]]:
    """Labels counted, shape (items, combinations of the columns, labels), and the items."""
    items = frame["item"].unique().sort().to_list()
    table = frame.group_by("item", *by, "label").len()
    level = table.select(pl.struct(by).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    counts = np.zeros((len(items), int(level.max(initial=-1)) + 1, len(labels)))
    places = (
        table["item"].cast(pl.Enum(items)).to_physical().to_numpy(),
        level,
        table["label"].cast(pl.Enum(list(labels))).to_physical().to_numpy(),
    )
    counts[places] = table["len"].to_numpy()
    return counts, items


def tabulated(
    frame: pl.DataFrame, items: Sequence[str], variants: Sequence[str], labels: Sequence[str]
) -> Floats:
    """Labels counted, shape (items, variants, labels), of items and variants that are given."""
    counts = np.zeros((len(items), len(variants), len(labels)))
    table = frame.group_by("item", "variant", "label").len()
    columns = (("item", items), ("variant", variants), ("label", labels))
    places = tuple(table[name].cast(pl.Enum(list(known))).to_physical().to_numpy() for name, known in columns)
    counts[places] = table["len"].to_numpy()
    return counts


def likeness(labels: LabelSet) -> Floats | None:
    """How alike two labels are, by their level of measurement: 1 − δ² / max δ², shape (labels, labels).

    δ is the number of steps between two labels of an ordinal scale, the difference of two values, or for a
    ratio scale (a − b) / (a + b); a label without a value has its place. Of labels that are sets it is
    1 − their distance. None for nominal labels, which are the same or not.

    >>> from quaver.core.records import Label
    >>> likeness(LabelSet(tuple(Label(code, code) for code in "123"), "ordinal"))[0].tolist()
    [1.0, 0.75, 0.0]
    """
    if labels.level == "nominal" or len(labels.codes) < 2:
        return None
    values = scale(labels.codes, labels.level, labels)
    if labels.level in OF_SETS and values is not None:
        return np.asarray(1 - values)
    at = np.arange(len(labels.codes), dtype=np.float64) if values is None else values
    apart = at[:, None] - at[None, :]
    if labels.level == "ratio":
        total = np.abs(at)[:, None] + np.abs(at)[None, :]
        apart = apart / np.where(total > 0, total, 1.0)
    return np.asarray(1 - apart**2 / (apart**2).max())


@dataclass(frozen=True)
class Pairs:
    """Pairs of labels of one decoding, counted once: how many there are, and how many agree.

    Attributes:
        counts: n_uvk, shape (items, prompts, labels).
        alike: How alike two labels are (`likeness`); None where only the same label agrees.
    """

    counts: Floats
    alike: Floats | None = None

    def _agreeing(self, labels: Floats, others: Floats) -> Floats:
        """How many of the pairs of two counts of labels agree, over the last axis."""
        return np.asarray((labels * (others if self.alike is None else others @ self.alike)).sum(-1))

    @cached_property
    def _within(self) -> Floats:
        """The pairs of answers to one prompt that agree, with themselves too, shape (items, prompts)."""
        return self._agreeing(self.counts, self.counts)

    @cached_property
    def _together(self) -> Floats:
        """The pairs of an item's answers that agree, with themselves too."""
        own = self.counts.sum(1)
        return self._agreeing(own, own)

    @cached_property
    def repeats(self) -> tuple[Floats, Floats]:
        """Pairs of repeats by item, and those that agree."""
        whole = self.counts.sum(2)
        return (whole * (whole - 1)).sum(1), (self._within - whole).sum(1)

    @cached_property
    def prompts(self) -> tuple[Floats, Floats]:
        """Pairs of prompts by item, and those that agree."""
        whole = self.counts.sum(2)
        pairs = whole.sum(1) ** 2 - (whole**2).sum(1)
        return pairs, self._together - self._within.sum(1)

    @property
    def with_each(self) -> tuple[Floats, Floats]:
        """Pairs of each prompt with the others, shape (items, prompts), and those that agree."""
        whole = self.counts.sum(2)
        others = self.counts.sum(1, keepdims=True) - self.counts
        return whole * others.sum(2), self._agreeing(self.counts, others)

    def chance(self, weights: Floats) -> tuple[Floats, Floats]:
        """Pairs of two prompts and two items under item weights, and those that agree."""
        items, prompts, labels = self.counts.shape
        by_prompt = (weights @ self.counts.reshape(items, -1)).reshape(len(weights), prompts, labels)
        square = weights**2
        whole, total = self.counts.sum(2), by_prompt.sum(1)
        agree = self._agreeing(total, total) - self._agreeing(by_prompt, by_prompt).sum(1)
        agree += square @ (self._within.sum(1) - self._together)
        each = by_prompt.sum(2)
        pairs = each.sum(1) ** 2 - (each**2).sum(1)
        return pairs + square @ ((whole**2).sum(1) - whole.sum(1) ** 2), agree


@dataclass(frozen=True)
class LabelPairs:
    """Pairs of labels within each of several decodings, and the shares of them that differ.

    Attributes:
        strata: The pairs of each decoding, over the same items and prompts.
        alike: How alike two labels are, in agreement and noise: shares are of pairs that differ at all.
    """

    strata: tuple[Pairs, ...]
    alike: Floats | None = None

    def among(self, prompts: Sequence[int]) -> LabelPairs:
        """The pairs of some of the prompts."""
        return LabelPairs(tuple(Pairs(pairs.counts[:, list(prompts)]) for pairs in self.strata), self.alike)

    @property
    def moved(self) -> Floats:
        """Pairs of prompts that differ, by item."""
        return np.asarray(sum(pairs - agree for pairs, agree in (pairs.prompts for pairs in self.strata)))

    @cached_property
    def _by_level(self) -> Sequence[Pairs]:
        """The same pairs, as alike as their labels are."""
        if self.alike is None:
            return self.strata
        return [Pairs(pairs.counts, self.alike) for pairs in self.strata]

    def under(self, weights: Floats) -> Floats:
        """D repeats, D prompts, D chance, agreement and noise (see `flips`) under item weights."""
        shares = _shares(self.strata, weights)
        repeats, prompts, chance, beside = shares if self.alike is None else _shares(self._by_level, weights)
        agreement = 1 - quotient(prompts, chance, 1e-12)
        noise = quotient(repeats, beside, 1e-12)
        return np.stack([*shares[:3], agreement, noise], 1)

    def spreads(self) -> Mapping[str, Callable[[float, float], Interval]]:
        """Where a share may lie, by its value and the share of further items that may differ."""
        asked = (int((pairs.counts.sum((0, 2)) > 0).sum()) for pairs in self.strata)
        prompts, labels = max(asked, default=1), self.strata[0].counts.shape[2]
        worst = prompts / (prompts - 1) * (1 - 1 / min(prompts, max(2, labels))) if prompts > 1 else 1.0

        def agreement(value: float, share: float) -> Interval:
            ones = np.ones((1, len(self.strata[0].counts)))
            with np.errstate(divide="ignore", invalid="ignore"):
                _, other, chance, _ = (float(part[0]) for part in _shares(self._by_level, ones))
            ends = mean_within(other, share, 0.0, worst)
            return Interval(1 - ends.high / chance, 1 - ends.low / chance)

        return {
            "repeats": mean_within,
            "prompts": partial(mean_within, high=worst),
            "agreement": agreement,
        }


def _shares(strata: Sequence[Pairs], weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """What differs between repeats, between prompts, by chance, and between prompts that were asked again."""
    sums = [sum(part) for part in zip(*(pairs.chance(weights) for pairs in strata), strict=True)]
    chance = share_differing(np.asarray(sums[0]), np.asarray(sums[1]))
    repeated = [pairs for pairs in strata if pairs.repeats[0].any()]
    beside = _share(repeated, "prompts", weights) if repeated else np.full(len(weights), np.nan)
    return _share(strata, "repeats", weights), _share(strata, "prompts", weights), chance, beside


def _share(strata: Sequence[Pairs], of: str, weights: Floats) -> Floats:
    """The share of pairs that differ, over all strata, under item weights."""
    pairs = sum(getattr(one, of)[0] for one in strata)
    agree = sum(getattr(one, of)[1] for one in strata)
    return share_differing(weights @ np.asarray(pairs), weights @ np.asarray(agree))


def share_differing(pairs: Floats, agree: Floats) -> Floats:
    """The share of pairs that do not agree; NaN where there is none."""
    return np.asarray(1 - quotient(agree, pairs))


class Part(NamedTuple):
    """One estimate: what is said of it, and the strata over which its alpha is averaged."""

    said: Statistic
    strata: Sequence[int]


def each_alpha(
    cell: Cell, counts: Floats | Tally, parts: Sequence[Part], level: Level | None, missing: Missing
) -> Iterator[Statistic]:
    """The mean alpha of each part, from shared resamples."""
    level, values = scaled(cell.labels, level, cell.label_set, missing)
    model = disagreement(counts, level, values)
    reasons = model.reasons()
    usable = [[s for s in part.strata if reasons[s] is None] for part in parts]
    # A column a part: which strata it is the mean of.
    member = np.zeros((model.strata, len(parts)))
    for column, strata in enumerate(usable):
        member[strata, column] = 1

    def means(weights: Floats) -> Floats:
        each = model.alphas(weights)
        known = np.isfinite(each)
        n = known.astype(np.float64) @ member
        total = np.where(known, each, 0.0) @ member
        return quotient(total, n)

    losses = alpha_losses(model, level)
    for column, (part, strata) in enumerate(zip(parts, usable, strict=True)):
        own = list(part.strata)
        lost = len(own) - len(strata)
        partly = (f"alpha is undefined in {lost} of {len(own)} strata",) if lost and strata else ()
        yield replace(
            ranged(part.said, model, strata),
            under=means,
            column=column,
            n=cell.units.touched(np.asarray(model.pairable[:, own].any(1))),
            reason=next((reasons[s] for s in own if reasons[s]), None),
            warnings=(*part.said.warnings, *partly, *stray_labels(cell, in_strata(counts, own))),
            spread=spread_over(losses[strata]),
            details={**part.said.details, "level": level, "strata": len(strata)},
        )


NO_LABEL_CODE = ""
"""The label of an answer that has none."""


def prepared(frame: pl.DataFrame, labels: LabelSet) -> pl.DataFrame:
    """The columns that are needed, as text; a label outside the set is none; without calls that failed."""
    wanted = ("item", "model", "decoding", "variant", "gold", "label", "status")
    there = [pl.col(name).cast(pl.String) for name in wanted if name in frame.columns]
    gone = [
        pl.lit(None if name in ("gold", "status") else "", pl.String).alias(name)
        for name in wanted
        if name not in frame.columns
    ]
    kept = frame.select(*there, *gone).filter(pl.col("status").ne_missing("error"))
    expression = pl.col("label").is_in(list(labels.codes)).fill_null(value=False)
    return kept.with_columns(label=pl.when(expression).then(pl.col("label")).otherwise(pl.lit(NO_LABEL_CODE)))


@dataclass(frozen=True)
class PromptAnswers:
    """One model's answers, counted.

    Attributes:
        frame: A row an answer.
        labels: The codes, and that of none at the end.
        groups: What is resampled.
        model: The model.
        resampling: How intervals are made.
        alike: How alike two labels are (`likeness`); None where only the same label agrees.
    """

    frame: pl.DataFrame
    labels: Sequence[str]
    groups: ItemGroups
    model: str
    resampling: Resampling
    alike: Floats | None = None

    @cached_property
    def items(self) -> list[str]:
        """Those that were asked about."""
        return self.frame["item"].unique().sort().to_list()

    @cached_property
    def variants(self) -> list[str]:
        """The prompts, in the frame's order."""
        return self.frame["variant"].unique(maintain_order=True).to_list()

    @cached_property
    def units(self) -> Units:
        """What is resampled."""
        return self.groups.units(self.items)

    @cached_property
    def strata(self) -> list[Floats]:
        """Answers of each decoding, shape (items, prompts, labels and none)."""
        parts = self.frame.group_by("decoding", maintain_order=True)
        return [tabulated(part, self.items, self.variants, self.labels) for _, part in parts]

    @cached_property
    def counts(self) -> Floats:
        """Those of all decodings."""
        return np.asarray(sum(self.strata))

    @cached_property
    def gold(self) -> Floats | None:
        """Each item's gold label as ones and zeros, NaN where it is not known; None where none is."""
        of = dict(self.frame.select("item", "gold").unique("item").iter_rows())
        if not any(of.values()):
            return None
        rows = [
            [float(of[item] == code) if of[item] else np.nan for code in self.labels] for item in self.items
        ]
        return np.array(rows)

    def estimated(self, part: str, statistic: Statistic, *, prompts: int = 1) -> Estimate:
        """An estimate whose interval holds for so many prompts at once."""
        level = 1 - (1 - self.resampling.confidence_level) / prompts
        sampler = Sampler(
            self.units,
            replace(self.resampling, confidence_level=level),
            where={"model": self.model, **statistic.where},
        )
        return sampler.estimated(replace(statistic, part=part))

    def share(self, above: Floats, below: Floats, method: str) -> Statistic:
        """A ratio of sums over items."""
        return Statistic(method=method, under=Ratio(above[:, None], below[:, None]), ends=(0.0, 1.0))
