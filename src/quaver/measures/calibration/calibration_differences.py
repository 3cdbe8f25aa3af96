"""The interval of a difference of two calibration errors of the same answers."""

from __future__ import annotations

import numpy as np

from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell
from quaver.estimation.intervals import Interval
from quaver.estimation.statistic import Statistic
from quaver.measures.calibration.true_calibration_error import TrueError


def difference(one: TrueError, other: TrueError, correlation: float) -> Interval | None:
    """The interval of a true calibration error less another.

    With the debiased errors d₁ and d₂ and the ends of their intervals (l₁, h₁) and (l₂, h₂), the ends are

        d₁ − d₂ − √((d₁ − l₁)² + (h₂ − d₂)² − 2r(d₁ − l₁)(h₂ − d₂))
        d₁ − d₂ + √((h₁ − d₁)² + (d₂ − l₂)² − 2r(h₁ − d₁)(d₂ − l₂))

    (Zou & Donner 2008, Statistics in Medicine 27, 1693-1702). Chance pushes both errors up, but not equally:
    the one with more bins more. Where an interval reaches 0, d is above its truth on average even so; the end
    is then no nearer than the other's own, as if the truth were 0.

    Args:
        one: The first error.
        other: The second, with the same answers.
        correlation: Of the two estimates, r; a negative one counts as 0.

    Returns:
        None where one of them has no interval.

    Debiased errors of 0.3 (0.2 to 0.4) and 0.1 (0.05 to 0.15), uncorrelated: 0.2 ± √(0.1² + 0.05²):

    >>> some = [TrueError(Interval(*ends), {"debiased": d}, ()) for ends, d in
    ...         (((0.2, 0.4), 0.3), ((0.05, 0.15), 0.1))]
    >>> [round(end, 4) for end in difference(*some, 0.0)]
    [0.0882, 0.3118]
    """
    if one.interval is None or other.interval is None:
        return None
    first, second = one.details["debiased"], other.details["debiased"]
    down, up = first - one.interval.low, one.interval.high - first
    less, more = second - other.interval.low, other.interval.high - second
    r = max(0.0, correlation)
    low = first - second - float(np.sqrt(max(0.0, down**2 + more**2 - 2 * r * down * more)))
    high = first - second + float(np.sqrt(max(0.0, up**2 + less**2 - 2 * r * up * less)))
    if one.interval.low <= 0:
        low = min(low, -other.interval.high)
    if other.interval.low <= 0:
        high = max(high, one.interval.high)
    return Interval(low, high)


def difference_estimate(
    one: TrueError, other: TrueError, correlation: float, cell: Cell, statistic: Statistic
) -> Estimate:
    """The estimate of a plain error less another, with the interval of the true difference (`difference`)."""
    debiased = {}
    if "debiased" in one.details and "debiased" in other.details:
        debiased["debiased"] = one.details["debiased"] - other.details["debiased"]
    both = tuple(text for text in one.warnings if text in other.warnings)
    true = TrueError(difference(one, other, correlation), debiased, both)
    return true.estimated(cell, statistic, "interval of the true difference from two by test inversion,")


def correlated(left: Floats) -> float:
    """The correlation of two numbers over their leave-one-out values; 0 where one does not vary.

    Args:
        left: Shape (units left out, 2).
    """
    if not len(left):
        return 0.0
    apart = left - left.mean(0)
    size = np.sqrt((apart**2).sum(0))
    return float((apart[:, 0] * apart[:, 1]).sum() / size.prod()) if size.all() else 0.0
