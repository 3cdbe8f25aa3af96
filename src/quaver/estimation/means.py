"""Means over items and ratios of sums, with their draws: what shares, rates and entropies have in common."""

from __future__ import annotations

import numpy as np

from quaver.estimation.bootstrap import Floats, Statistic, Units

__all__ = ["differing", "over_strata", "ratio"]


def ratio(numerator: Floats, denominator: Floats) -> Statistic:
    """The statistic Σ w·numerator / Σ w·denominator, column by column; NaN where nothing is below.

    Args:
        numerator: Shape (items, statistics).
        denominator: The same shape, or (items, 1).
    """

    def statistic(weights: Floats) -> Floats:
        below = weights @ denominator
        return np.asarray(np.where(below > 0, weights @ numerator / np.where(below > 0, below, 1), np.nan))

    return statistic


def over_strata(statistic: Statistic) -> Statistic:
    """The mean of a statistic's columns, over those that are defined in the sample."""

    def mean(weights: Floats) -> Floats:
        values = statistic(weights)
        defined = np.isfinite(values)
        count = defined.sum(1)
        total = np.where(defined, values, 0.0).sum(1)
        return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan)[:, None])

    return mean


def differing(values: Floats, units: Units) -> int:
    """How many units hold an item whose value is not the commonest one; NaN items do not count.

    >>> differing(np.array([1.0, 1.0, 0.5, np.nan]), Units(4))
    1
    """
    known = np.isfinite(values)
    if not known.any():
        return 0
    distinct, counts = np.unique(values[known], return_counts=True)
    return units.touched(known & (values != distinct[counts.argmax()]))
