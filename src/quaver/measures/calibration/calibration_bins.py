"""Confidences in bins, and how far each bin's confidence is from its share of right answers."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

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
