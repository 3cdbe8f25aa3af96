"""Confidences in bins, and how far each bin's confidence is from its share of right answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Ints
from quaver.estimation.measure_input import Graded

Binning = Literal["width", "mass"]
"""Bins of one width, or bins that hold equally many answers."""

_EDGE = 1e-9
"""How far beyond its edge a confidence still counts as on it: 0.1 + 0.2 is on the edge 0.3."""


class Bins(NamedTuple):
    """Which bin each answer is in, and where the bins end.

    Attributes:
        of: Each answer's bin, from 0.
        edges: Their ends, one more than there are bins; bin k is (edges[k], edges[k + 1]].
    """

    of: Ints
    edges: Floats


def assigned(confidence: Floats, bins: int = 10, binning: Binning = "width") -> Bins:
    """Put confidences into bins (a, b]; 0 belongs to the first.

    A confidence of 0.1 × 3 is 0.30000000000000004 in floating point, and is in (0.2, 0.3] all the same:

    >>> assigned(np.array([0.0, 0.1, 0.1 * 3, 0.7, 0.70001, 1.0])).of
    array([0, 0, 2, 6, 7, 9])
    >>> assigned(np.array([0.2, 0.5, 0.6, 0.9]), 2, "mass").of
    array([0, 0, 1, 1])
    """
    if not isinstance(bins, (int, np.integer)) or bins < 1:
        raise MeasureError("not a number of bins", where="bins", expected="1 or more", found=repr(bins))
    if binning == "width":
        of = np.ceil(confidence * bins - _EDGE * bins).astype(np.int64) - 1
        return Bins(np.clip(of, 0, bins - 1), np.linspace(0, 1, bins + 1))
    if binning != "mass":
        raise MeasureError("unknown binning", where="binning", expected="width or mass", found=repr(binning))
    shares = np.arange(1, bins) / bins
    inner = np.unique(np.quantile(confidence, shares)) if confidence.size else np.zeros(0)
    edges = np.concatenate([[0.0], inner, [1.0]])
    return Bins(np.searchsorted(inner + _EDGE, confidence, "left").astype(np.int64), edges)


def binned(graded: Graded, bins: Bins, values: Floats) -> Floats:
    """The sum of a value by item and bin, shape (items, bins)."""
    size = bins.edges.size - 1
    positions = graded.item * size + bins.of
    sums = np.bincount(positions, values, minlength=graded.items * size)
    return sums.reshape(graded.items, size).astype(np.float64)


def bias_corrected(graded: Graded, bins: Bins) -> float:
    """Expected calibration error less the bias that its absolute values bring (see `debiased_ece`)."""
    n = np.bincount(bins.of, minlength=bins.edges.size - 1).astype(np.float64)
    share = np.bincount(bins.of, graded.right, n.size) / np.maximum(n, 1)
    gaps = np.bincount(bins.of, graded.confidence - graded.right, n.size).astype(np.float64)
    return debiased_ece(gaps, n, binned(graded, bins, graded.right - share[bins.of]))


def debiased_ece(gaps: Floats, n: Floats, residuals: Floats) -> float:
    """Expected calibration error less the bias that its absolute values bring, from sums by bin.

    Σ_b (n_b / n)·(2·|d_b| − E|N(d_b, s_b²)|), with d_b a bin's mean confidence less its share of right
    answers and s_b its standard error: the bias is what the same sampling error does to |d_b| once more
    (Kumar, Liang & Ma 2019, Verified uncertainty calibration, NeurIPS, section 4.2 and appendix; the mean of
    the folded normal stands in for their sampling). Where confidences are perfect it leaves 2 − √2 = 0.59 of
    the bias, and ever less where bins are further off than their noise. It is not cut off at 0.

    One bin of 4 answers, half of them right, confidence 0.5: d = 0, s = 0.25, so −0.25·√(2/π):

    >>> round(debiased_ece(np.array([0.0]), np.array([4.0]), np.array([[.5], [-.5], [.5], [-.5]])), 6)
    -0.199471
    """
    full = n > 0
    d = np.abs(gaps[full]) / n[full]
    s = np.sqrt((residuals[:, full] ** 2).sum(0)) / n[full]
    at = d / np.where(s > 0, s, 1)
    folded = s * np.sqrt(2 / np.pi) * np.exp(-(at**2) / 2) + d * (1 - 2 * special.ndtr(-at))
    corrected = np.where(s > 0, 2 * d - folded, d)
    return float((n[full] * corrected).sum() / n.sum())


def brier_parts(graded: Graded, bins: Bins) -> dict[str, float]:
    """The Brier score in parts: reliability − resolution + uncertainty + variance − covariance within bins.

    Murphy (1973), Journal of Applied Meteorology 12, 595-600; with confidences that differ inside a bin the
    sum needs the last two: Stephenson, Coelho & Jolliffe (2008), Weather and Forecasting 23, 752-757.

    Returns:
        ``brier`` and its parts; ``brier`` is their sum to rounding.
    """
    n = np.bincount(bins.of, minlength=bins.edges.size - 1).astype(np.float64)
    safe = np.maximum(n, 1)
    forecast = np.bincount(bins.of, graded.confidence, minlength=n.size) / safe
    seen = np.bincount(bins.of, graded.right, minlength=n.size) / safe
    base, total = graded.right.mean(), n.sum()
    within = graded.confidence - forecast[bins.of]
    return {
        "brier": float(((graded.confidence - graded.right) ** 2).mean()),
        "reliability": float((n * (forecast - seen) ** 2).sum() / total),
        "resolution": float((n * (seen - base) ** 2).sum() / total),
        "uncertainty": float(base * (1 - base)),
        "variance_within_bins": float((within**2).mean()),
        "covariance_within_bins": float(2 * (within * (graded.right - seen[bins.of])).mean()),
    }


def calibrated_draws(
    graded: Graded, bins: Bins, statistic: Callable[[Floats], Floats], draws: int, seed: int
) -> Floats:
    """What a calibration error is when the confidences are perfect: right with that very probability.

    Consistency resampling (Bröcker & Smith 2007, Weather and Forecasting 22, 651-661, section 3). The
    statistic is a function of the gaps of the bins that hold answers, shape (draws, bins).

    Returns:
        The error in each draw.
    """
    rng = np.random.default_rng(seed)
    order = np.argsort(bins.of, kind="stable")
    _, starts, n = np.unique(bins.of[order], return_index=True, return_counts=True)
    expected = np.add.reduceat(graded.confidence[order], starts)
    result = np.empty(draws)
    size = max(1, _AT_ONCE // order.size)
    for start in range(0, draws, size):
        part = slice(start, min(start + size, draws))
        drawn = rng.random((part.stop - start, order.size)) < graded.confidence
        right = np.add.reduceat(drawn[:, order], starts, axis=1, dtype=np.int64)
        result[part] = statistic((expected - right) / n)
    return result


_AT_ONCE = 2**20
"""Answers that are drawn together."""
