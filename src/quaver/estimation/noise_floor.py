"""Statistics that noise alone pushes up (a maximum less a minimum, a sum of absolute gaps), and their floors.

Such a statistic is above zero where nothing is there to be found, and a bootstrap of it moves further up.
Beside its value stands the floor: what the same statistic shows when there is nothing but noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaver.estimation.bootstrap import Floats

_NUMBERS = 2**24
"""Random numbers that a floor may cost (a few seconds): large data need fewer draws for the same digits."""


def affordable(draws: int, size: int) -> int:
    """How many of the wanted draws are made, where each costs ``size`` random numbers; never below 99.

    >>> affordable(1000, 50), affordable(1000, 125_000), affordable(0, 50)
    (1000, 134, 0)
    """
    return min(draws, max(99, _NUMBERS // max(1, size)))


def above_floor(value: float, draws: Floats, confidence_level: float) -> dict[str, Any]:
    """Where a value stands among what noise alone gives.

    Returns:
        ``floor`` (the mean of the draws), ``floor_high`` (their upper quantile at ``confidence_level``),
        ``p`` = (1 + draws at or above the value) / (1 + draws) (Phipson & Smyth 2010, Statistical
        Applications in Genetics and Molecular Biology 9, 39) and ``floor_draws``; nothing without draws.

    >>> above_floor(0.3, np.array([0.1, 0.2, 0.3]), 0.5)
    {'floor': 0.2, 'floor_high': 0.2, 'p': 0.5, 'floor_draws': 3}
    """
    if not draws.size:
        return {}
    return {
        "floor": round(float(draws.mean()), 15),
        "floor_high": float(np.quantile(draws, confidence_level)),
        "p": float((1 + (draws >= value - 1e-12).sum()) / (1 + draws.size)),
        "floor_draws": int(draws.size),
    }


def permuted_within_items(
    values: NDArray[Any], present: NDArray[np.bool_], draws: int, seed: int
) -> Iterator[NDArray[Any]]:
    """Exchange the levels of each item at random, each item on its own.

    If levels (paraphrases, conditions) do not matter, an item's answers might have come from any of them:
    this is the permutation test for blocks (Pitman 1938, Biometrika 29, 322-335). A level's answers to an
    item stay together, and a level that was not asked about an item stays so.

    Args:
        values: What each level gave on each item, shape (items, levels, numbers).
        present: Which levels were asked about which items, shape (items, levels).
        draws: How many permutations.
        seed: Of the permutations.

    Yields:
        Permuted values, shape as ``values``.
    """
    rng = np.random.default_rng(seed)
    whole = bool(present.all())
    home = np.argsort(~present, axis=1, kind="stable")
    for _ in range(draws):
        keys = rng.random(present.shape, np.float32)
        if whole:
            yield np.take_along_axis(values, np.argsort(keys, axis=1)[:, :, None], axis=1)
            continue
        chosen = np.argsort(np.where(present, keys, np.float32(2)), axis=1, kind="stable")
        moved = np.empty_like(values)
        np.put_along_axis(moved, home[:, :, None], np.take_along_axis(values, chosen[:, :, None], 1), axis=1)
        yield moved
