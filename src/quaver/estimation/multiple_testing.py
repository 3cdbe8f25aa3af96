"""Many comparisons at once: p values, and what they are worth when there are several of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from quaver.core.records import Estimate
from quaver.estimation.intervals import Interval


def level_of(at: Callable[[float], Interval | None], null: float) -> float:
    """P value of a number being another one, from its interval: the two never contradict each other.

    Returns:
        One less the smallest level at which the interval holds it, to six digits; 1 where there is none.

    >>> from quaver.estimation.intervals import effective
    >>> round(level_of(lambda level: effective(1.0, 0.25, 9, level), 0.0), 4)  # t = 2 with 9 degrees
    0.0766
    """

    def holds(p: float) -> bool:
        interval = at(1 - p)
        return interval is None or interval.low <= null <= interval.high

    least, most = math.log(1e-12), 0.0
    if holds(1 - 1e-9):
        return 1.0
    for _ in range(45):
        middle = (least + most) / 2
        least, most = (middle, most) if holds(math.exp(middle)) else (least, middle)
    return float(f"{math.exp(least):.6g}")


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

    Estimates that name the same ``hypothesis`` in their details are one test and count once: the four
    contrasts of a 2 × 2 interaction, or a difference and the same difference seen from the other side.

    >>> def tested(p, **more):
    ...     return Estimate("d", 0.1, details={"p": p, **more})
    >>> found = adjusted([tested(0.01, hypothesis="a"), tested(0.01, hypothesis="a"), tested(0.04)])
    >>> [one.details["p_holm"] for one in found]
    [0.02, 0.02, 0.04]
    """
    of: dict[object, list[int]] = {}
    for index, estimate in enumerate(estimates):
        if "p" in estimate.details:
            of.setdefault(estimate.details.get("hypothesis", index), []).append(index)
    stepped = holm([estimates[places[0]].details["p"] for places in of.values()])
    for places, p in zip(of.values(), stepped, strict=True):
        for index in places:
            estimate = estimates[index]
            estimates[index] = replace(
                estimate, details={**estimate.details, "p_holm": p, "comparisons": len(of)}
            )
    return estimates
