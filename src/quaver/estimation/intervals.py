"""Intervals from bootstrap draws, the exact bound where a bootstrap has nothing to say, and estimates.

A bootstrap of items that all agree gives the same value every time. That is no evidence of certainty:
an interval here never has zero width. Where the draws do not vary, the interval comes from an exact
binomial bound on the share of units that differ from the rest, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy

from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Draws, Floats, Resampling, Units

__all__ = [
    "FEW",
    "Claim",
    "Interval",
    "Kept",
    "bca",
    "clopper_pearson",
    "estimate",
    "mean_within",
    "percentile",
    "undefined",
]

FEW = 15
"""Below this many differing units the interval is flagged: ``benchmarks/coverage.py`` shows why."""


class Kept(NamedTuple):
    """The draws behind an estimate's interval.

    Attributes:
        values: The statistic in each bootstrap sample.
        jackknife: With one unit left out, of all units or of a sample of them.
        units: What was resampled.
        moves: The claim's.
    """

    values: Floats
    jackknife: Floats
    units: Units
    moves: Callable[[float], Interval] | None = None


class Interval(NamedTuple):
    """Two ends."""

    low: float
    high: float


def percentile(values: Floats, tail: float) -> Interval | None:
    """The percentile interval of bootstrap values; undefined samples (NaN) are left out.

    Efron (1979). None where fewer than two samples are defined.

    >>> percentile(np.arange(101.0), 0.025)
    Interval(low=2.5, high=97.5)
    """
    defined = values[np.isfinite(values)]
    if defined.size < 2:
        return None
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(float(low), float(high))


def bca(
    point: float, values: Floats, jackknife: Floats, tail: float, units: int | None = None
) -> Interval | None:
    """The bias-corrected and accelerated interval (Efron 1987, Journal of the ASA 82, 171-185).

    With z0 the normal quantile of the share of draws below the point (ties count half) and a the
    jackknife's acceleration, the ends are the quantiles of the draws at Φ(z0 + (z0 ± z)/(1 − a(z0 ± z))).

    Args:
        point: The estimate.
        values: Bootstrap values; NaN ones are left out.
        jackknife: Leave-one-out values, of all units or of a sample of them.
        tail: What lies outside on each side: 0.025 for 95 %.
        units: How many units there are, where ``jackknife`` holds a sample.

    Returns:
        None where fewer than two draws are defined, or the acceleration is too strong for the formula.
    """
    defined = values[np.isfinite(values)]
    left = jackknife[np.isfinite(jackknife)]
    if defined.size < 2 or not left.size:
        return None
    # Sums of the same numbers in another order differ in the last digit, and are ties all the same.
    near = 1e-12 * max(1.0, abs(point))
    below = np.mean(defined < point - near) + np.mean(np.abs(defined - point) <= near) / 2
    edge = 0.5 / defined.size
    z0 = scipy.special.ndtri(np.clip(below, edge, 1 - edge))
    influence = left.mean() - left
    square = float((influence**2).sum())
    skew = float((influence**3).sum()) / (6 * square**1.5) if square > 0 else 0.0
    acceleration = skew * np.sqrt(left.size / (units or left.size))
    z = z0 + scipy.special.ndtri(np.array([tail, 1 - tail]))
    if (1 - acceleration * z <= 0).any():
        return None
    low, high = np.quantile(defined, scipy.special.ndtr(z0 + z / (1 - acceleration * z)))
    return Interval(float(low), float(high))


def clopper_pearson(found: int, n: int, confidence: float = 0.95) -> Interval:
    """The exact binomial interval of a share (Clopper & Pearson 1934, Biometrika 26, 404-413).

    Args:
        found: How many of them.
        n: Out of how many; 0 gives (0, 1).
        confidence: Its level.

    >>> [round(end, 4) for end in clopper_pearson(0, 100)]  # 1 - 0.025 ** (1 / 100)
    [0.0, 0.0362]
    """
    tail = (1 - confidence) / 2
    low = float(scipy.special.betaincinv(found, n - found + 1, tail)) if found > 0 else 0.0
    high = float(scipy.special.betaincinv(found + 1, n - found, 1 - tail)) if found < n else 1.0
    return Interval(low, high)


def mean_within(value: float, share: float, low: float = 0.0, high: float = 1.0) -> Interval:
    """Where a mean may lie, when all units gave ``value`` and up to ``share`` of others may give anything.

    >>> mean_within(1.0, 0.25)
    Interval(low=0.75, high=1.0)
    """
    return Interval(value - share * (value - low), value + share * (high - value))


@dataclass(frozen=True, slots=True)
class Claim:
    """What a measure says of one number beside its draws.

    Attributes:
        measure: The registered name.
        method: In words for a methods section.
        reference: Where the measure is defined.
        reason: Why the value is undefined, should it be.
        cell: The part of the data.
        excluded: What was left out, counted.
        differing: How many units differ from the rest (disagree, err …); None where it is the wrong question.
        n: How many units the value rests on.
        spread: From the upper bound on the share of differing units, where the value may lie.
        moves: From a share of units, how far the value moves at most where that share is labelled in another
            way; None of a mean within 0 and 1.
        warnings: What a reader must know.
        details: Further numbers.
    """

    measure: str
    method: str
    reference: str = ""
    reason: str | None = None
    cell: Mapping[str, str] | None = None
    excluded: Mapping[str, int] | None = None
    differing: int | None = None
    n: int | None = None
    spread: Callable[[float], Interval] | None = None
    moves: Callable[[float], Interval] | None = None
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] | None = None


def undefined(claim: Claim, units: Units, resampling: Resampling, reason: str | None = None) -> Estimate:
    """The estimate of a number that does not exist; the exact bound on differing units still does."""
    n = units.count if claim.n is None else claim.n
    details = dict(claim.details or {})
    if claim.differing is not None and n:
        bound = clopper_pearson(claim.differing, n, resampling.confidence)
        details |= {"differing": claim.differing, "share_differing": tuple(bound)}
    return Estimate(
        measure=claim.measure,
        value=None,
        confidence=resampling.confidence,
        n=n,
        unit=units.name,
        method=claim.method,
        reference=claim.reference,
        reason=reason or claim.reason or "undefined",
        cell=dict(claim.cell or {}),
        excluded=dict(claim.excluded or {}),
        warnings=claim.warnings,
        details=details,
    )


def estimate(claim: Claim, draws: Draws, units: Units, resampling: Resampling, index: int = 0) -> Estimate:
    """Make the estimate of one statistic among the draws.

    The interval is the one that ``resampling`` names (percentile where BCa cannot be had), widened where need
    be until the value lies in it; both are in the details as they came. Where the draws do not vary, it is
    ``claim.spread`` of the exact upper bound on the share of differing units, and a warning says so; where
    that bound is not available, there is no interval.
    """
    point = float(draws.point[index])
    if not np.isfinite(point):
        return undefined(claim, units, resampling)
    values, left = draws.values[:, index], draws.jackknife[:, index]
    n = units.count if claim.n is None else claim.n
    plain = percentile(values, resampling.tail)
    better = bca(point, values, left, resampling.tail, units.count)
    chosen = better if resampling.interval == "bca" and better is not None else plain
    warnings, details = list(claim.warnings), dict(claim.details or {})
    details |= {"percentile": plain and tuple(plain), "bca": better and tuple(better)}
    lost = int(np.sum(~np.isfinite(values)))
    if lost:
        details["undefined_resamples"] = lost
    bound = None
    if claim.differing is not None:
        bound = clopper_pearson(claim.differing, n, resampling.confidence)
        details |= {"differing": claim.differing, "share_differing": tuple(bound)}
    name = "BCa" if chosen is better and better is not None else "percentile"
    if resampling.resamples and (chosen is None or chosen.high - chosen.low <= 1e-12):
        share = clopper_pearson(0, n, resampling.confidence).high
        chosen, name = claim.spread(share) if claim.spread else None, "exact binomial"
        warnings.append(
            f"the bootstrap does not vary over these {n} units; the interval is what an exact binomial "
            f"bound allows: up to {share:.3g} of further units may differ"
            if chosen
            else "the bootstrap does not vary, so there is no interval"
        )
    elif bound and claim.differing is not None and claim.differing < FEW:
        warnings.append(
            f"only {claim.differing} of {n} units differ: the interval may cover less often than its level "
            f"says; an exact interval for the share that differ is {bound.low:.3g} to {bound.high:.3g}"
        )
    if chosen is not None:
        chosen = Interval(min(chosen.low, point), max(chosen.high, point))
    how = f"{claim.method}; {name} interval, {resampling.resamples} resamples of {units.name}s"
    return Estimate(
        measure=claim.measure,
        value=point,
        low=None if chosen is None else chosen.low,
        high=None if chosen is None else chosen.high,
        confidence=resampling.confidence,
        n=n,
        unit=units.name,
        method=how if chosen else claim.method,
        reference=claim.reference,
        cell=dict(claim.cell or {}),
        excluded=dict(claim.excluded or {}),
        warnings=tuple(warnings),
        details=details,
    )
