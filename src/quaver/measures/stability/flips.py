"""Flips: how often a label changes when the same prompt is asked again, when another is, and with the item.

Every one of these is the share of pairs of labels that differ. Pairs are of one model and one decoding:

- two repeats of one prompt about one item: what is left when nothing is changed (noise);
- two prompts about one item: what a change of the prompt does;
- two prompts about two items: what chance would give, were labels independent of the item.

How far the labels follow the items is what the second is short of the third, 1 − D_prompts / D_chance: 1
where prompts never change a label, 0 where two prompts agree about an item no more often than about two
different ones. There, labels that have an order differ by the disagreement of their level of measurement
(`label_pairs.likeness`), so that a step between neighbours weighs little. Marginal shares say nothing of it:
labels that swap among the items leave them as they were. Where labels do change, `shifts` says whether they
change in a direction: whether a factor moves the share of a label further than its levels would by chance,
and how much of the change that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from quaver.agreement.disagreement import scale
from quaver.core.records import UNORDERED, Estimate, LabelSet, Numbers
from quaver.estimation.bootstrap import Floats, Ratio, Resampling, Units
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.gathered import frame_of
from quaver.estimation.grouped_items import ItemGroups, item_groups, level_deviations
from quaver.estimation.intervals import mean_within
from quaver.estimation.means import quotient
from quaver.estimation.multiple_testing import adjusted
from quaver.estimation.paired_differences import gap, within
from quaver.estimation.statistic import Sampler, Statistic
from quaver.measures.stability.label_pairs import (
    LabelPairs,
    Pairs,
    counted,
    likeness,
    share_differing,
    tabulated,
)
from quaver.measures.stability.vouched_parts import gold_agreement

_RESAMPLES = 500
_KAPPA = "Cohen's kappa of labels and gold labels, weighted by the level of measurement"
_BIAS = "mean difference of labels and gold labels, in standard deviations of the gold labels"
_HOW = "share of pairs of labels that differ: "
_SHARES = {
    "flips_repeats": _HOW + "one item, one prompt, two repeats",
    "flips_prompts": _HOW + "one item, two prompts",
    "flips_chance": _HOW + "two items, two prompts",
}
_WHAT = _SHARES | {
    "flips_agreement": "1 − flips_prompts / flips_chance",
    "flips_noise": "flips_repeats / flips_prompts",
}
_REASONS = {
    "flips_repeats": "no prompt was asked twice",
    "flips_prompts": "one prompt only",
    "flips_chance": "one prompt or one item only",
    "flips_agreement": "one prompt only, or every label is the same",
    "flips_noise": "no prompt was asked twice, or no label changes with the prompt",
}

_ENDS = dict.fromkeys(_SHARES, (0.0, 1.0)) | {"flips_agreement": (-1.0, 1.0), "flips_noise": (0.0, np.inf)}


@dataclass(frozen=True, slots=True)
class _Group:
    """Statistics of one model over the same units."""

    units: Units
    statistics: Sequence[Statistic]

    def estimated(self, model: str, resampling: Resampling) -> list[Estimate]:
        sampler = Sampler(self.units, resampling, where={"model": model})
        return [sampler.estimated(statistic) for statistic in self.statistics]


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
    repeats; ``label_in_use``, the share of the most frequent label (``label`` in the details);
    ``wrong_labels``, the share of labels that are not the item's gold label, with the most frequent wrong one
    in the details; ``gold_agreement``, what they agree beyond chance; ``gold_bias``, of labels that have an
    order, how much higher than the gold labels they are, in standard deviations of these; and
    ``correct_answers``, the share of answers that are the gold label, one without a label being wrong: what
    the measure ``accuracy`` with ``missing: wrong`` is over all prompts. For each model and factor:
    ``label_shift`` (see `_shift`).

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
    factors = () if isinstance(labels, Numbers) else factors  # no label's share moves
    frame = _labelled(given, factors, labels)
    resampling = Resampling(resamples=resamples, seed=seed)
    estimates: list[Estimate] = []
    for (model,), part in frame.group_by("model", maintain_order=True):
        answers, codes = part.filter(pl.col("label").is_not_null()), labels.codes
        by_factor = [_shift(answers, factor, codes, groups, resampling) for factor in factors]
        shifts = [one for one in by_factor if one is not None]
        alone = [
            _flips(answers, labels, groups),
            _in_use(answers, codes, groups),
            _wrong(answers, labels, groups),
            _correct(part, groups),
        ]
        estimates += [estimate for some in alone for estimate in some.estimated(str(model), resampling)]
        estimates += adjusted(
            [estimate for some in shifts for estimate in some.estimated(str(model), resampling)]
        )
    return estimates


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


def _flips(answers: pl.DataFrame, labels: LabelSet, groups: ItemGroups) -> _Group:
    """The shares of pairs that differ, and what they say together."""
    items, variants = (answers[name].unique().sort().to_list() for name in ("item", "variant"))
    units = groups.units(items)
    statistics = [
        Statistic(
            part=name,
            method=_WHAT[name],
            reason=reason,
            n=units.count,
            column=column,
            details={"prompts": len(variants), "level": labels.level},
        )
        for column, (name, reason) in enumerate(_REASONS.items())
    ]
    parts = [part for _, part in answers.group_by("decoding", maintain_order=True)]
    if not parts:
        return _Group(units, [replace(statistic, reason="no answer has a label") for statistic in statistics])
    strata = tuple(Pairs(tabulated(part, items, variants, labels.codes)) for part in parts)
    pairs = LabelPairs(strata, likeness(labels))
    spreads = {f"flips_{name}": spread for name, spread in pairs.spreads().items()}
    varying = [
        replace(statistic, under=pairs.under, ends=_ENDS[statistic.part], spread=spreads.get(statistic.part))
        for statistic in statistics
    ]
    return _Group(
        units,
        varying,
    )


def _in_use(answers: pl.DataFrame, labels: Sequence[str], groups: ItemGroups) -> _Group:
    """The share of the most frequent label among all labels."""
    statistic = Statistic(
        part="label_in_use", method="share of the most frequent label", reason="no answer has a label"
    )
    if answers.is_empty():
        return _Group(Units(0), [statistic])
    counts, items = counted(answers.with_columns(all=pl.lit(0)), ["all"], labels)
    totals = counts[:, 0].sum(0)
    most = int(totals.argmax())
    statistic = replace(statistic, details={"label": labels[most], "labels": int((totals > 0).sum())})
    if answers["variant"].n_unique() == 1:
        statistic = replace(statistic, details={**statistic.details, "prompt": answers["variant"][0]})
    return _mean(statistic, groups.units(items), counts[:, 0, most], counts[:, 0].sum(1))


def _wrong(answers: pl.DataFrame, labels: LabelSet, groups: ItemGroups) -> _Group:
    """The share of labels that are not the gold label, which is the most frequent, and what chance gives."""
    codes = labels.codes
    statistic = Statistic(part="wrong_labels", method="share of labels that differ from the gold label")
    judged = answers.filter(pl.col("gold").is_not_null())
    if judged.is_empty():
        why = "no gold labels" if answers.height else "no answer has a label"
        beyond = Statistic(part="gold_agreement", method=_KAPPA, n=0, reason=why)
        bias = Statistic(part="gold_bias", method=_BIAS, n=0, reason=why)
        return _Group(Units(0), [replace(statistic, n=0, reason=why), beyond, bias])
    differ = pl.col("label") != pl.col("gold")
    wrong = judged.filter(differ)
    if wrong.height:
        counts = wrong["label"].value_counts(sort=True).sort("count", "label", descending=[True, False])
        label, times = counts.row(0)
        share, sizes = times / wrong.height, {"wrong": wrong.height, "judged": judged.height}
        statistic = replace(statistic, details={"label": label, "share": share, **sizes})
    table, items = counted(judged.with_columns(all=pl.lit(0)), ["all"], codes)
    of = dict(judged.select("item", "gold").unique("item").iter_rows())
    gold = np.array([[float(of[item] == label) for label in codes] for item in items])
    given, units = table[:, 0], groups.units(items)
    not_gold = (given * (1 - gold)).sum(1)
    group = _mean(statistic, units, not_gold, given.sum(1))
    beyond = Statistic(part="gold_agreement", method=_KAPPA, n=units.count)
    beside = gold_agreement(beyond, given, gold, likeness(labels))
    return _Group(units, [*group.statistics, beside, _bias(labels, given, gold, units)])


def _bias(labels: LabelSet, given: Floats, gold: Floats, units: Units) -> Statistic:
    """How much higher than the gold labels the labels are, in standard deviations of the gold labels."""
    statistic = Statistic(part="gold_bias", method=_BIAS, n=units.count)
    if labels.level in UNORDERED:
        return replace(statistic, reason="labels without an order")
    values = scale(labels.codes, labels.level, labels)
    at = np.arange(len(labels.codes), dtype=np.float64) if values is None else values
    true = gold @ at
    spread = float(true.std())
    if spread <= 0:
        return replace(statistic, reason="every gold label is the same")
    whole = given.sum(1)
    apart = (given @ at - whole * true) / spread
    furthest = float(np.ptp(at)) / spread
    return replace(
        statistic,
        under=Ratio(apart[:, None], whole[:, None]),
        spread=partial(mean_within, low=-furthest, high=furthest),
    )


def _correct(answers: pl.DataFrame, groups: ItemGroups) -> _Group:
    """The share of answers that are the gold label; an answer without a label is wrong."""
    statistic = Statistic(part="correct_answers", method="share of right answers, unanswered ones wrong")
    judged = answers.filter(pl.col("gold").is_not_null())
    if judged.is_empty():
        return _Group(Units(0), [replace(statistic, n=0, reason="no gold labels")])
    right = (pl.col("label") == pl.col("gold")).fill_null(value=False)
    counts = judged.group_by("item").agg(right=right.sum(), n=pl.len()).sort("item")
    units = groups.units(counts["item"].to_list())
    return _mean(
        statistic, units, counts["right"].to_numpy().astype(float), counts["n"].to_numpy().astype(float)
    )


def _mean(statistic: Statistic, units: Units, part: Floats, whole: Floats) -> _Group:
    """A ratio of sums over items."""
    share = replace(statistic, under=Ratio(part[:, None], whole[:, None]), ends=(0.0, 1.0))
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
    flips = float(share_differing(pairs.sum(), agree.sum()))
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
    )
    return _Group(units, [shift])


def _ranges(totals: Floats) -> Floats:
    """The largest less the smallest share of each label over levels; totals of shape (…, levels, labels)."""
    whole = totals.sum(-1, keepdims=True)
    shares = quotient(totals, whole)
    with np.errstate(all="ignore"):
        return np.asarray(np.nan_to_num(np.nanmax(shares, -2) - np.nanmin(shares, -2)))
