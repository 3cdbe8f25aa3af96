"""One model's answers, counted by item, prompt and label, and how often labels flip.

Flips are how often a label changes when the same prompt is asked again, when another is, and with the item.

Every one of these is the share of pairs of labels that differ. Pairs are of one model and one decoding:

- two repeats of one prompt about one item: what is left when nothing is changed (noise);
- two prompts about one item: what a change of the prompt does;
- two prompts about two items: what chance would give, were labels independent of the item.

How far the labels follow the items is what the second is short of the third, 1 − D_prompts / D_chance: 1
where prompts never change a label, 0 where two prompts agree about an item no more often than about two
different ones. There, labels that have an order differ by the disagreement of their level of measurement
(`likeness`), so that a step between neighbours weighs little. Marginal shares say nothing of
it: labels that swap among the items leave them as they were. Where labels do change, `label_shifts` says
whether they change in a direction: whether a factor moves the share of a label further than its levels would
by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.agreement.disagreement import scale
from quaver.core.records import OF_SETS, Estimate, LabelSet
from quaver.estimation.grouped_items import (
    ItemGroups,
    above_floor,
    affordable,
    item_groups,
    level_deviations,
    tabulated,
    with_random_signs,
)
from quaver.estimation.intervals import Interval, adjusted, mean_within
from quaver.estimation.jackknife import Floats, Ratio, Resampling, Units, Weighted
from quaver.estimation.means import quotient
from quaver.estimation.statistic import Sampler, Statistic

Mask = NDArray[np.bool_]

_UNLABELLED: Final = ""
"""Stands for the label of an answer that has none."""


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
class AnswerTable:
    """One model's answers.

    Attributes:
        frame: A row a call, as text; a label outside the set is none.
        model: The model.
        labels: The label set.
        items: The items that calls are about.
        prompts: The variants, in the frame's order.
        strata: Answers of each decoding, shape (items, prompts, labels + 1); the last label is none. Calls
            that failed are not among them.
        groups: What is resampled.
        resampling: How intervals are made.
    """

    frame: pl.DataFrame
    model: str
    labels: LabelSet
    items: Sequence[str]
    prompts: Sequence[str]
    strata: tuple[Floats, ...]
    groups: ItemGroups
    resampling: Resampling

    @cached_property
    def alike(self) -> Floats | None:
        """How alike two labels are (`likeness`)."""
        return likeness(self.labels)

    @cached_property
    def units(self) -> Units:
        """What is resampled."""
        return self.groups.units(self.items)

    @cached_property
    def counts(self) -> Floats:
        """The answers of all decodings."""
        return np.asarray(sum(self.strata))

    @property
    def answered(self) -> AnswerTable:
        """The items and prompts with an answer."""
        some = self.of_items(np.asarray(self.counts.any((1, 2))))
        return some.of_prompts(np.flatnonzero(some.counts.any((0, 2))).tolist())

    @property
    def labelled(self) -> AnswerTable:
        """The items with a label."""
        return self.of_items(np.asarray(self.given.any(1)))

    @cached_property
    def given(self) -> Floats:
        """The labels that each item got, shape (items, labels)."""
        return np.asarray(self.counts.sum(1)[:, :-1])

    @cached_property
    def _true(self) -> pl.Series:
        """Each item's gold label."""
        known = self.frame.select("item", "gold").unique("item")
        items = pl.DataFrame({"item": self.items}, schema={"item": pl.String})
        return items.join(known, on="item", how="left", maintain_order="left")["gold"]

    @cached_property
    def gold(self) -> Floats:
        """Each item's gold label as ones and zeros, shape (items, labels); zeros where it is unknown."""
        return np.stack([(self._true == code).fill_null(value=False) for code in self.labels.codes], 1) * 1.0

    @cached_property
    def judged(self) -> Mask:
        """Which items have a gold label, one of the set or another."""
        return self._true.is_not_null().to_numpy()

    @cached_property
    def failed(self) -> Floats:
        """How many calls about each item failed."""
        failed = self.frame.filter(pl.col("status") == "error")
        return tabulated(failed, item=self.items)

    def of_items(self, mask: Mask) -> AnswerTable:
        """The answers about some items."""
        if mask.all():
            return self
        items = [item for item, kept in zip(self.items, mask, strict=True) if kept]
        strata = tuple(stratum[mask] for stratum in self.strata)
        return replace(self, items=items, strata=strata, frame=self.frame.filter(pl.col("item").is_in(items)))

    def of_prompts(self, prompts: Sequence[int]) -> AnswerTable:
        """The answers to some prompts, about the items that they were asked about."""
        names = [self.prompts[index] for index in prompts]
        strata = tuple(stratum[:, list(prompts)] for stratum in self.strata)
        chosen = replace(
            self, prompts=names, strata=strata, frame=self.frame.filter(pl.col("variant").is_in(names))
        )
        return chosen.of_items(np.asarray(chosen.counts.any((1, 2))))

    def number(self, name: str, method: str, under: Weighted | None, **given: Any) -> Estimate:
        """A number that is a function of item weights; None: it is undefined.

        Args:
            name: What it is called.
            method: In words.
            under: The function.
            **given: What else there is of `Statistic`; and ``together``, how many intervals are to hold at
                once (Bonferroni).
        """
        level = 1 - (1 - self.resampling.confidence_level) / given.pop("together", 1)
        resampling = replace(self.resampling, confidence_level=level)
        sampler = Sampler(self.units, resampling, where={"model": self.model})
        return sampler.estimated(Statistic(part=name, method=method, under=under, **given))

    def share(
        self, name: str, method: str, above: Floats | Mask, below: Floats | Mask, **given: Any
    ) -> Estimate:
        """A ratio of sums over items, from 0 to 1 if nothing else is ``given``."""
        ratio = Ratio(np.asarray(above, float)[:, None], np.asarray(below, float)[:, None])
        return self.number(name, method, ratio, **{"ends": (0.0, 1.0), **given})


def answer_tables(
    frame: pl.DataFrame, labels: LabelSet, group: str | None = None, seed: int = 0
) -> Iterator[AnswerTable]:
    """The answers of each model, counted."""
    groups, resampling = item_groups(frame, group), Resampling(seed=seed)
    flat = [name for name, kind in frame.schema.items() if not kind.is_nested()]
    texts = frame.select(pl.col(flat).cast(pl.String))
    missing = {"model": "", "decoding": "", "variant": "", "gold": None, "status": None, "label": None}
    absent = [pl.lit(value, pl.String).alias(name) for name, value in missing.items() if name not in flat]
    known = pl.col("label").is_in(list(labels.codes))
    calls = texts.with_columns(absent).with_columns(label=pl.when(known).then("label").otherwise(pl.lit("")))
    codes = (*labels.codes, _UNLABELLED)
    for (model,), part in calls.group_by("model", maintain_order=True):
        items = part["item"].unique().sort().to_list()
        prompts = part["variant"].unique(maintain_order=True).to_list()
        answered = part.filter(pl.col("status").ne_missing("error"))
        strata = [
            tabulated(answers, item=items, variant=prompts, label=codes)
            for _, answers in answered.group_by("decoding", maintain_order=True)
        ]
        empty = np.zeros((len(items), len(prompts), len(codes)))
        yield AnswerTable(
            part, str(model), labels, items, prompts, tuple(strata or [empty]), groups, resampling
        )


_HOW = "share of pairs of labels that differ: "
_FLIPS: Final = {
    "flips_repeats": (_HOW + "one item, one prompt, two repeats", "no prompt was asked twice"),
    "flips_prompts": (_HOW + "one item, two prompts", "one prompt only"),
    "flips_chance": (_HOW + "two items, two prompts", "one prompt or one item only"),
    "flips_agreement": ("1 − flips_prompts / flips_chance", "one prompt only, or every label is the same"),
    "flips_noise": (
        "flips_repeats / flips_prompts",
        "no prompt was asked twice, or no label changes with the prompt",
    ),
}
_ENDS: Final = {"flips_agreement": (-1.0, 1.0), "flips_noise": (0.0, np.inf)}
_DRAWS = 500


class Disagreements:
    """The shares of pairs of labels that differ, over decodings.

    Args:
        strata: The labels of each decoding, counted, shape (items, prompts, labels).
        alike: How alike two labels are, shape (labels, labels); None where only the same label agrees.
    """

    def __init__(self, strata: Sequence[Floats], alike: Floats | None = None) -> None:
        self._pairs = [
            (_Pairs(counts.sum(2, keepdims=True), None), _Pairs(counts, alike)) for counts in strata
        ]

    def repeats(self, weights: Floats) -> Floats:
        """Of two repeats of one prompt."""
        return self._share([[weights @ pairs.repeats for pairs in both] for both in self._pairs])

    def prompts(self, weights: Floats, *, repeated: bool = False) -> Floats:
        """Of two prompts about one item; of decodings in which prompts were asked twice, if ``repeated``."""
        used = [both for both in self._pairs if not repeated or both[0].repeats.any()]
        return self._share([[weights @ pairs.prompts for pairs in both] for both in used])

    def chance(self, weights: Floats) -> Floats:
        """Of two prompts about two items."""
        return self._share([[pairs.chance(weights) for pairs in both] for both in self._pairs])

    def from_others(self, weights: Floats) -> Floats:
        """Of a label of each prompt and one of another prompt."""
        return self._share([[weights @ pairs.with_others for pairs in both] for both in self._pairs])

    def apart(self, weights: Floats) -> Floats:
        """How much more each prompt's labels differ from the others' than these do among themselves."""
        counted = [[weights @ pairs.with_others for pairs in both] for both in self._pairs]
        whole, agree = np.sum(counted, 0)
        differ = whole - agree
        others, beside = (total.sum(1, keepdims=True) / 2 - total for total in (whole, differ))
        return quotient(differ, whole) - quotient(beside, others)

    def _share(self, counted: Sequence[Sequence[Floats]]) -> Floats:
        """One less the pairs that agree over all pairs, both summed over decodings."""
        if not counted:
            return np.asarray(np.nan)
        whole, agree = np.sum(counted, 0)
        return 1 - quotient(agree, whole)


class _Pairs:
    """Pairs of labels of one decoding that agree.

    Args:
        counts: How often each label was given, shape (items, prompts, labels).
        alike: How alike two labels are; None where only the same label agrees.

    Attributes:
        repeats: Those of two answers to one prompt, by item.
        prompts: Those of answers to two prompts, by item.
        with_others: Those of an answer to a prompt and one to another prompt, shape (items, prompts).
    """

    def __init__(self, counts: Floats, alike: Floats | None) -> None:
        self._counts, self._alike = counts, alike
        own = self._agreeing(counts, counts)
        every = counts.sum(1)
        self.repeats = (own - counts.sum(2)).sum(1)
        self.prompts = self._agreeing(every, every) - own.sum(1)
        self.with_others = self._agreeing(counts, every[:, None] - counts)

    def _agreeing(self, counts: Floats, others: Floats) -> Floats:
        return np.asarray((counts * like(others, self._alike)).sum(-1))

    def chance(self, weights: Floats) -> Floats:
        """Those of answers to two prompts about two items, under item weights."""
        by_prompt = np.tensordot(weights, self._counts, 1)
        every = by_prompt.sum(1)
        agreeing = self._agreeing(every, every) - self._agreeing(by_prompt, by_prompt).sum(1)
        return np.asarray(agreeing - weights**2 @ self.prompts)


def like(counts: Floats, alike: Floats | None) -> Floats:
    """Of each label, how many of those counted are like it."""
    return counts if alike is None else counts @ alike


def label_flips(table: AnswerTable) -> Iterator[Estimate]:
    """How far the labels of a model follow the items, and what changes them where they do not.

    ``flips_repeats``, ``flips_prompts`` and ``flips_chance``, D of the module's docstring;
    ``flips_agreement``, 1 − D_prompts / D_chance; ``flips_noise``, D_repeats / D_prompts where there are
    repeats; and ``label_in_use``, the share of the most frequent label (``label`` in the details).
    """
    strata = [stratum[:, :, :-1] for stratum in table.strata]
    plain, levelled = Disagreements(strata), Disagreements(strata, table.alike)

    def under(weights: Floats) -> Floats:
        agreement = 1 - quotient(levelled.prompts(weights), levelled.chance(weights), 1e-12)
        noise = quotient(levelled.repeats(weights), levelled.prompts(weights, repeated=True), 1e-12)
        shares = plain.repeats(weights), plain.prompts(weights), plain.chance(weights)
        return np.stack([*shares, agreement, np.broadcast_to(noise, agreement.shape)], 1)

    everyone = np.ones((1, len(table.items)))
    labelled = [
        table.prompts[place] for place in np.flatnonzero(table.counts[:, :, :-1].any((0, 2))).tolist()
    ]
    prompts, codes = max(2, len(labelled)), max(2, len(table.labels.codes))
    worst = prompts / (prompts - 1) * (1 - 1 / min(prompts, codes))  # no more pairs of an item can differ
    differ, chance = float(levelled.prompts(everyone)[0]), float(levelled.chance(everyone)[0])
    spreads = {
        "flips_prompts": partial(mean_within, high=worst),
        "flips_agreement": short_of(differ, chance, worst),
    }
    nothing = None if labelled else "no answer has a label"
    for column, (name, (method, reason)) in enumerate(_FLIPS.items()):
        yield table.number(
            name,
            method,
            under if labelled else None,
            column=column,
            reason=nothing or reason,
            n=table.units.count,
            ends=_ENDS.get(name, (0.0, 1.0)),
            spread=spreads.get(name),
            details={"prompts": len(labelled), "level": table.labels.level},
        )
    totals = table.given.sum(0)
    most = int(totals.argmax())
    used: dict[str, Any] = {}
    if labelled:
        used = {"label": table.labels.codes[most], "labels": int((totals > 0).sum())}
    if len(labelled) == 1:
        used["prompt"] = labelled[0]
    shares = table.given[:, most], table.given.sum(1)
    method = "share of the most frequent label"
    yield table.share("label_in_use", method, *shares, details=used, reason=nothing)


def short_of(share: float, chance: float, worst: float = 1.0) -> Callable[[float, float], Interval]:
    """Where 1 − share / chance may lie, by the share of further items that may differ."""

    def within(value: float, further: float) -> Interval:
        if not chance > 0:
            return Interval(-1.0, 1.0)
        ends = mean_within(share, further, 0.0, worst)
        return Interval(max(-1.0, 1 - ends.high / chance), 1 - ends.low / chance)

    return within


def label_shifts(table: AnswerTable, factors: Sequence[str]) -> list[Estimate]:
    """How far each factor moves the share of a label: the largest less the smallest over its levels.

    Of the label that moves most. In the details: ``floor``, ``floor_high`` and ``p``, when what each item (or
    group) adds to the levels' shares gets a sign at random, so that it may well matter to an item which level
    is asked but not in one direction for all items; ``p_holm`` is adjusted for the model's factors. The
    interval reaches 0 where ``p`` is above its tail. ``lowest`` and ``highest`` are the levels between which
    it moves, and ``shares`` has that of each level.
    """
    codes = table.labels.codes
    labelled = table.frame.filter(pl.col("label").is_in(list(codes)))
    shifts = []
    for factor in factors:
        answers = labelled.filter(pl.col(factor).is_not_null())
        levels = answers[factor].unique().sort().to_list()
        if len(levels) > 1:
            counts = tabulated(answers, **{"item": table.items, factor: levels, "label": codes})
            shifts.append(_shift(table, factor, levels, counts))
    return adjusted(shifts)


def _shift(table: AnswerTable, factor: str, levels: Sequence[str], counts: Floats) -> Estimate:
    """How far one factor moves the share of a label, of labels counted by item and level."""
    totals = counts.sum(0)
    ranges = _ranges(totals)
    label = int(np.argmax(ranges))
    shares = totals[:, label] / np.maximum(totals.sum(1), 1)
    apart = level_deviations(counts, counts.sum(2, keepdims=True))
    draws = with_random_signs(apart, table.units, affordable(_DRAWS, apart.size), table.resampling.seed)
    noise = np.ptp(draws, 1).max(1)
    shift = table.number(
        "label_shift",
        "largest less smallest share of the label that moves most, over the factor's levels",
        lambda weights: _ranges(np.tensordot(weights, counts, 1))[:, [label]],
        where={"factor": factor, "label": table.labels.codes[label]},
        n=table.units.count,
        ends=(0.0, 1.0),
        details={
            **above_floor(float(ranges[label]), noise, table.resampling.confidence_level),
            "lowest": levels[int(shares.argmin())],
            "highest": levels[int(shares.argmax())],
            "shares": dict(zip(levels, shares.tolist(), strict=True)),
        },
    )
    return holding_zero(shift, table.resampling.tail)


def holding_zero(estimate: Estimate, tail: float) -> Estimate:
    """An estimate whose interval holds 0 where a test of no difference does not reject it."""
    if estimate.low is None or estimate.details["p"] <= tail:
        return estimate
    return replace(estimate, low=min(estimate.low, 0.0))


def _ranges(totals: Floats) -> Floats:
    """The largest less the smallest share of each label over levels; totals of shape (…, levels, labels)."""
    shares = quotient(totals, totals.sum(-1, keepdims=True))
    with np.errstate(all="ignore"):
        return np.asarray(np.nan_to_num(np.nanmax(shares, -2) - np.nanmin(shares, -2)))
