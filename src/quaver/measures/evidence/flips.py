"""Flips: how often a label changes when the same prompt is asked again, when another is, and with the item.

Every one of these is the share of pairs of labels that differ. Pairs are of one model and one decoding:

- two repeats of one prompt about one item: what is left when nothing is changed (noise);
- two prompts about one item: what a change of the prompt does;
- two prompts about two items: what chance would give, were labels independent of the item.

How far the labels follow the items is what the second is short of the third, 1 − D_prompts / D_chance: 1
where prompts never change a label, 0 where two prompts agree about an item no more often than about two
different ones. There, labels that have an order differ by the disagreement of their level of measurement
(`answer_table.likeness`), so that a step between neighbours weighs little. Marginal shares say nothing of
it: labels that swap among the items leave them as they were. Where labels do change, `label_shifts` says
whether they change in a direction: whether a factor moves the share of a label further than its levels would
by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl

from quaver.core.records import Estimate
from quaver.estimation.grouped_items import (
    above_floor,
    affordable,
    level_deviations,
    tabulated,
    with_random_signs,
)
from quaver.estimation.intervals import Interval, adjusted, mean_within
from quaver.estimation.jackknife import Floats
from quaver.estimation.means import quotient
from quaver.measures.evidence.answer_table import AnswerTable

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
