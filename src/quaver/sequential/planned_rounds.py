"""Levels of the intervals of planned rounds: collecting may end after any of them, and they hold together.

How many items each round has is fixed before the first answer. The error of all rounds together is spent in
proportion to the items: after a quarter of them, a quarter of it (Lan & DeMets 1983, Biometrika 70, 659-663;
linear spending: Kim & DeMets 1987, Biometrika 74, 149-154). Estimates of successive rounds share their first
items, so that with n_1 < n_2 items they correlate as √(n_1/n_2): what a later round spends follows from the
joint normal distribution, integrated from round to round (Armitage, McPherson & Rowe 1969, Journal of the
Royal Statistical Society A 132, 235-244).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_END = 8.5
"""Beyond so many standard errors nothing is looked for."""

_POINTS = 1001
"""At which a round's distribution is known; twice as many change no tail by more than 1e-6."""


def round_sizes(first: int, whole: int, growth: float) -> list[int]:
    """How many items each round has: each ``growth`` times as many as the one before, the last all of them.

    >>> round_sizes(50, 500, 2)
    [50, 100, 200, 400, 500]
    """
    sizes = [min(first, whole)]
    while sizes[-1] < whole:
        sizes.append(min(whole, max(sizes[-1] + 1, round(sizes[-1] * growth))))
    return sizes


def tails_of_rounds(sizes: Sequence[int], error: float) -> list[float]:
    """The tail of the normal distribution that each round's interval leaves out on either side.

    The probability that any round's interval, or several of them, misses on one side is ``error`` / 2.

    Args:
        sizes: Items of each round, growing.
        error: Of all rounds together, on both sides.

    Five looks at equal distances (the linear spending function's bounds in Reboussin, DeMets, Kim & Lan 2000,
    Controlled Clinical Trials 21, 190-207):

    >>> from scipy.special import ndtri
    >>> [round(float(-ndtri(tail)), 2) for tail in tails_of_rounds([1, 2, 3, 4, 5], 0.05)]
    [2.58, 2.49, 2.41, 2.34, 2.28]
    """
    return list(_tails(tuple(sizes), error))


@lru_cache
def _tails(sizes: tuple[int, ...], error: float) -> tuple[float, ...]:
    tails: list[float] = []
    points, weights = np.zeros(1), np.ones(1)
    before = 0
    for size in sizes:
        allowed = error / 2 * (size - before) / sizes[-1]
        shared = (before / size) ** 0.5
        own, means = (1 - shared**2) ** 0.5, shared * points

        low = float(scipy.optimize.brentq(_over, -_END, 0.0, (allowed, weights, means, own), xtol=1e-9))
        tails.append(float(scipy.special.ndtr(low)))
        new = np.linspace(low, _END, _POINTS)
        density = np.exp(-(((new[:, None] - means) / own) ** 2) / 2) @ weights / (own * (2 * np.pi) ** 0.5)
        weights = density * (new[1] - new[0])
        weights[[0, -1]] /= 2
        points, before = new, size
    return tuple(tails)


def _over(low: float, allowed: float, weights: Floats, means: Floats, own: float) -> float:
    """How much more than is allowed a round spends that leaves out what is below ``low``."""
    return float(weights @ scipy.special.ndtr((low - means) / own)) - allowed
