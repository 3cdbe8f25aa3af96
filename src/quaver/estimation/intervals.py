"""Intervals from a variance, from bootstrap draws, and the exact bound where there is neither.

Units that all agree leave nothing to estimate a variance from. That is no evidence of certainty: an interval
here never has zero width. Where no unit differs, the interval comes from an exact binomial bound on the share
of units that differ from the rest, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy

from quaver.core.records import Estimate, IntervalWarning
from quaver.estimation.jackknife import Floats


class Interval(NamedTuple):
    """Two ends."""

    low: float
    high: float


_FEW_UNITS, _FEW_EVENTS = 25, 5
"""With fewer degrees of freedom, and fewer events, the interval is the exact one."""


def effective(
    value: float,
    variance: float,
    freedom: float,
    confidence_level: float = 0.95,
    ends: tuple[float, float] | None = None,
    step: float = 0.0,
) -> Interval:
    """The interval of an estimate with a variance, within the statistic's range.

    Within the range from lo to hi, the estimate is taken for a share p = (v − lo) / (hi − lo) of as many
    independent yes-or-no observations as have its variance: n* = (v − lo)(hi − v) / V, times (z / t)² for the
    degrees of freedom of V (Korn & Graubard 1998, Survey Methodology 24, 193-201). The interval is that of p
    at n*: what Jeffreys' and Wilson's intervals hold together; with fewer than 25 degrees of freedom and five
    observations on a side, Clopper & Pearson's. Where the upper end is infinite, it is that of a Poisson
    number; without ends it is v ± t √V.

    Simulated over shares of 0.5 to 50%, 30 to 1,000 items, and 5 to 40 groups of 5 to 20 items, with an
    intraclass correlation of up to 0.6: ``benchmarks/coverage.py``.

    3 of 100 items (s² / n = 0.03 · 0.97 / 99), and a mean without a range (t = 2.262 with 9 degrees):

    >>> [round(end, 4) for end in effective(0.03, 0.03 * 0.97 / 99, 99, 0.95, (0.0, 1.0))]
    [0.0083, 0.0859]
    >>> [round(end, 3) for end in effective(5.0, 4.0, 9)]
    [0.476, 9.524]
    """
    tail = (1 - confidence_level) / 2
    freedom = max(freedom, 1.0)
    t, z = -float(scipy.special.stdtrit(freedom, tail)), -float(scipy.special.ndtri(tail))
    if ends is None or variance < 1e-24 or t <= 0:  # t rounds to 0 at a level of next to nothing
        return Interval(value - t * variance**0.5, value + t * variance**0.5)
    low, high = ends
    down, up = max(0.0, value - low), max(0.0, high - value)
    scale = variance * (t / z) ** 2
    exact = freedom < _FEW_UNITS
    if np.isinf(high):
        few, many = _poisson(down**2 / scale, tail, exact=exact)
        return Interval(low + few * scale / down, low + many * scale / down) if down else Interval(low, value)
    share = down / (down + up)
    if down < step:
        down, scale = step, max(scale, (step * t / z) ** 2)
    few, many = _binomial(share, max(down * up / scale, 1e-6), tail, exact=exact)
    return Interval(low + (high - low) * few, low + (high - low) * many)


def skewed(
    value: float, variance: float, freedom: float, skewness: float, confidence_level: float = 0.95
) -> Interval:
    """Student's interval, its ends moved for the skewness of the estimate's error.

    The ends are value − √V g⁻¹(± t), with Hall's monotone transformation g (1992, Journal of the Royal
    Statistical Society B 54, 221-228): g⁻¹(y) = 3 ((1 + s (y − s / 6))^(1/3) − 1) / s for the skewness, s.

    >>> [round(end, 2) for end in skewed(0.0, 1.0, 1e9, 0.0)]
    [-1.96, 1.96]
    >>> [round(end, 2) for end in skewed(0.0, 1.0, 1e9, 0.3)]
    [-1.63, 2.65]
    """
    t = -float(scipy.special.stdtrit(max(freedom, 1.0), (1 - confidence_level) / 2))
    error = variance**0.5
    if abs(skewness) < 1e-6:
        return Interval(value - t * error, value + t * error)
    high, low = (
        float(3 * (np.cbrt(1 + skewness * (bound - skewness / 6)) - 1) / skewness) for bound in (t, -t)
    )
    return Interval(value - error * high, value - error * low)


_LONG_TAILS, _LARGE = 0.18, 6.0
"""Above this L-kurtosis or this kurtosis of the errors, intervals of second moments are flagged. Normal
numbers have 0.123 and 3; Student's t with three degrees of freedom has 0.261 and an infinite one
(``benchmarks/fields.py``)."""


def long_tails(errors: Floats) -> tuple[IntervalWarning, ...]:
    """A warning where errors have longer tails than normal ones: a sample need not show the largest.

    Many errors of all sizes show in the L-kurtosis, few among many small ones in the kurtosis alone.
    """
    tails, squares = l_kurtosis(errors), (errors - errors.mean()) ** 2 if errors.size else errors
    if not (tails > _LONG_TAILS or (tails > -1 and (squares**2).mean() > _LARGE * squares.mean() ** 2)):
        return ()
    return (
        IntervalWarning(
            f"few errors are much larger than the rest (L-kurtosis {tails:.2f}; of normal errors 0.12): "
            "the interval, which rests on these few, may hold the truth less often than its level says"
        ),
    )


def l_kurtosis(numbers: Floats) -> float:
    """How long the tails of numbers are, by order statistics: normal ones have 0.123, uniform ones 0.

    τ₄ = (20 b₃ − 30 b₂ + 12 b₁ − b₀) / (2 b₁ − b₀), with bᵣ the mean of x₍ᵢ₎ (i − 1) … (i − r) / ((n − 1) …
    (n − r)) over the numbers in their order. The fourth moment depends on the largest number alone where
    tails are long; this does not. NaN of fewer than four numbers, or where nothing varies. Source: Hosking
    (1990), Journal of the Royal Statistical Society B 52, 105-124.

    Of 0, 0, 0 and 1: b₀ = b₁ = b₂ = b₃ = 1/4.

    >>> l_kurtosis(np.array([0.0, 1.0, 0.0, 0.0])), round(l_kurtosis(np.arange(9.0)), 12)
    (1.0, 0.0)
    """
    n = numbers.size
    if n < 4 or np.ptp(numbers) == 0:
        return np.nan
    ordered, weights = np.sort(numbers), np.ones(n)
    moments = [float(ordered.mean())]
    for r in range(1, 4):
        weights = weights * (np.arange(n) - r + 1) / (n - r)
        moments.append(float(weights @ ordered) / n)
    mean, first, second, third = moments
    return (20 * third - 30 * second + 12 * first - mean) / (2 * first - mean)


def _binomial(share: float, n: float, tail: float, *, exact: bool) -> Interval:
    """Where a share may lie, of n observations; n need not be whole."""
    events = share * n
    if exact and min(events, n - events) < _FEW_EVENTS:
        return _beta_interval(events, n, tail)
    low, high = _beta_interval(events, n, tail, prior=0.5)
    z2 = float(scipy.special.ndtri(tail)) ** 2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = (z2 * (share * (1 - share) / n + z2 / (4 * n * n))) ** 0.5 / (1 + z2 / n)
    return Interval(max(0.0, min(low, middle - half)), min(1.0, max(high, middle + half)))


def _beta_interval(events: float, n: float, tail: float, prior: float = 0.0) -> Interval:
    """The exact interval of a share, or with a prior of one half on either side that of Jeffreys."""
    low = scipy.special.betaincinv(events + prior, n - events + 1 - prior, tail) if events > 0 else 0.0
    high = scipy.special.betaincinv(events + 1 - prior, n - events + prior, 1 - tail) if events < n else 1.0
    return Interval(float(low), float(high))


def _poisson(events: float, tail: float, *, exact: bool) -> Interval:
    """Where the mean of a Poisson number may lie; the number need not be whole."""
    exact = exact and events < _FEW_EVENTS
    more = 0.0 if exact else 0.5
    low = float(scipy.special.gammaincinv(events + more, tail)) if events > 0 else 0.0
    high = float(scipy.special.gammaincinv(events + 1 - more, 1 - tail))
    if exact:
        return Interval(low, high)
    z2 = float(scipy.special.ndtri(tail)) ** 2
    half = (z2 * (events + z2 / 4)) ** 0.5
    return Interval(max(0.0, min(low, events + z2 / 2 - half)), max(high, events + z2 / 2 + half))


def of_mean(parts: Sequence[tuple[float, float, float]]) -> Interval:
    """The interval of a mean of independent estimates, from theirs.

    With l and u the distances from each estimate to its ends: mean − √Σ l² / k to mean + √Σ u² / k. Source:
    Zou & Donner (2008), Statistics in Medicine 27, 1693-1702.

    >>> [round(end, 2) for end in of_mean([(0.5, 0.2, 0.6), (1.0, 0.6, 1.0)])]  # 0.75 - 0.25, 0.75 + 0.05
    [0.5, 0.8]
    """
    value, low, high = np.array(parts, np.float64).T
    down, up = np.hypot.reduce(value - low), np.hypot.reduce(high - value)
    return Interval(*(float(value.mean() + end / len(parts)) for end in (-down, up)))


def ends_of(estimate: Estimate) -> tuple[float, float, float] | None:
    """An estimate's value, low and high; None where it has no interval."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None
    return estimate.value, estimate.low, estimate.high


def no_narrower(
    whole: Estimate, parts: Sequence[Estimate], within: Interval | tuple[float, float]
) -> Estimate:
    """A mean whose interval is no narrower than those of its parts make it (`of_mean`).

    A class of three items that are all right says little of a fourth, and nothing to the variance of the mean
    over classes; its own interval, by an exact bound, does.
    """
    known = [ends for estimate in parts if (ends := ends_of(estimate))]
    if whole.low is None or whole.high is None or not known:
        return whole
    low, high = of_mean(known)
    return replace(whole, low=max(within[0], min(whole.low, low)), high=min(within[1], max(whole.high, high)))


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


def clopper_pearson(events: float, n: float, confidence_level: float = 0.95) -> Interval:
    """The exact binomial interval of a share (Clopper & Pearson 1934, Biometrika 26, 404-413).

    >>> [round(end, 4) for end in clopper_pearson(0, 100)]  # 1 - 0.025 ** (1 / 100)
    [0.0, 0.0362]
    """
    return _beta_interval(events, n, (1 - confidence_level) / 2)


def mean_within(value: float, share: float, low: float = 0.0, high: float = 1.0) -> Interval:
    """Where a mean may lie, when all units gave ``value`` and up to ``share`` of others may give anything.

    >>> mean_within(1.0, 0.25)
    Interval(low=0.75, high=1.0)
    """
    return Interval(value - share * (value - low), value + share * (high - value))


_SURPRISE = 4.0
"""How many times an interval's half width the exact bound must be for `none_goes_far` to warn."""


def none_goes_far(values: Floats, unit: str, level: float) -> tuple[IntervalWarning, ...]:
    """A warning where only stray answers differ, so that an item that differs altogether would be a surprise.

    Shares near an end are moved most by the few items whose answers are mostly at the other end. A sample
    with none of them looks as if there were none: its interval is far narrower than what an exact bound
    allows them, by more than ``_SURPRISE`` times.

    >>> none_goes_far(np.array([1.0] * 90 + [0.9] * 10), "item", 0.95)[0].partition(":")[0]
    'no item is far from the others, although some answers are'
    >>> none_goes_far(np.array([1.0] * 90 + [0.9] * 9 + [0.0]), "item", 0.95)
    ()
    """
    defined = values[np.isfinite(values)]
    if defined.size < 2:
        return ()
    loss = np.abs(defined - np.round(defined.mean()))
    if not loss.any() or loss.max() >= 0.5:
        return ()
    bound = clopper_pearson(0, defined.size, level).high
    if bound <= _SURPRISE * 1.96 * float(defined.std(ddof=1)) / defined.size**0.5:
        return ()
    return (
        IntervalWarning(
            f"no {unit} is far from the others, although some answers are: up to {bound:.2g} of all may be, "
            "which the interval does not allow for"
        ),
    )


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
    return list(map(float, adjusted))


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
