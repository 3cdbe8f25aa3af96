"""Means over items and ratios of sums, with their draws: what shares, rates and entropies have in common."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import IntervalWarning
from quaver.estimation.bootstrap import Floats, Units, Weighted
from quaver.estimation.intervals import clopper_pearson, mean_within
from quaver.estimation.statistic import Cell, Statistic

_SURPRISE = 4.0
"""How many times an interval's half width the exact bound must be for `none_goes_far` to warn."""


def quotient(above: NDArray[Any], below: NDArray[Any], least: float = 0.0) -> Floats:
    """One number divided by another, place by place; NaN where what is below is not more than the least.

    >>> quotient(np.array([1.0, 2.0]), np.array([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    return np.asarray(np.where(below > least, above / np.where(below > least, below, 1), np.nan))


def ratio(numerator: Floats, denominator: Floats) -> Weighted:
    """The statistic Σ w·numerator / Σ w·denominator, column by column; NaN where nothing is below."""

    def statistic(weights: Floats) -> Floats:
        return quotient(weights @ numerator, weights @ denominator)

    return statistic


def over_strata(statistic: Weighted) -> Weighted:
    """The mean of a statistic's columns, over those that are defined in the sample."""

    def mean(weights: Floats) -> Floats:
        values = statistic(weights)
        defined = np.isfinite(values)
        count = defined.sum(1)
        total = np.where(defined, values, 0.0).sum(1)
        return quotient(total, count)[:, None]

    return mean


def differing(values: Floats, units: Units) -> int:
    """How many units hold an item whose value is not the most frequent one; NaN items do not count.

    >>> differing(np.array([1.0, 1.0, 0.5, np.nan]), Units(4))
    1
    """
    known = np.isfinite(values)
    if not known.any():
        return 0
    distinct, counts = np.unique(values[known], return_counts=True)
    return units.touched(known & (values != distinct[counts.argmax()]))


def none_goes_far(values: Floats, unit: str, level: float) -> tuple[IntervalWarning, ...]:
    """A warning where only stray answers differ, so that an item that differs altogether would be a surprise.

    Shares near an end are moved most by the few items whose answers are mostly at the other end. A sample
    with none of them looks as if there were none: its interval is far narrower than what an exact bound
    allows them, by more than ``_SURPRISE`` times.

    >>> none_goes_far(np.array([1.0] * 90 + [0.9] * 10), "item", 0.95)[0].partition(":")[0]
    'no item is far from the others, although some answers are'
    >>> none_goes_far(np.array([1.0] * 90 + [0.9] * 9 + [0.0]), "item", 0.95)
    ()
    """
    known = values[np.isfinite(values)]
    if known.size < 2:
        return ()
    loss = np.abs(known - np.round(known.mean()))
    if not loss.any() or loss.max() >= 0.5:
        return ()
    bound = clopper_pearson(0, known.size, level).high
    if bound <= _SURPRISE * 1.96 * float(known.std(ddof=1)) / known.size**0.5:
        return ()
    return (
        IntervalWarning(
            f"no {unit} is far from the others, although some answers are: up to {bound:.2g} of all may be, "
            "which the interval does not allow for"
        ),
    )


def share_of(
    cell: Cell, above: NDArray[Any], below: NDArray[Any], statistic: Statistic, *, low: float = 0.0
) -> Statistic:
    """A ratio of sums over items, Σ above / Σ below, as a statistic: a share of answers, say.

    Returns:
        The statistic; undefined where no item counts.
    """
    above, below = np.asarray(above, np.float64), np.asarray(below, np.float64)
    counted = below > 0
    n = cell.units.touched(counted) if statistic.n is None else statistic.n
    if not counted.any():
        return replace(statistic, n=n)
    own = np.where(counted, above / np.where(counted, below, 1), np.nan)
    return replace(
        statistic,
        n=n,
        under=ratio(above[:, None], below[:, None]),
        differing=differing(own, cell.units),
        ends=(low, 1.0),
        spread=partial(mean_within, low=low),
        values=own,
        warnings=(*statistic.warnings, *none_goes_far(own, "item", cell.resampling.confidence_level)),
    )


def _surprise(counts: Floats) -> Floats:
    return np.asarray(counts * np.log(np.where(counts > 0, counts, 1.0)))


def entropy(counts: Floats) -> Floats:
    """Plug-in entropy of label counts in nats: −Σ_v p_v ln p_v with p_v = n_v / Q.

    Returns:
        One number fewer axes; NaN where Q is 0.

    >>> entropy(np.array([[2.0, 2.0], [4.0, 0.0]])).round(4).tolist()
    [0.6931, 0.0]
    """
    q = counts.sum(-1)
    inner = np.log(np.maximum(q, 1)) - _surprise(counts).sum(-1) / np.maximum(q, 1)
    return np.asarray(np.where(q > 0, np.maximum(inner, 0.0), np.nan))


def jackknifed_entropy(counts: Floats) -> Floats:
    """Entropy in nats with the bias of few predictions taken off by the jackknife.

    Q·H − (Q − 1)/Q · Σ_v n_v H₋ᵥ, where H₋ᵥ is the entropy without one prediction of v. It is 0 where
    all predictions agree, and may exceed ln C for a single item: its use is the mean over items.
    Source: Zahl (1977), Jackknifing an index of diversity, Ecology 58, 907-913.

    Returns:
        One number fewer axes; NaN where Q is below 2.

    Two predictions that differ: 2·ln 2 − ½·(0 + 0):

    >>> jackknifed_entropy(np.array([[1.0, 1.0], [2.0, 0.0]])).round(4).tolist()
    [1.3863, 0.0]
    """
    q = counts.sum(-1)
    safe = np.maximum(q, 2)
    total = _surprise(counts).sum(-1)
    loss = (counts * (_surprise(counts) - _surprise(np.maximum(counts - 1, 0)))).sum(-1)
    without = safe * np.log(safe - 1) - (safe * total - loss) / (safe - 1)
    full = np.log(safe) - total / safe
    found = safe * full - (safe - 1) / safe * without
    return np.asarray(np.where(q >= 2, np.where((counts > 0).sum(-1) > 1, found, 0.0), np.nan))
