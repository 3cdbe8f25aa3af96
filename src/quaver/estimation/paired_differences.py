"""The difference of any measure between two frames of annotations of the same items, paired."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quaver.core.records import Estimate, IntervalWarning
from quaver.core.seeds import derive
from quaver.estimation.grouped_items import above_floor, affordable, by_unit, with_random_signs
from quaver.estimation.intervals import Interval
from quaver.estimation.jackknife import Floats, Jackknife, Resampling, Units
from quaver.estimation.statistic import Number, Sampler, Statistic

_REFERENCE = "Efron & Stein (1981), The jackknife estimate of variance, Annals of Statistics 9, 586-596"
_FEW_MOVING = 6
_APART = "Zou & Donner (2008), Statistics in Medicine 27, 1693-1702; of two shares Newcombe (1998)"


def paired_differences(
    before: Sequence[Estimate],
    after: Sequence[Estimate],
    resampling: Resampling,
    changed: Callable[[Mapping[str, str]], int] | None = None,
) -> list[Estimate]:
    """A measure after less the measure before, in every cell that both have.

    Both sides must be measured with the same seed and as many resamples, each cell over the same items:
    the measures then leave out the same items in turn, and the differences of what is left are a paired
    jackknife, whatever the measure. Where a measure left out other items on one side than on the other,
    its samples are not the same: the interval is then that of two independent samples, which is wider,
    and a warning says so.

    Where c items (or groups of them) changed and 2⁻ᶜ, the chance that they all changed one way, is above the
    interval's tail, it is made to hold 0, as an exact sign test would; p is at least that test's, 2¹⁻ᶜ.

    Returns:
        An estimate for each cell that both sides have. In ``details``: ``before`` and ``after``, ``p`` (of
        no difference, two-sided), and ``unpaired``, the interval that two samples of their own would
        allow (see `unpaired`). Where the interval is a paired one also ``units``, how many independent items
        there are (fewer than all, in groups); ``step``, how far one that changes moves the difference, times
        their number; and ``range``, the smallest and the largest difference there can be. They carry their
        draws, as the sides do.
    """
    others = {(estimate.measure, estimate.place): estimate for estimate in after}
    differences = []
    for estimate in before:
        other = others.get((estimate.measure, estimate.place))
        if other is not None:
            few = None if changed is None else changed(estimate.cell)
            differences.append(_difference(estimate, other, resampling, few))
    return differences


def _difference(estimate: Estimate, other: Estimate, resampling: Resampling, changed: int | None) -> Estimate:
    first: Number | None = estimate.draws
    second: Number | None = other.draws
    details: dict[str, Any] = {"before": estimate.value, "after": other.value}
    bare = replace(
        estimate,
        low=None,
        high=None,
        n=min(estimate.n, other.n),
        method=f"difference of {estimate.measure}",
        excluded={},
        warnings=(),
        details=details,
        draws=None,
    )
    if estimate.value is None or other.value is None:
        reasons = dict.fromkeys(f"{side.reason}" for side in (estimate, other) if side.value is None)
        return replace(bare, value=None, reason=" and ".join(reasons))
    value = float(other.value - estimate.value)
    if first is None or second is None or not resampling.resamples:
        return replace(bare, value=value, warnings=("this measure gives no draws, so there is no interval",))
    apart = unpaired(estimate, other)
    details["unpaired"] = apart and tuple(apart)
    units = first.jackknife.units
    if not units.same_as(second.jackknife.units):
        low, high = apart or (None, None)
        warning = "the two sides count different items, so the interval is not paired"
        return replace(bare, value=value, low=low, high=high, reference=_APART, warnings=(warning,))
    left_out = Jackknife(value, second.jackknife.left - first.jackknife.left, units)
    details |= {"units": units.independent, "step": _step(left_out)}
    scope = f", {estimate.scope}" if estimate.scope and estimate.scope == other.scope else ""
    shape = Statistic(
        method=f"paired difference of {estimate.measure}{scope}", n=bare.n, null=0.0, details=details
    )
    sampler = Sampler(
        units,
        resampling,
        measure=estimate.measure,
        source=_REFERENCE,
        where=estimate.cell,
        keep_draws=True,
    )
    paired = sampler.estimated(_ranged(shape, first.statistic, second.statistic), left_out)
    if changed is None:
        return paired
    moving = len(_parts(left_out)) if left_out.left.size == units.count else units.count
    return _cautious(paired, min(changed, moving), resampling)


def _ranged(difference: Statistic, first: Statistic, second: Statistic) -> Statistic:
    """A difference that keeps to the range that its sides allow."""
    ends = None
    if first.ends is not None and second.ends is not None:
        (least, most), (lowest, highest) = first.ends, second.ends
        ends = lowest - most, highest - least

    def spread(value: float, share: float) -> Interval:
        """Where the difference may lie when up to a share of further units may differ."""
        return Interval(value - share * second.width, value + share * second.width)

    return replace(difference, ends=ends, spread=spread, details={**difference.details, "range": ends})


def _parts(difference: Jackknife) -> Floats:
    """What each unit that has a part in a difference adds to it, times the units: its pseudo-value."""
    groups, units = difference.left.size, difference.units.count
    own = (groups * difference.point - (groups - 1) * difference.left) * units / max(1, groups)
    return own[np.abs(own) > 1e-9]


def _step(difference: Jackknife) -> float:
    """How far an item that changes moves a difference, times the items: Σψ² / Σ|ψ| of the pseudo-values ψ.

    At least 1, as of a share, where too few move to tell; 1 in groups, of which each mixes several items.
    """
    own = _parts(difference)
    if difference.units.clusters is not None or not own.size:
        return 1.0
    size = float((own**2).sum() / np.abs(own).sum())
    return size if own.size >= _FEW_MOVING else max(1.0, size)


def unpaired(before: Estimate, after: Estimate) -> Interval | None:
    """The interval of a difference that two samples of their own would allow.

    With d the difference, and each side's distances from its value down to its low end and up to its high
    end: d − √(down_after² + up_before²) to d + √(up_after² + down_before²).

    Returns:
        None where a side has no interval.

    Newcombe's (1998) first example, 56 of 70 against 48 of 80, with Wilson's intervals of the two:

    >>> interval = unpaired(Estimate("m", 0.6, 0.4905, 0.7004), Estimate("m", 0.8, 0.6918, 0.8770))
    >>> [round(end, 3) for end in interval]
    [0.052, 0.334]
    """
    ends = (before.value, before.low, before.high, after.value, after.low, after.high)
    if any(end is None for end in ends):
        return None
    first, low, high, second, low_after, high_after = (float(end) for end in ends if end is not None)
    return Interval(
        second - first - float(np.hypot(max(0.0, second - low_after), max(0.0, high - first))),
        second - first + float(np.hypot(max(0.0, high_after - second), max(0.0, first - low))),
    )


def _cautious(estimate: Estimate, changed: int, resampling: Resampling) -> Estimate:
    """The interval of a difference that few items make: they may all have changed one way by chance."""
    details = {**estimate.details, "changed": changed}
    if estimate.low is None or estimate.high is None or 0.5**changed <= resampling.tail:
        return replace(estimate, details=details)
    details["p"] = max(details["p"], min(1.0, 2 * 0.5**changed))
    warning = IntervalWarning(f"only {changed} items changed: they may all have changed one way by chance")
    warnings = estimate.warnings if changed == 0 else (*estimate.warnings, warning)
    return replace(
        estimate, low=min(estimate.low, 0.0), high=max(estimate.high, 0.0), warnings=warnings, details=details
    )


Norm = Callable[[Floats], Floats]
"""Vectors, shape (samples, dims, …) -> a number of each that grows with their size, shape (samples,)."""


def gap(
    parts: Floats, units: Units, norm: Norm, resampling: Resampling, *of: str
) -> tuple[float | None, dict[str, Any]]:
    """The noise in the gap f(θ̂) of an estimate θ̂ that is a sum over items, such as `level_deviations`.

    A gap (convex, f(0) = 0, f(λx) = |λ| f(x): Σ|·|, max |·|, max − min) is pushed up by noise e, by f(e) at
    most: f(θ) ≥ f(θ̂) − f(e). The reach is the upper quantile of f(e) where each unit's deviation from the
    mean gets a random sign. Without a gap each unit's own part may get one: that is the floor, and where its
    test does not reject, the gap may be 0 altogether.

    Returns:
        The reach: how far above the true gap noise may have lifted the one that is seen, None without draws;
        and what `above_floor` gives.

    Of 100 items, 20 are right in the first prompt alone and 10 in the second alone:

    >>> apart = np.repeat([0.01, -0.01, 0.0], [20, 10, 70])[:, None]
    >>> reach, floor = gap(apart, Units(100), lambda x: np.abs(x[:, 0]), Resampling())
    >>> reach, 0.05 < floor["p"] < 0.12
    (inf, True)
    """
    draws, level = affordable(resampling.resamples, units.count), resampling.confidence_level
    if not draws:
        return None, {}
    sums, seed = by_unit(parts.reshape(len(parts), -1), units), derive(resampling.seed, "signs", *of)
    single, shape = Units(len(sums)), (-1, *parts.shape[1:])
    chance = norm(with_random_signs(sums, single, draws, seed).reshape(shape))
    details = above_floor(float(norm(parts.sum(0)[None])[0]), chance, level)
    if details["p"] > 1 - level:
        return np.inf, details
    noise = norm(with_random_signs(sums - sums.mean(0), single, draws, seed).reshape(shape))
    return float(np.quantile(noise, (1 + level) / 2)), details
