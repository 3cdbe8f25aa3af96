"""The interval of a mean whose gold labels were drawn from strata: each stratum's own limits, put together.

A heavy stratum whose gold labels are all alike seems to add nothing to the variance, although its other items
need not be alike. Its exact limits say how far they may differ.
"""

from __future__ import annotations

import numpy as np

from quaver.correction.gold_sample import GoldSample
from quaver.estimation.bootstrap import Floats
from quaver.estimation.intervals import Interval, clopper_pearson, effective


def strata_interval(
    value: float,
    sample: GoldSample,
    contributions: Floats,
    confidence_level: float,
    bounded: tuple[float, float],
) -> Interval:
    """The interval of a mean, by the limits of its strata (Donner & Zou 2012).

    With W_h a stratum's share of the items, m_h the mean of its gold labels, and (l_h, u_h) its interval, the
    mean reaches from value − √Σ (W_h r_h (m_h − l_h))² to value + √Σ (W_h r_h (u_h − m_h))². r_h is how much
    narrower the correction makes the stratum's part of the error than the gold labels alone do, where either
    counts one gold label more that nothing foresaw.

    Args:
        value: The estimate.
        sample: The items, with strata.
        contributions: What each item adds to the error.
        confidence_level: The interval's level.
        bounded: The least and the largest outcome.

    Of a stratum of 50 gold labels half are 1, of one that is as large all 50 are 0. The second may yet hold
    up to 7.1% (Clopper & Pearson), half of which counts:

    >>> outcome = np.full((1000, 1), np.nan)
    >>> outcome[:50, 0], outcome[500:550, 0] = np.arange(50) % 2, 0.0
    >>> strata = np.repeat([0, 1], 500)
    >>> sample = GoldSample(np.ones((1000, 1)), outcome, np.full(1000, 0.1), np.ones(1000), strata=strata)
    >>> each = np.zeros(1000)
    >>> each[:50] = 0.5 / 50 * 0.5
    >>> low, high = strata_interval(0.25, sample, each, 0.95, (0.0, 1.0))
    >>> round(low, 3), round(high, 3)
    (0.181, 0.328)
    """
    assert sample.strata is not None
    weights, where, outcome = sample.gold_weights, sample.gold_strata, sample.outcome[sample.gold, 0]
    size = np.bincount(where).astype(np.float64)
    share = np.bincount(where, weights)
    mean = np.bincount(where, weights * outcome) / share
    square = np.bincount(where, weights * (outcome - mean[where]) ** 2) / share / np.maximum(size - 1, 1.0)
    ends = np.array(
        [_stratum_interval(*one, confidence_level, bounded) for one in zip(mean, square, size, strict=True)]
    )
    missed = (share * (bounded[1] - bounded[0]) / size) ** 2
    made = np.bincount(sample.strata, contributions**2, minlength=size.size)
    narrower = (made + missed) / (share**2 * square + missed)
    down, up = (np.sqrt(((share * (ends[:, end] - mean)) ** 2 * narrower).sum()) for end in (0, 1))
    return Interval(max(float(value - down), bounded[0]), min(float(value + up), bounded[1]))


def _stratum_interval(
    mean: float, variance: float, size: float, confidence_level: float, bounded: tuple[float, float]
) -> Interval:
    low, high = bounded
    if variance > 1e-24:
        return effective(mean, variance, size - 1, confidence_level, bounded)
    other = clopper_pearson(0, int(size), confidence_level).high
    return Interval(mean - other * (mean - low), mean + other * (high - mean))
