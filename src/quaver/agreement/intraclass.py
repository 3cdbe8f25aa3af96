"""The intraclass correlation of numbers that raters give, with the interval of the one that it cites."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import fdtri

from quaver.agreement.ratings import Ratings, coefficient
from quaver.estimation.grouped_items import agreement_of_sums
from quaver.estimation.intervals import Interval
from quaver.estimation.jackknife import Floats
from quaver.estimation.statistic import Statistic


@coefficient(source="Shrout & Fleiss (1979), Psychological Bulletin 86, 420-428; McGraw & Wong (1996)")
def intraclass_correlation(ratings: Ratings) -> Statistic:
    """ICC(2,1): how far single raters, drawn at random, give the same numbers.

    (MS_i − MS_e) / (MS_i + (k − 1) MS_e + k (MS_r − MS_e) / n), of the mean squares of items, raters and
    error in a two-way analysis of variance of k raters' numbers of n items; no less than −1 / (k − 1), below
    which no correlation of k raters is. Its interval is McGraw & Wong's, from two F distributions, or the
    jackknife's where groups of items are resampled or all raters agree. Items that a rater left out do not
    count. Undefined at the nominal and ordinal level, of fewer than two raters or two such items, and where
    all numbers are the same (``no variation``).

    Shrout & Fleiss (1979), table 4, of the six targets and four judges of table 2: 0.29

    >>> from quaver.agreement import intraclass_correlation
    >>> a = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> one = intraclass_correlation(a, "interval")
    >>> round(one.value, 2), round(one.low, 2), round(one.high, 2)
    (0.29, 0.02, 0.76)
    """
    cell, codes = ratings.cell, ratings.codes
    statistic = ratings.said("ICC(2,1), two-way random raters, absolute agreement of single ones")
    if ratings.values is None or ratings.level not in ("interval", "ratio"):
        return replace(statistic, n=0, reason="labels are not numbers at this level of measurement")
    codes = codes[:, (codes >= 0).any(0)]
    full = np.asarray((codes >= 0).all(1))
    lost = int(((codes >= 0).any(1) & ~full).sum())
    excluded = {**statistic.excluded, "not rated by all raters": lost}
    statistic = replace(statistic, excluded=excluded, n=full)
    k = codes.shape[1]
    if k < 2 or full.sum() < 2:
        return replace(statistic, reason="fewer than two raters" if k < 2 else "fewer than two rated by all")
    numbers = ratings.values[np.maximum(codes, 0)]
    # Their own middle is taken off, so that squares of large numbers keep their digits.
    numbers = np.where(full[:, None], numbers - numbers[full].mean(), 0.0)
    sums = np.column_stack([full, numbers.sum(1) ** 2, (numbers**2).sum(1), numbers])

    def under(weights: Floats) -> Floats:
        n, items, squares, *raters = (weights @ sums).T
        correlation = agreement_of_sums(n, np.stack(raters, 1), items, squares)
        return np.asarray(np.maximum(correlation, -1 / (k - 1))[:, None])

    interval = None
    if cell.clusters is None:
        ends = _interval(numbers[full], float(under(np.ones((1, len(full))))[0, 0]), ratings)
        interval = ends and (ends, "McGraw & Wong's interval")
    return replace(statistic, under=under, ends=(-1 / (k - 1), 1.0), reason="no variation", interval=interval)


def _interval(numbers: Floats, value: float, ratings: Ratings) -> Interval | None:
    """McGraw & Wong's interval of ICC(A,1) (1996, table 7), with Satterthwaite's degrees of freedom."""
    n, k = numbers.shape
    means, raters = numbers.mean(1), numbers.mean(0)
    among, between = k * means.var(ddof=1), n * raters.var(ddof=1)
    error = ((numbers - means[:, None] - raters + numbers.mean()) ** 2).sum() / ((n - 1) * (k - 1))
    if not value < 1 - 1e-12:  # undefined, or no rater differs
        return None
    a, b = k * value / (n * (1 - value)), 1 + k * value * (n - 1) / (n * (1 - value))
    parts = (a * between) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1))
    freedom = (a * between + b * error) ** 2 / parts if parts > 0 else (n - 1) * (k - 1)
    half = (1 + ratings.cell.resampling.confidence_level) / 2
    below, above = fdtri(n - 1, freedom, half), fdtri(freedom, n - 1, half)
    rest = k * between + (k * n - k - n) * error
    low = n * (among - below * error) / (below * rest + n * among)
    high = n * (above * among - error) / (rest + n * above * among)
    return Interval(*np.clip((low, high), -1 / (k - 1), 1.0).tolist())
