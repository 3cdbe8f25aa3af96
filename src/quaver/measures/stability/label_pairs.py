"""Pairs of labels, counted: two repeats of one prompt, two prompts about one item, two items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from quaver.estimation.bootstrap import Floats
from quaver.estimation.intervals import Interval, mean_within


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


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of labels of one decoding, counted: how many there are, and how many agree.

    Attributes:
        counts: n_uvk, shape (items, prompts, labels).
    """

    counts: Floats

    @property
    def repeats(self) -> tuple[Floats, Floats]:
        """Pairs of repeats by item, and those that agree."""
        whole = self.counts.sum(2)
        return (whole * (whole - 1)).sum(1), (self.counts * (self.counts - 1)).sum((1, 2))

    @property
    def prompts(self) -> tuple[Floats, Floats]:
        """Pairs of prompts by item, and those that agree."""
        own, whole = self.counts.sum(1), self.counts.sum(2)
        pairs = whole.sum(1) ** 2 - (whole**2).sum(1)
        return pairs, (own**2).sum(1) - (self.counts**2).sum((1, 2))

    @property
    def with_each(self) -> tuple[Floats, Floats]:
        """Pairs of each prompt with the others, shape (items, prompts), and those that agree."""
        whole = self.counts.sum(2)
        others = self.counts.sum(1, keepdims=True) - self.counts
        return whole * others.sum(2), (self.counts * others).sum(2)

    def chance(self, weights: Floats) -> tuple[Floats, Floats]:
        """Pairs of two prompts and two items under item weights, and those that agree."""
        items, prompts, labels = self.counts.shape
        by_prompt = (weights @ self.counts.reshape(items, -1)).reshape(len(weights), prompts, labels)
        square = weights**2
        own, whole = self.counts.sum(1), self.counts.sum(2)
        agree = (by_prompt.sum(1) ** 2).sum(1) - (by_prompt**2).sum((1, 2))
        agree += square @ ((self.counts**2).sum((1, 2)) - (own**2).sum(1))
        each = by_prompt.sum(2)
        pairs = each.sum(1) ** 2 - (each**2).sum(1)
        return pairs + square @ ((whole**2).sum(1) - whole.sum(1) ** 2), agree


@dataclass(frozen=True, slots=True)
class LabelPairs:
    """Pairs of labels within each of several decodings, and the shares of them that differ.

    Attributes:
        strata: The pairs of each decoding, over the same items and prompts.
    """

    strata: tuple[Pairs, ...]

    def among(self, prompts: Sequence[int]) -> LabelPairs:
        """The pairs of some of the prompts."""
        return LabelPairs(tuple(Pairs(one.counts[:, list(prompts)]) for one in self.strata))

    @property
    def moved(self) -> Floats:
        """Pairs of prompts that differ, by item."""
        return np.asarray(sum(pairs - agree for pairs, agree in (one.prompts for one in self.strata)))

    def under(self, weights: Floats) -> Floats:
        """D repeats, D prompts, D chance, agreement and noise (see `flips`) under item weights."""
        repeats, prompts = _share(self.strata, "repeats", weights), _share(self.strata, "prompts", weights)
        sums = [sum(part) for part in zip(*(one.chance(weights) for one in self.strata), strict=True)]
        chance = share_differing(np.asarray(sums[0]), np.asarray(sums[1]))
        repeated = [one for one in self.strata if one.repeats[0].any()]
        beside = _share(repeated, "prompts", weights) if repeated else np.full(len(weights), np.nan)
        agreement = np.where(chance > 1e-12, 1 - prompts / np.where(chance > 1e-12, chance, 1), np.nan)
        noise = np.where(beside > 1e-12, repeats / np.where(beside > 1e-12, beside, 1), np.nan)
        return np.stack([repeats, prompts, chance, agreement, noise], 1)

    def spreads(self) -> Mapping[str, Callable[[float, float], Interval]]:
        """Where a share may lie, by its value and the share of further items that may differ."""
        asked = (int((one.counts.sum((0, 2)) > 0).sum()) for one in self.strata)
        prompts, labels = max(asked, default=1), self.strata[0].counts.shape[2]
        worst = prompts / (prompts - 1) * (1 - 1 / min(prompts, max(2, labels))) if prompts > 1 else 1.0

        def agreement(value: float, share: float) -> Interval:
            with np.errstate(divide="ignore", invalid="ignore"):
                _, other, chance, *_ = self.under(np.ones((1, len(self.strata[0].counts))))[0].tolist()
            ends = mean_within(other, share, 0.0, worst)
            return Interval(1 - ends.high / chance, 1 - ends.low / chance)

        return {
            "repeats": mean_within,
            "prompts": partial(mean_within, high=worst),
            "agreement": agreement,
        }


def _share(strata: Sequence[Pairs], of: str, weights: Floats) -> Floats:
    """The share of pairs that differ, over all strata, under item weights."""
    pairs = sum(getattr(one, of)[0] for one in strata)
    agree = sum(getattr(one, of)[1] for one in strata)
    return share_differing(weights @ np.asarray(pairs), weights @ np.asarray(agree))


def share_differing(pairs: Floats, agree: Floats) -> Floats:
    """The share of pairs that do not agree; NaN where there is none."""
    return np.asarray(np.where(pairs > 0, 1 - agree / np.where(pairs > 0, pairs, 1), np.nan))
