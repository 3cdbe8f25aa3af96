"""Flips: how often a label changes when the same prompt is asked again, when another is, and with the item.

Every one of these is the share of pairs of labels that differ. Pairs are of one model and one decoding:

- two repeats of one prompt about one item: what is left when nothing is changed (noise);
- two prompts about one item: what a change of the prompt does;
- two prompts about two items: what chance would give, were labels independent of the item.

How far the labels follow the items is what the second is short of the third, 1 − D_prompts / D_chance: 1
where prompts never change a label, 0 where two prompts agree about an item no more often than about two
different ones. Marginal shares say nothing of it: labels that swap among the items leave them as they were.
Where labels do change, `shifts` says whether they change in a direction: whether a factor moves the share of
a label further than its levels would by chance, and how much of the change that is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from quaver.core.records import Estimate, LabelSet
from quaver.estimation.bootstrap import Floats, Resampling, Units, Weighted
from quaver.estimation.cells import frame_of
from quaver.estimation.gaps import gap, within
from quaver.estimation.intervals import Interval, mean_within
from quaver.estimation.item_groups import ItemGroups, item_groups
from quaver.estimation.means import differing, ratio
from quaver.estimation.measure_protocol import Frame, guarded
from quaver.estimation.multiple_testing import adjusted
from quaver.estimation.noise_floor import level_deviations
from quaver.estimation.statistic import Sampler, Statistic

_RESAMPLES = 500
_HOW = "share of pairs of labels that differ: "
_WHAT = {
    "flips_repeats": "one item, one prompt, two repeats",
    "flips_prompts": "one item, two prompts",
    "flips_chance": "two items, two prompts",
}
_REASONS = {
    "flips_repeats": "no prompt was asked twice",
    "flips_prompts": "one prompt only",
    "flips_chance": "one prompt or one item only",
    "flips_agreement": "one prompt only, or every label is the same",
    "flips_noise": "no prompt was asked twice, or no label changes with the prompt",
}

_ENDS = dict.fromkeys(_WHAT, (0.0, 1.0)) | {"flips_agreement": (-1.0, 1.0), "flips_noise": (0.0, np.inf)}


@dataclass(frozen=True, slots=True)
class _Group:
    """Statistics of one model over the same units."""

    units: Units
    statistics: Sequence[Statistic]

    def estimated(self, model: str, resampling: Resampling) -> list[Estimate]:
        sampler = Sampler(self.units, resampling, where={"model": model})
        return [sampler.estimated(one) for one in self.statistics]


@guarded
def label_flips(
    annotations: Frame,
    factors: Sequence[str],
    *,
    labels: LabelSet,
    group: str | None = None,
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> list[Estimate]:
    """How far the labels of each model follow the items, and what changes them where they do not.

    Answers without a label take no part: they are counted by `validity.answer_quality`. For each model
    (in the cell): ``flips_repeats``, ``flips_prompts`` and ``flips_chance``, D of the module's docstring;
    ``flips_agreement``, 1 − D_prompts / D_chance; ``flips_noise``, D_repeats / D_prompts where there are
    repeats; ``label_in_use``, the share of the most frequent label (``label`` in the details); and
    ``wrong_labels``, the share of labels that are not the item's gold label, with the most frequent wrong one
    in the details. For each model and factor: ``label_shift`` (see `_shift`).

    Args:
        annotations: A row an annotation, of one evaluator: ``item``, ``label``, ``variant``, ``model``,
            ``decoding``, a column for each factor, and ``gold`` where it is known.
        factors: The columns that vary with the prompt.
        labels: The label set.
        group: The column whose groups of items are the units of the intervals, instead of items.
        resamples: Random draws behind the intervals; 0 for none.
        seed: Root seed.

    Returns:
        The estimates; one without a value says why.

    Two items, two prompts; one item's label flips. Of the two pairs of prompts about one item one differs,
    and so does one of the two pairs of prompts about two items:

    >>> from quaver.core.records import Label
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "variant": list("vwvw"), "label": list("aaab")})
    >>> codes = LabelSet(tuple(Label(code, code) for code in "ab"))
    >>> found = {e.measure: e.value for e in label_flips(frame, [], labels=codes)}
    >>> found["flips_prompts"], found["flips_chance"], found["flips_agreement"]
    (0.5, 0.5, 0.0)
    """
    given = frame_of(annotations)
    groups = item_groups(given, group)
    frame = _labelled(given, factors, labels)
    resampling = Resampling(resamples=resamples, seed=seed)
    found: list[Estimate] = []
    for (model,), part in frame.group_by("model", maintain_order=True):
        answers, codes = part.filter(pl.col("label").is_not_null()), labels.codes
        by_factor = [_shift(answers, factor, codes, groups, resampling) for factor in factors]
        shifts = [one for one in by_factor if one is not None]
        alone = [_flips(answers, codes, groups), _in_use(answers, codes, groups), _wrong(answers, groups)]
        found += [one for some in alone for one in some.estimated(str(model), resampling)]
        found += adjusted([one for some in shifts for one in some.estimated(str(model), resampling)])
    return found


def _labelled(frame: pl.DataFrame, factors: Sequence[str], labels: LabelSet) -> pl.DataFrame:
    """The columns that are needed, as text; a label outside the set is none."""
    wanted = dict.fromkeys(("item", "model", "decoding", "variant", "gold", *factors))
    there = [pl.col(name).cast(pl.String) for name in wanted if name in frame.columns]
    gone = [
        pl.lit(None if name == "gold" else "", pl.String).alias(name)
        for name in wanted
        if name not in frame.columns
    ]
    label = pl.col("label").cast(pl.String)
    code = pl.when(label.is_in(list(labels.codes))).then(label)
    return frame.select(*there, *gone, code.alias("label"))


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


@dataclass(frozen=True, slots=True)
class _Pairs:
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


def _flips(answers: pl.DataFrame, labels: Sequence[str], groups: ItemGroups) -> _Group:
    """The shares of pairs that differ, and what they say together."""
    items = answers["item"].unique().sort().to_list()
    units = groups.units(items)
    strata = []
    for _, part in answers.group_by("decoding", maintain_order=True):
        counts, seen = counted(part, ["variant"], labels)
        whole = np.zeros((len(items), *counts.shape[1:]))
        whole[np.searchsorted(items, seen)] = counts
        strata.append(_Pairs(whole))
    asked = {"prompts": answers["variant"].n_unique()}
    said = [
        Statistic(
            part=name,
            method=_HOW + _WHAT.get(name, ""),
            reason=reason,
            n=units.count,
            column=column,
            details=asked,
        )
        for column, (name, reason) in enumerate(_REASONS.items())
    ]
    if not strata:
        return _Group(units, [replace(one, reason="no answer has a label") for one in said])
    repeated = [one for one in strata if one.repeats[0].any()]

    def under(weights: Floats) -> Floats:
        repeats, prompts = _share(strata, "repeats", weights), _share(strata, "prompts", weights)
        sums = [sum(part) for part in zip(*(one.chance(weights) for one in strata), strict=True)]
        chance = _differ(np.asarray(sums[0]), np.asarray(sums[1]))
        beside = _share(repeated, "prompts", weights) if repeated else np.full(len(weights), np.nan)
        agreement = np.where(chance > 1e-12, 1 - prompts / np.where(chance > 1e-12, chance, 1), np.nan)
        noise = np.where(beside > 1e-12, repeats / np.where(beside > 1e-12, beside, 1), np.nan)
        return np.stack([repeats, prompts, chance, agreement, noise], 1)

    spreads = _spreads(under, strata, len(labels))
    moved = sum(pairs - agree for pairs, agree in (one.prompts for one in strata)) > 0
    differ = units.touched(np.asarray(moved))
    varying = [replace(one, under=under, ends=_ENDS[one.part], spread=spreads.get(one.part)) for one in said]
    return _Group(units, [replace(one, differing=differ) if one.spread else one for one in varying])


def _spreads(
    under: Weighted, strata: Sequence[_Pairs], labels: int
) -> Mapping[str, Callable[[float, float], Interval]]:
    """Where each share may lie, by its value and the share of further items that may differ."""
    prompts = max(one.counts.shape[1] for one in strata)
    worst = prompts / (prompts - 1) * (1 - 1 / min(prompts, max(2, labels))) if prompts > 1 else 1.0

    def agreement(value: float, share: float) -> Interval:
        with np.errstate(divide="ignore", invalid="ignore"):
            _, other, chance, *_ = under(np.ones((1, len(strata[0].counts))))[0].tolist()
        ends = mean_within(other, share, 0.0, worst)
        return Interval(1 - ends.high / chance, 1 - ends.low / chance)

    return {
        "flips_repeats": mean_within,
        "flips_prompts": partial(mean_within, high=worst),
        "flips_agreement": agreement,
    }


def _share(strata: Sequence[_Pairs], of: str, weights: Floats) -> Floats:
    """The share of pairs that differ, over all strata, under item weights."""
    pairs = sum(getattr(one, of)[0] for one in strata)
    agree = sum(getattr(one, of)[1] for one in strata)
    return _differ(weights @ np.asarray(pairs), weights @ np.asarray(agree))


def _differ(pairs: Floats, agree: Floats) -> Floats:
    return np.asarray(np.where(pairs > 0, 1 - agree / np.where(pairs > 0, pairs, 1), np.nan))


def _in_use(answers: pl.DataFrame, labels: Sequence[str], groups: ItemGroups) -> _Group:
    """The share of the most frequent label among all labels."""
    said = Statistic(
        part="label_in_use", method="share of the most frequent label", reason="no answer has a label"
    )
    if answers.is_empty():
        return _Group(Units(0), [said])
    counts, items = counted(answers.with_columns(all=pl.lit(0)), ["all"], labels)
    totals = counts[:, 0].sum(0)
    most = int(totals.argmax())
    said = replace(said, details={"label": labels[most], "labels": int((totals > 0).sum())})
    return _mean(said, groups.units(items), counts[:, 0, most], counts[:, 0].sum(1))


def _wrong(answers: pl.DataFrame, groups: ItemGroups) -> _Group:
    """The share of labels that are not the gold label, and which wrong label is the most frequent."""
    said = Statistic(part="wrong_labels", method="share of labels that differ from the gold label")
    judged = answers.filter(pl.col("gold").is_not_null())
    if judged.is_empty():
        why = "no gold labels" if answers.height else "no answer has a label"
        return _Group(Units(0), [replace(said, n=0, reason=why)])
    differ = pl.col("label") != pl.col("gold")
    wrong = judged.filter(differ)
    by_item = judged.group_by("item", maintain_order=True).agg(wrong=differ.sum(), labels=pl.len())
    if wrong.height:
        counts = wrong["label"].value_counts(sort=True).sort("count", "label", descending=[True, False])
        label, times = counts.row(0)
        share, sizes = times / wrong.height, {"wrong": wrong.height, "judged": judged.height}
        said = replace(said, details={"label": label, "share": share, **sizes})
    wrong_labels, all_labels = (by_item[name].to_numpy().astype(float) for name in ("wrong", "labels"))
    return _mean(said, groups.units(by_item["item"].to_list()), wrong_labels, all_labels)


def _mean(said: Statistic, units: Units, part: Floats, whole: Floats) -> _Group:
    """A ratio of sums over items."""
    own = np.where(whole > 0, part / np.maximum(whole, 1), np.nan)
    share = replace(
        said,
        under=ratio(part[:, None], whole[:, None]),
        n=units.touched(whole > 0),
        differing=differing(own, units),
        ends=(0.0, 1.0),
        spread=mean_within,
    )
    return _Group(units, [share])


def _shift(
    answers: pl.DataFrame, factor: str, labels: Sequence[str], groups: ItemGroups, resampling: Resampling
) -> _Group | None:
    """How far a factor moves the share of a label: the largest less the smallest over its levels.

    Of the label that moves most. A range is above 0 by chance alone, and the more levels the further: its
    interval inverts a test (`gaps.gap`), so that it is of the true range, widened to hold the value. In the
    details stand ``floor``, ``floor_high`` and ``p``, when what each item (or group) adds to the levels'
    shares gets a sign at random, so that it may well matter to an item which level is asked but not in one
    direction for all items; ``p_holm`` is adjusted for the model's factors. ``lowest`` and ``highest`` are
    the levels between which it moves; ``flips``, the share of pairs of labels about one item that differ
    between them; and ``directed``, (range − floor) / flips: 1 where all that changes between the two goes one
    way.
    """
    frame = answers.filter(pl.col(factor).is_not_null())
    if frame[factor].n_unique() < 2:
        return None
    levels = frame[factor].unique().sort().to_list()
    counts, items = counted(frame, [factor], labels)
    units = groups.units(items)
    totals = counts.sum(0)
    spans = _ranges(totals)
    label = int(np.argmax(spans))
    shares = totals[:, label] / np.maximum(totals.sum(1), 1)
    low, high = int(shares.argmin()), int(shares.argmax())
    apart = level_deviations(counts, counts.sum(2, keepdims=True))
    known = within(0.0, 1.0, gap(apart, units, lambda x: np.ptp(x, 1).max(1), resampling, factor))
    pairs = counts[:, low].sum(1) * counts[:, high].sum(1)
    agree = (counts[:, low] * counts[:, high]).sum(1)
    flips = float(_differ(pairs.sum(), agree.sum()))
    directed = (float(spans[label]) - known.details.get("floor", 0.0)) / flips if flips > 0 else 0.0

    def under(weights: Floats) -> Floats:
        sums = (weights @ counts.reshape(len(items), -1)).reshape(len(weights), *counts.shape[1:])
        return _ranges(sums)[:, [label]]

    shift = Statistic(
        part="label_shift",
        method="largest less smallest share of the label that moves most, over the factor's levels",
        under=under,
        where={"factor": factor, "label": labels[label]},
        n=units.count,
        details={
            **known.details,
            "lowest": levels[low],
            "highest": levels[high],
            "shares": dict(zip(levels, shares.tolist(), strict=True)),
            "flips": flips,
            "directed": min(1.0, max(0.0, directed)),
        },
        ends=(0.0, 1.0),
        interval=known.interval and (known.interval, "interval by test inversion"),
        spread=mean_within,
    )
    return _Group(units, [shift])


def _ranges(totals: Floats) -> Floats:
    """The largest less the smallest share of each label over levels; totals of shape (…, levels, labels)."""
    whole = totals.sum(-1, keepdims=True)
    shares = np.where(whole > 0, totals / np.where(whole > 0, whole, 1), np.nan)
    with np.errstate(all="ignore"):
        return np.asarray(np.nan_to_num(np.nanmax(shares, -2) - np.nanmin(shares, -2)))
