"""Means over items and ratios of sums, with their draws: what shares, rates and entropies have in common."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaver.estimation.bootstrap import Floats, Units, Weighted
from quaver.estimation.cell import Cell
from quaver.estimation.intervals import mean_within
from quaver.estimation.statistic import Statistic


def ratio(numerator: Floats, denominator: Floats) -> Weighted:
    """The statistic Σ w·numerator / Σ w·denominator, column by column; NaN where nothing is below.

    Args:
        numerator: Shape (items, statistics).
        denominator: The same shape, or (items, 1).
    """

    def statistic(weights: Floats) -> Floats:
        below = weights @ denominator
        return np.asarray(np.where(below > 0, weights @ numerator / np.where(below > 0, below, 1), np.nan))

    return statistic


def over_strata(statistic: Weighted) -> Weighted:
    """The mean of a statistic's columns, over those that are defined in the sample."""

    def mean(weights: Floats) -> Floats:
        values = statistic(weights)
        defined = np.isfinite(values)
        count = defined.sum(1)
        total = np.where(defined, values, 0.0).sum(1)
        return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan)[:, None])

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


def share_of(
    cell: Cell, above: NDArray[Any], below: NDArray[Any], said: Statistic, *, low: float = 0.0
) -> Statistic:
    """A ratio of sums over items, Σ above / Σ below, as a statistic: a share of answers, say.

    Args:
        cell: The cell.
        above: A number an item, at most as large as the one below it.
        below: A number an item, 0 where the item does not count.
        said: What is said of it. Its ``n`` is how many units count, if left out.
        low: The smallest value that one item's ratio can have; the largest is 1.

    Returns:
        The statistic; undefined where no item counts.
    """
    above, below = np.asarray(above, np.float64), np.asarray(below, np.float64)
    counted = below > 0
    n = cell.units.touched(counted) if said.n is None else said.n
    if not counted.any():
        return replace(said, n=n)
    own = np.where(counted, above / np.where(counted, below, 1), np.nan)
    return replace(
        said,
        n=n,
        under=ratio(above[:, None], below[:, None]),
        differing=differing(own, cell.units),
        ends=(low, 1.0),
        spread=partial(mean_within, low=low),
        values=own,
    )
