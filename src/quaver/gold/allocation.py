"""How a sample's size is spread over items or strata, in proportion to what each is worth."""

from __future__ import annotations

import numpy as np

from quaver.gold.permanent_numbers import Floats


def allocated(worth: Floats, least: Floats, most: Floats, total: float) -> Floats:
    """Shares of a total in proportion to ``worth``, each within its limits.

    ``x = min(most, max(least, λ · worth))``, with λ such that the shares add up to ``total``. Where the
    limits do not allow that sum, the nearest sum that they allow.

    Args:
        worth: At least 0.
        least: The least that each gets.
        most: The most that each gets, not below ``least``.
        total: The sum.

    >>> allocated(np.array([1.0, 3.0]), np.zeros(2), np.array([9.0, 5.0]), 8).round(9).tolist()
    [3.0, 5.0]
    """
    if total <= least.sum():
        return least.copy()
    if total >= most.sum():
        return most.copy()
    worth = np.maximum(worth, 1e-12 * max(float(worth.max()), 1.0))  # nothing is worth nothing at all
    low, high = 0.0, float((most / worth).max())
    while low < (middle := (low + high) / 2) < high and high - low > 1e-15 * high:
        if np.clip(middle * worth, least, most).sum() < total:
            low = middle
        else:
            high = middle
    found: Floats = np.clip(high * worth, least, most)
    free = (found > least) & (found < most)
    if free.any():  # the last digits of the sum
        found[free] *= 1 + (total - found.sum()) / found[free].sum()
    return np.clip(found, least, most)


def whole(shares: Floats, most: Floats) -> Floats:
    """Shares as whole numbers of the same sum: rounded down, the largest remainders up.

    >>> whole(np.array([1.6, 2.7, 0.7]), np.array([5.0, 5.0, 5.0])).tolist()
    [1.0, 3.0, 1.0]
    """
    found = np.floor(shares + 1e-9)
    lacking = round(float(shares.sum() - found.sum()))
    remainder = np.where(found < most, shares - found, -1.0)
    found[np.argsort(-remainder, kind="stable")[: max(lacking, 0)]] += 1
    return np.minimum(found, most)
