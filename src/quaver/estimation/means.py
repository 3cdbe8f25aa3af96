"""Means over items and ratios of sums, with their draws: what shares, rates and entropies have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaver.estimation.jackknife import Floats, Ratio, Weighted
from quaver.estimation.statistic import Cell, Statistic


def quotient(above: NDArray[Any], below: NDArray[Any], least: float = 0.0) -> Floats:
    """One number divided by another, place by place; NaN where what is below is not more than the least.

    >>> quotient(np.array([1.0, 2.0]), np.array([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    return np.where(below > least, above / np.where(below > least, below, 1), np.nan)


def of_known(values: Floats) -> Ratio:
    """The mean over items of each column, of the items that have a number there."""
    defined = np.isfinite(values)
    return Ratio(np.where(defined, values, 0.0), defined.astype(np.float64))


def mean_defined(values: Floats) -> Floats:
    """Row means over what is not NaN; NaN for a row without."""
    defined = np.isfinite(values)
    return quotient(np.where(defined, values, 0.0).sum(1), defined.sum(1))


def over_strata(statistic: Weighted) -> Weighted:
    """The mean of a statistic's columns, over those that are defined in the sample."""
    return lambda weights: mean_defined(statistic(weights))[:, None]


def share_of(
    cell: Cell, above: NDArray[Any], below: NDArray[Any], statistic: Statistic, *, low: float = 0.0
) -> Statistic:
    """A ratio of sums over items, Σ above / Σ below, as a statistic: a share of answers, say.

    Returns:
        The statistic; undefined where no item counts.
    """
    under = Ratio(*(np.asarray(part, np.float64)[:, None] for part in (above, below)))
    if not under.denominator.any():
        return replace(statistic, n=0 if statistic.n is None else statistic.n)
    return replace(statistic, under=under, ends=(low, 1.0))


def _surprise(counts: Floats) -> Floats:
    return counts * np.log(np.where(counts > 0, counts, 1.0))


def entropy(counts: Floats) -> Floats:
    """Plug-in entropy of label counts in nats: −Σ_v p_v ln p_v with p_v = n_v / Q.

    Returns:
        One number fewer axes; NaN where Q is 0.

    >>> entropy(np.array([[2.0, 2.0], [4.0, 0.0]])).round(4).tolist()
    [0.6931, 0.0]
    """
    q = counts.sum(-1)
    inner = np.log(np.maximum(q, 1)) - _surprise(counts).sum(-1) / np.maximum(q, 1)
    return np.where(q > 0, np.maximum(inner, 0.0), np.nan)


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
    entropy = safe * full - (safe - 1) / safe * without
    return np.where(q >= 2, np.where((counts > 0).sum(-1) > 1, entropy, 0.0), np.nan)
