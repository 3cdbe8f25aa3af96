"""How far shares lie apart (a range, a sum of absolute gaps): the interval by test inversion, the floor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from quaver.core.seeds import derive
from quaver.estimation.bootstrap import Floats, Resampling, Units
from quaver.estimation.crossings import Norm
from quaver.estimation.intervals import Interval
from quaver.estimation.inversion import Inverted, deviations, inverted_each
from quaver.estimation.noise_floor import above_floor, affordable, by_unit, with_random_signs

_ENTRIES = 2**18
"""Numbers of deviations that are made at a time (2 MiB)."""


class Gap(NamedTuple):
    """What is known of how far shares lie apart.

    Attributes:
        interval: Of the true gap, which noise does not push up; None without draws, or of one unit.
        details: ``debiased`` (the gap of which the observed one is the median) and what `above_floor` gives.
    """

    interval: Interval | None
    details: dict[str, Any]


def gap(parts: Floats, units: Units, norm: Norm, resampling: Resampling, *of: str) -> Gap:
    """The gap f(θ̂) of an estimate θ̂ that is a sum over items, such as `noise_floor.level_deviations`.

    The interval inverts the test of each possible gap (`inversion.inverted`), with noise that has the
    covariance m/(m − 1)·Σ (z_u − z̄)(z_u − z̄)′ of the m units' own sums z_u. The floor is the gap when each
    unit's z_u gets a random sign (`noise_floor.with_random_signs`).

    Args:
        parts: What each item adds, shape (items, …).
        units: Items, or groups of them.
        norm: f, of vectors of shape (samples, …).
        resampling: The confidence level, the seed, and how many draws.
        *of: What the gap is of, by which its random numbers differ from another's.

    Of 100 items, 20 are right in the first prompt alone and 10 in the second alone:

    >>> apart = np.repeat([0.01, -0.01, 0.0], [20, 10, 70])[:, None]
    >>> found = gap(apart, Units(100), lambda x: np.abs(x[:, 0]), Resampling())
    >>> found.interval.low, round(found.interval.high, 1), 0.05 < found.details["p"] < 0.12
    (0.0, 0.2, True)
    """
    draws = affordable(resampling.resamples, units.count)
    if not draws:
        return Gap(None, {})
    chance = norm(with_random_signs(parts, units, draws, derive(resampling.seed, "signs", *of)))
    details = above_floor(float(norm(parts.sum(0)[None])[0]), chance, resampling.confidence_level)
    if units.count < 2:
        return Gap(None, details)
    (found,) = inverted_sums([parts], units, norm, resampling, [of])
    return Gap(Interval(found.low, found.high), {"debiased": found.debiased, **details})


def inverted_sums(
    parts: Sequence[Floats], units: Units, norm: Norm, resampling: Resampling, of: Sequence[Sequence[str]]
) -> list[Inverted]:
    """The intervals of `gap` alone, for floors that are already known, of several estimates of one shape.

    Args:
        parts: What each item adds to each of them.
        units: Items, or groups of them.
        norm: f, of vectors of shape (samples, …).
        resampling: The confidence level, the seed, and how many draws.
        of: What each gap is of.
    """
    draws, shape = affordable(resampling.resamples, units.count), parts[0].shape[1:]
    size = max(1, _ENTRIES // max(1, draws * parts[0][0].size))
    found = []
    for start in range(0, len(parts), size):
        sums = [by_unit(one.reshape(len(one), -1), units) for one in parts[start : start + size]]
        noises = [_noise(one, draws, resampling, *name) for one, name in zip(sums, of[start:], strict=False)]
        found += inverted_each(
            np.stack([one.sum(0) for one in sums]),
            np.stack(noises),
            lambda x: norm(x.reshape(-1, *shape)),
            resampling.confidence_level,
        )
    return found


def _noise(sums: Floats, draws: int, resampling: Resampling, *of: str) -> Floats:
    """Deviations with the covariance of a sum over units."""
    apart = sums - sums.mean(0)
    freedom = len(sums) - 1
    covariance = apart.T @ apart * len(sums) / freedom
    return deviations(covariance, draws=draws, freedom=freedom, seed=derive(resampling.seed, "noise", *of))


def within(low: float, high: float, gap: Gap) -> Gap:
    """The gap with ends no further than a statistic can be."""
    if gap.interval is None:
        return gap
    ends = np.clip([*gap.interval, gap.details["debiased"]], low, high).tolist()
    return Gap(Interval(ends[0], ends[1]), {**gap.details, "debiased": ends[2]})
