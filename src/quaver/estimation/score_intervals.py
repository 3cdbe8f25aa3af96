"""Intervals of contrasts by inverting a score test: all values that it does not reject."""

from __future__ import annotations

import numpy as np
from scipy import special

from quaver.estimation.bootstrap import Floats
from quaver.estimation.score_tests import ScoreTest

_DOUBLINGS = 14
"""An end that many doublings of a standard error away is taken for infinite, or for the end of the range."""
_STEPS = 60
_NEAR = 1e-5
"""How well an end is known, as a share of its distance from the value."""


def score_interval(test: ScoreTest, confidence_level: float) -> tuple[Floats, Floats]:
    """The lower and upper ends of each column's interval.

    The value is always inside; an end is the first value away from it that is rejected, or the end of what is
    possible.

    Args:
        test: The test, see `quaver.estimation.score_tests`.
        confidence_level: Of the interval.

    Returns:
        Ends, each of shape (columns,); NaN where the value is.

    56 of 70 against 48 of 80. At a difference of 0.0528 least squares would give 0.7215 and 0.6687, and
    1.96 · √(0.7215 · 0.2785 / 70 + 0.6687 · 0.3313 / 80) = 0.2 − 0.0528:

    >>> from quaver.estimation.score_tests import LinearTest
    >>> group = np.repeat([1.0, 0.0], [70, 80])
    >>> label = np.concatenate([np.arange(70) < 56, np.arange(80) < 48])[:, None] * 1.0
    >>> test = LinearTest(np.stack([np.ones(150), group], 1), label, np.array([0.0, 1.0]))
    >>> [float(end[0].round(4)) for end in score_interval(test, 0.95)]
    [0.0528, 0.3344]
    """
    quantile = -float(special.ndtri((1 - confidence_level) / 2))
    low, high = (_end(test, quantile, side, edge) for side, edge in zip((-1.0, 1.0), test.range, strict=True))
    return low, high


def _end(test: ScoreTest, quantile: float, side: float, edge: float) -> Floats:
    """The first value on one side of each column's value that is rejected."""
    known = np.isfinite(test.value)
    value = np.where(known, test.value, 0.0)
    inside, under = value, np.full(value.size, -quantile)
    step = np.where(known & (test.error > 0), test.error, 1.0)
    for _ in range(_DOUBLINGS):
        outside = side * np.minimum(side * value + step, side * edge)
        over = np.abs(test.statistic(outside)) - quantile
        within = known & (over < 0) & (side * outside < side * edge)
        if not within.any():
            break
        inside, under = np.where(within, outside, inside), np.where(within, over, under)
        step = np.where(within, 2 * step, step)
    endless = over < 0
    for number in range(_STEPS):
        share = np.clip(under / np.minimum(under - over, -1e-300), 0.02, 0.98) if number % 3 < 2 else 0.5
        middle = inside + share * (outside - inside)
        found = np.abs(test.statistic(middle)) - quantile
        within = found < 0
        inside, under = np.where(within, middle, inside), np.where(within, found, under)
        outside, over = np.where(within, outside, middle), np.where(within, over, found)
        if (np.abs(outside - inside) <= _NEAR * np.abs(outside - value))[known & ~endless].all():
            break
    end = np.where(endless, edge, (inside + outside) / 2)
    return np.asarray(np.where(known, end, np.nan))
