"""Intervals from bootstrap draws, the exact bound where a bootstrap has nothing to say, and estimates.

A bootstrap of items that all agree gives the same value every time. That is no evidence of certainty:
an interval here never has zero width. Where the draws do not vary, the interval comes from an exact
binomial bound on the share of units that differ from the rest, and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from quaver.estimation.bootstrap import Floats, Units

FEW = 15
"""Below this many differing units the interval is flagged: ``benchmarks/coverage.py`` shows why."""


class Kept(NamedTuple):
    """The draws behind an estimate's interval.

    Attributes:
        values: The statistic in each bootstrap sample.
        jackknife: With one unit left out, of all units or of a sample of them.
        units: What was resampled.
        moves: The statistic's.
    """

    values: Floats
    jackknife: Floats
    units: Units
    moves: Callable[[float], Interval] | None = None


class Interval(NamedTuple):
    """Two ends."""

    low: float
    high: float


def percentile(values: Floats, tail: float) -> Interval | None:
    """The percentile interval of bootstrap values; undefined samples (NaN) are left out.

    Efron (1979). None where fewer than two samples are defined.

    >>> percentile(np.arange(101.0), 0.025)
    Interval(low=2.5, high=97.5)
    """
    defined = values[np.isfinite(values)]
    if defined.size < 2:
        return None
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(float(low), float(high))


def bca(
    point: float, values: Floats, jackknife: Floats, tail: float, units: int | None = None
) -> Interval | None:
    """The bias-corrected and accelerated interval (Efron 1987, Journal of the ASA 82, 171-185).

    With z0 the normal quantile of the share of draws below the point (ties count half) and a the
    jackknife's acceleration, the ends are the quantiles of the draws at Φ(z0 + (z0 ± z)/(1 − a(z0 ± z))).

    Args:
        point: The estimate.
        values: Bootstrap values; NaN ones are left out.
        jackknife: Leave-one-out values, of all units or of a sample of them.
        tail: What lies outside on each side: 0.025 for 95%.
        units: How many units there are, where ``jackknife`` holds a sample.

    Returns:
        None where fewer than two draws are defined, or the acceleration is too strong for the formula.
    """
    defined = values[np.isfinite(values)]
    left = jackknife[np.isfinite(jackknife)]
    if defined.size < 2 or not left.size:
        return None
    # Sums of the same numbers in another order differ in the last digit, and are ties all the same.
    near = 1e-12 * max(1.0, abs(point))
    below = np.mean(defined < point - near) + np.mean(np.abs(defined - point) <= near) / 2
    edge = 0.5 / defined.size
    z0 = scipy.special.ndtri(np.clip(below, edge, 1 - edge))
    influence = left.mean() - left
    square = float((influence**2).sum())
    skew = float((influence**3).sum()) / (6 * square**1.5) if square > 0 else 0.0
    acceleration = skew * np.sqrt(left.size / (units or left.size))
    z = z0 + scipy.special.ndtri(np.array([tail, 1 - tail]))
    if (1 - acceleration * z <= 0).any():
        return None
    low, high = np.quantile(defined, scipy.special.ndtr(z0 + z / (1 - acceleration * z)))
    return Interval(float(low), float(high))


def clopper_pearson(found: int, n: int, confidence_level: float = 0.95) -> Interval:
    """The exact binomial interval of a share (Clopper & Pearson 1934, Biometrika 26, 404-413).

    Args:
        found: How many of them.
        n: Out of how many; 0 gives (0, 1).
        confidence_level: Its level.

    >>> [round(end, 4) for end in clopper_pearson(0, 100)]  # 1 - 0.025 ** (1 / 100)
    [0.0, 0.0362]
    """
    tail = (1 - confidence_level) / 2
    low = float(scipy.special.betaincinv(found, n - found + 1, tail)) if found > 0 else 0.0
    high = float(scipy.special.betaincinv(found + 1, n - found, 1 - tail)) if found < n else 1.0
    return Interval(low, high)


def mean_within(value: float, share: float, low: float = 0.0, high: float = 1.0) -> Interval:
    """Where a mean may lie, when all units gave ``value`` and up to ``share`` of others may give anything.

    >>> mean_within(1.0, 0.25)
    Interval(low=0.75, high=1.0)
    """
    return Interval(value - share * (value - low), value + share * (high - value))
