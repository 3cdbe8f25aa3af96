"""What is known of the true calibration error: its interval, the debiased value, the floor under chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from quaver.core.records import Estimate, IntervalWarning
from quaver.core.seeds import derive
from quaver.estimation.bootstrap import Floats, Resampling, Units
from quaver.estimation.encoding import Ints
from quaver.estimation.grouped_items import above_floor, affordable
from quaver.estimation.intervals import Interval, none_goes_far
from quaver.estimation.inversion import deviations, inverted
from quaver.estimation.means import quotient
from quaver.estimation.measure_input import Graded
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.calibration.calibration_bins import Bins, calibrated_draws

FEW = 20
"""Units, or units with an error, below which a warning says so."""


class GapNoise(NamedTuple):
    """The bins that hold answers, and what decides the noise of their gaps.

    A bin's gap d is its mean confidence less its share of right answers. Answers of one unit (an item, or a
    group of items) depend on each other with correlation ρ, whichever bins they are in, so two bins' gaps
    have the covariance s_b·s_c·((1 − ρ)·n_b·[b = c] + ρ·Σ_units n_ub·n_uc) / (n_b·n_c) (Kish 1965, Survey
    Sampling, section 5.4), with s_b² = q(1 − q) at the share right q = mean confidence − d that a truth d
    implies. Under perfect calibration the noise is that of the confidences, in a bin without a wrong answer
    too. A share q is kept half an independent answer away from 0 and 1.

    Attributes:
        bins: Which of the bins these are.
        gaps: d of each bin that holds answers.
        n: Its answers.
        confidence: Its mean confidence.
        right: Its share of right answers.
        rho: The correlation ρ within a unit; 1 where no bin has right and wrong answers, so nothing is known.
        together: Σ_units n_ub·n_uc, shape (bins, bins).
        mixing: Covariance of the bins' shares of all answers, over units.
        units: How many units hold answers.
        unit: What a unit is: ``"item"``, or the group's column.
        events: From how many units, all alike, the wrong answers might come, or the right ones if those come
            from fewer (`like_units`).
        stray: A warning where wrong answers, or right ones, are stray answers alone (`stray_errors`).
    """

    bins: Ints
    gaps: Floats
    n: Floats
    confidence: Floats
    right: Floats
    rho: float
    together: Floats
    mixing: Floats
    units: int
    unit: str
    events: float
    stray: tuple[str, ...] = ()

    @property
    def from_few(self) -> tuple[str, ...]:
        """A warning where errors come from few units, or from none that is mostly wrong."""
        return from_few(self.events, self.unit) or self.stray

    @property
    def shares(self) -> Floats:
        """Each bin's share of the answers."""
        return np.asarray(self.n / self.n.sum())

    @property
    def answers_together(self) -> bool:
        """Whether a unit holds several answers."""
        return float(self.together.sum()) > float(self.n.sum())

    @property
    def effect(self) -> Floats:
        """How many answers of each bin know as much as one that is independent: its design effect."""
        return np.asarray(1 + self.rho * (np.diag(self.together) / self.n - 1))

    def deviations(self, draws: int, seed: int, *, shares: bool) -> Callable[[Floats], Floats]:
        """How far the gaps of such answers lie from a truth.

        Returns:
            From the true gaps to deviations, shape (draws, bins).
        """
        rho = self._correlations(draws, seed)[:, None]
        alone = deviations(np.diag(self.n), draws=draws, seed=seed + 1)
        shared = deviations(self.together, draws=draws, seed=seed + 2)
        flips = (np.sqrt(1 - rho) * alone + np.sqrt(rho) * shared) / self.n
        mixed = deviations(self.mixing, draws=draws, seed=seed + 3) / self.shares if shares else None
        edge = 0.5 / (self.n / self.effect + 1)

        def noise(gaps: Floats) -> Floats:
            q = np.clip(self.confidence - gaps, edge, 1 - edge)
            right = flips * np.sqrt(q * (1 - q))
            return right if mixed is None else right + mixed * gaps

        return noise

    def _correlations(self, draws: int, seed: int) -> Floats:
        """Correlations that the data leave open: the variance of units' sums is only estimated.

        It has as many degrees of freedom as there are units from which wrong answers come (or right ones, if
        those come from fewer), less 1, and less 1/2 for the share of each further bin. ρ is taken half a
        standard error higher than it is: where few units happen to be alike, it looks small just when the
        gaps are extreme.
        """
        size = float(self.together.sum() / self.n.sum())
        if not self.answers_together:
            return np.zeros(draws)
        freedom = max(1, self.events - (self.n.size + 1) / 2)
        inflation = (1 + (size - 1) * self.rho) * (1 + np.sqrt(2 / freedom) / 2)
        factor = freedom / np.random.default_rng(seed).chisquare(freedom, draws)
        return np.asarray(np.clip((inflation * factor - 1) / (size - 1), 0, 1))


def gap_noise(graded: Graded, bins: Bins, units: Units) -> GapNoise:
    """The noise of the bins' gaps.

    Two items, each with two answers in one bin, all right or all wrong: the answers of an item are one.

    >>> answers = Graded(np.array([0, 0, 1, 1]), np.zeros(4, int), np.full(4, 0.75), np.array([1., 1, 0, 0]),
    ...                  2, {}, None)
    >>> found = gap_noise(answers, Bins(np.zeros(4, int), np.array([0.0, 1.0])), Units(2))
    >>> found.gaps.tolist(), found.rho, found.together.tolist(), found.events
    ([0.25], 1.0, [[8.0]], 1.0)
    """
    n = np.bincount(bins.of, minlength=bins.edges.size - 1).astype(np.float64)
    full = np.flatnonzero(n)
    of, n = np.cumsum(n > 0)[bins.of] - 1, n[full]
    sure, right = (np.bincount(of, values, n.size) / n for values in (graded.confidence, graded.right))
    unit, m = _units(graded, units)
    each = np.bincount(unit * n.size + of, minlength=m * n.size).reshape(m, n.size).astype(np.float64)
    influence = (each - each.sum(1, keepdims=True) * n / n.sum()) / n.sum()
    wrong = [np.bincount(unit[graded.right == kind], minlength=m).astype(np.float64) for kind in (0, 1)]
    return GapNoise(
        bins=full,
        gaps=sure - right,
        n=n,
        confidence=sure,
        right=right,
        rho=_correlation(graded.right - right[of], np.sqrt((right * (1 - right))[of]), unit, m),
        together=each.T @ each,
        mixing=influence.T @ influence * (m / max(1, m - 1)),
        units=m,
        unit=units.name,
        events=min(like_units(count) for count in wrong),
        stray=stray_errors(graded),
    )


def stray_errors(graded: Graded) -> tuple[str, ...]:
    """A warning where no item is mostly wrong although some answers are (`none_goes_far`)."""
    n = np.bincount(graded.item, minlength=graded.items)
    right = np.bincount(graded.item, graded.right, minlength=graded.items)
    return none_goes_far(quotient(right, n), "item", 0.95)


def like_units(sums: Floats) -> float:
    """How many units, all alike, tell as much as these: (Σ x)² / Σ x² (Kish 1965, Survey Sampling).

    Twelve wrong answers, ten of them to one item, come from hardly more than one:

    >>> round(like_units(np.array([10.0, 1.0, 1.0, 0.0])), 2)
    1.41
    """
    square = float((sums**2).sum())
    return float(sums.sum()) ** 2 / square if square else 0.0


def from_few(like: float, unit: str) -> tuple[str, ...]:
    """A warning where errors come from few units, of which the next sample may well have others."""
    if like >= FEW:
        return ()
    some = f"{like:.0f} {unit}" if round(like) == 1 else f"{like:.0f} {unit}s"
    return (IntervalWarning(f"the errors come from about {some} only: the interval may be too narrow"),)


def _units(graded: Graded, units: Units) -> tuple[Ints, int]:
    """Each answer's unit, from 0 without gaps, and how many there are."""
    unit = graded.item if units.clusters is None else units.clusters[graded.item]
    holds = np.bincount(unit) > 0
    return np.asarray((np.cumsum(holds) - 1)[unit], np.int64), int(holds.sum())


def _correlation(residual: Floats, error: Floats, unit: Ints, units: int) -> float:
    """The mean correlation of two answers of one unit, in being right.

    It is 0 where no unit has two answers, and 1 where no bin has both right and wrong answers.
    """
    z = np.where(error > 0, residual / np.where(error > 0, error, 1), 0)
    count = np.bincount(unit, minlength=units)
    pairs = float((count * (count - 1)).sum())
    if not pairs:
        return 0.0
    sums, squares = np.bincount(unit, z, units), float((z**2).sum())
    if not squares:
        return 1.0
    return float(np.clip((float((sums**2).sum()) * units / max(1, units - 1) - squares) / pairs, 0, 1))


_METHOD = "interval of the true error by test inversion"

FEWEST = 5
"""With fewer units there is no interval."""


class TrueError(NamedTuple):
    """What is known of the calibration error in the limit of infinitely many items, in the same bins.

    Attributes:
        interval: Of it, by test inversion; None without resamples or with too few units.
        details: ``debiased`` (the error of which the observed one is the median), ``floor``, ``floor_high``
            and ``p`` (what perfect calibration shows, and the test of it), where units hold several answers
            ``correlation`` (of two answers of a unit, in being right) and the floor at its largest,
            ``floor_together``, ``floor_high_together`` and ``p_together``; ``bins_used``.
        warnings: What a reader must know.
    """

    interval: Interval | None
    details: dict[str, Any]
    warnings: tuple[str, ...]

    def estimated(self, cell: Cell, statistic: Statistic, how: str = _METHOD) -> Estimate:
        """The estimate of the plain error, with the interval of the true one."""
        own = cell.resampling.resamples > 0
        known = replace(
            statistic,
            interval=(self.interval, how) if own and self.interval else None,
            details={**statistic.details, **self.details},
            warnings=(*statistic.warnings, *self.warnings),
        )
        estimate = cell.estimated(known)
        if not own or self.interval is not None:
            return estimate
        return replace(estimate, low=None, high=None, method=statistic.method, warnings=known.warnings)


def true_error(
    noise: GapNoise, graded: Graded, bins: Bins, resampling: Resampling, *, largest: bool = False
) -> TrueError:
    """The interval of the true calibration error, its debiased value, and what perfect calibration shows.

    Said 0.75 a hundred times and right 50 times, where 75 times would be perfect: the true error is about
    0.25, give or take 1.96·√(0.5·0.5 / 100) = 0.1.

    >>> from quaver.estimation.bootstrap import Units
    >>> from quaver.measures.calibration.true_calibration_error import gap_noise
    >>> said = Graded(np.arange(100), np.zeros(100, int), np.full(100, 0.75), np.repeat([1.0, 0.0], 50), 100,
    ...               {}, None)
    >>> whole = Bins(np.zeros(100, int), np.array([0.0, 1.0]))
    >>> found = true_error(gap_noise(said, whole, Units(100)), said, whole, Resampling())
    >>> [round(end, 1) for end in found.interval], round(found.details["debiased"], 1)
    ([0.2, 0.3], 0.2)
    """
    error = _Error(noise, largest)
    details: dict[str, Any] = {"bins_used": noise.n.size}
    warnings = _few(noise)
    draws = resampling.resamples
    if not draws:
        return TrueError(None, details, warnings)
    level, seed = resampling.confidence_level, derive(resampling.seed, "calibration noise")
    inversion = inverted(noise.gaps, error.deviations(draws, seed), error.norm, level)
    value, most = error.of(noise.gaps), error.of(np.maximum(noise.confidence, 1 - noise.confidence))
    details |= {"debiased": min(inversion.debiased, most)}
    if noise.answers_together:
        details |= error.floor(noise, draws, seed, level)
        together = error.floor(noise._replace(rho=1.0), draws, seed, level)
        details |= {f"{name}_together": together[name] for name in ("floor", "floor_high", "p")}
        details["correlation"] = noise.rho
    elif affordable(draws, graded.right.size) == draws:
        perfect = calibrated_draws(
            graded, bins, error.norm, draws, derive(resampling.seed, "perfect calibration")
        )
        details |= above_floor(value, perfect, level)
    else:
        details |= error.floor(noise, draws, seed, level)
    if details["floor_high"] >= value:
        warnings += (_no_more(graded, details),)
    low = inversion.low if details["p"] <= 1 - level else 0.0
    interval = Interval(low, min(inversion.high, most)) if noise.units >= FEWEST else None
    return TrueError(interval, details, warnings)


@dataclass(frozen=True, slots=True)
class _Error:
    """A calibration error as a function of the bins' gaps."""

    noise: GapNoise
    largest: bool

    def norm(self, gaps: Floats) -> Floats:
        """The error of each vector of gaps."""
        size = np.abs(gaps)
        return np.asarray(size.max(1) if self.largest else size @ self.noise.shares)

    def of(self, gaps: Floats) -> float:
        """The error of one vector of gaps."""
        return float(self.norm(gaps[None])[0])

    def deviations(self, draws: int, seed: int) -> Callable[[Floats], Floats]:
        """See `GapNoise.deviations`."""
        return self.noise.deviations(draws, seed, shares=not self.largest)

    def floor(self, noise: GapNoise, draws: int, seed: int, level: float) -> dict[str, Any]:
        """What perfect calibration shows, with a noise of the bins."""
        alone = noise.deviations(draws, seed, shares=False)(np.zeros(noise.n.size))
        return above_floor(self.of(self.noise.gaps), self.norm(alone), level)


def _few(noise: GapNoise) -> tuple[str, ...]:
    found: list[str] = []
    if noise.units < FEW:
        none = ", too few for an interval" if noise.units < FEWEST else ""
        found.append(
            IntervalWarning(
                f"only {noise.units} {noise.unit}s hold answers{none}: single bins rest on very few"
            )
        )
    elif noise.answers_together:
        found += noise.from_few
    if noise.n.size == 1:
        found.append("all answers are in one bin: the error is that of the mean confidence")
    return tuple(found)


def _no_more(graded: Graded, details: dict[str, Any]) -> str:
    return (
        f"no more than perfect calibration may show with these {graded.right.size} answers "
        f"(mean {details['floor']:.3g}, up to {details['floor_high']:.3g})"
    )
