"""Intervals of a mean that hold at every number of items, by betting against each value that it might have.

Whoever bets that the mean is larger than m wins c·(x/m − 1) of what is staked on each value x between 0 and
1, and loses on average where it is not. The capital then ever reaches 2/α with a probability of at most α/2
(Ville 1939), whatever the values' distribution: no number of items is too few. An m at which it has got there
is left out (Waudby-Smith & Ramdas 2024, Journal of the Royal Statistical Society B 86, 1-27, betting
confidence sequences; a mixture of constant bets as in Cover 1991, Mathematical Finance 1, 1-29).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import Estimate, IntervalWarning
from quaver.sequential.spent_error import times_as_wide

Floats = NDArray[np.float64]

_BETS = np.geomspace(0.001, 0.9, 16)
"""Shares of the capital that are staked, with the same part of it each: small ones for many items."""

_STEPS = 40
"""Halvings in which an end is found."""

RARE = 20
"""Texts with the rarest label from which a normal interval's tails hold at the levels of early rounds."""


def betting_interval(values: Floats, error: float) -> tuple[float, float]:
    """The interval of the mean of values between 0 and 1, wider than any that is taken once.

    The values come independently from one distribution. In a share of at least 1 − ``error`` of all
    sequences, the intervals of all their beginnings hold the mean. Their order makes no difference.

    >>> low, high = betting_interval(np.array([1.0] * 45 + [0.0] * 5), 0.05)
    >>> round(low, 3), round(high, 3)
    (0.689, 0.985)
    """
    distinct, counts = np.unique(values, return_counts=True)
    low = _end(distinct, counts, error)
    return low, 1 - _end(1 - distinct, counts, error)


def _end(values: Floats, counts: NDArray[np.int_], error: float) -> float:
    """The largest mean that is too small: at it, the capital of who bets on a larger one is 2/error."""
    low, high = 0.0, float(values @ counts / counts.sum())
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle <= 0:
            return 0.0
        won = np.log1p(_BETS[:, None] * (values / middle - 1)) @ counts
        most = won.max()
        capital = most + np.log(np.exp(won - most).mean())
        low, high = (middle, high) if capital >= np.log(2 / error) else (low, middle)
    return low


def held_together(estimate: Estimate, error: float) -> Estimate | None:
    """An estimate with the interval that holds at every number of items; None of what is no mean of items.

    It is one where its value is the mean of its items' own values, which have a smallest and a largest one,
    and where what is resampled is items. The estimate was asked to keep its draws and its distribution; its
    details say how many times as ``wide`` the interval is as one that is looked at once.
    """
    if (
        estimate.distribution is None
        or estimate.draws is None
        or estimate.draws.ends is None
        or estimate.value is None
    ):
        return None
    low, span = estimate.draws.ends[0], float(np.subtract(*estimate.draws.ends[::-1]))
    values = estimate.distribution[np.isfinite(estimate.distribution)]
    of_items = estimate.unit == "item" and estimate.estimand == "fixed" and np.isfinite(span)
    if not of_items or not np.isclose(values.mean(), estimate.value, rtol=0, atol=1e-9):
        return None
    ends = betting_interval((values - low) / span, error)
    details = {name: value for name, value in estimate.details.items() if name != "differing"}
    if estimate.low is not None and estimate.high is not None and estimate.high > estimate.low:
        once = (estimate.high - estimate.low) / times_as_wide((1 - estimate.confidence_level) / 2, error / 2)
        details["wide"] = span * (ends[1] - ends[0]) / once
    return replace(
        estimate,
        low=low + span * ends[0],
        high=low + span * ends[1],
        confidence_level=1 - error,
        method=f"{estimate.method}; betting interval that holds after any number of items",
        reference=f"{estimate.reference}; Waudby-Smith & Ramdas (2024), JRSS B 86, 1-27",
        warnings=tuple(warning for warning in estimate.warnings if not isinstance(warning, IntervalWarning)),
        details=details,
    )


def too_rare(estimate: Estimate, rarest: int) -> Estimate:
    """An estimate, flagged where its rarest label has too few texts for a normal interval's tails."""
    if rarest >= RARE:
        return estimate
    said = IntervalWarning(
        f"the rarest label has {rarest} of the {RARE} texts from which an early round's interval holds"
    )
    return replace(estimate, warnings=(*estimate.warnings, said))
