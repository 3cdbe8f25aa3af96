"""Many comparisons at once: p values, and what they are worth when there are several of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quaver.measure.bootstrap import Floats
from quaver.records import Estimate

__all__ = ["adjusted", "bootstrap_p", "holm"]


def bootstrap_p(draws: Floats) -> float:
    """Two-sided p value of a difference of zero, from the difference's bootstrap.

    p = 2 · min(1 + draws ≤ 0, 1 + draws ≥ 0) / (1 + draws), at most 1: the level at which a percentile
    interval just reaches zero (Davison & Hinkley 1997, Bootstrap Methods, section 4.2.3).

    Args:
        draws: The difference in each bootstrap sample; NaN where it is undefined there.

    >>> bootstrap_p(np.array([0.1, 0.2, 0.3])), bootstrap_p(np.array([-0.1, 0.0, 0.1]))
    (0.5, 1.0)
    """
    known = draws[np.isfinite(draws)]
    least = min(int((known <= 0).sum()), int((known >= 0).sum()))
    return min(1.0, 2 * (1 + least) / (1 + known.size))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p values, which hold the familywise error (Holm 1979, Scand. J. Statistics 6, 65-70).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    steps = np.array(p, np.float64)[order] * (len(p) - np.arange(len(p)))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return [float(value) for value in adjusted]


def adjusted(estimates: list[Estimate]) -> list[Estimate]:
    """The estimates, those with ``p`` in their details given Holm's ``p_holm`` over all of them.

    Args:
        estimates: One family of comparisons; ``comparisons`` says how many have a p value.
    """
    tested = [index for index, one in enumerate(estimates) if "p" in one.details]
    stepped = holm([estimates[index].details["p"] for index in tested])
    for index, p in zip(tested, stepped, strict=True):
        one = estimates[index]
        estimates[index] = replace(one, details={**one.details, "p_holm": p, "comparisons": len(tested)})
    return estimates
