"""What is known of the true calibration error: its interval, the debiased value, the floor under chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from quaver.core.records import Estimate, IntervalWarning
from quaver.core.seeds import derive
from quaver.estimation.bootstrap import Floats, Resampling
from quaver.estimation.cell import Cell
from quaver.estimation.confidences import Graded
from quaver.estimation.intervals import Interval
from quaver.estimation.inversion import inverted
from quaver.estimation.noise_floor import above_floor, affordable
from quaver.estimation.statistic import Statistic
from quaver.measures.calibration.calibration_bins import Bins, calibrated_draws
from quaver.measures.calibration.calibration_noise import FEW, GapNoise

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
        """The estimate of the plain error, with the interval of the true one.

        Where a bootstrap was asked for by name, the interval is the bootstrap's.

        Args:
            cell: The cell.
            statistic: The plain error.
            how: The interval, in words for a methods section.
        """
        own = cell.resampling.interval == "jackknife" and cell.resampling.resamples > 0
        known = replace(
            statistic,
            interval=(self.interval, how) if own and self.interval else None,
            details={**statistic.details, **self.details},
            warnings=(*statistic.warnings, *self.warnings),
        )
        made = cell.estimated(known)
        if not own or self.interval is not None:
            return made
        return replace(made, low=None, high=None, method=statistic.method, warnings=known.warnings)


def true_error(
    noise: GapNoise, graded: Graded, bins: Bins, resampling: Resampling, *, largest: bool = False
) -> TrueError:
    """The interval of the true calibration error, its debiased value, and what perfect calibration shows.

    Args:
        noise: The bins that hold answers, and the noise of their gaps.
        graded: The answers.
        bins: Their bins.
        resampling: The confidence level, the seed, and how many draws.
        largest: The maximum calibration error, instead of the expected one.

    Said 0.75 a hundred times and right 50 times, where 75 times would be perfect: the true error is about
    0.25, give or take 1.96·√(0.5·0.5 / 100) = 0.1.

    >>> from quaver.estimation.bootstrap import Units
    >>> from quaver.measures.calibration.calibration_noise import gap_noise
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
    found = inverted(noise.gaps, error.deviations(draws, seed), error.norm, level)
    value, most = error.of(noise.gaps), error.of(np.maximum(noise.confidence, 1 - noise.confidence))
    details |= {"debiased": min(found.debiased, most)}
    if noise.answers_together:
        details |= error.floor(noise, draws, seed, level)
        together = error.floor(noise._replace(rho=1.0), draws, seed, level)
        details |= {f"{name}_together": together[name] for name in ("floor", "floor_high", "p")}
        details["correlation"] = noise.rho
    elif affordable(draws, graded.right.size) == draws:
        perfect = calibrated_draws(
            graded, bins, error.plain, draws, derive(resampling.seed, "perfect calibration")
        )
        details |= above_floor(value, perfect, level)
    else:
        details |= error.floor(noise, draws, seed, level)
    if details["floor_high"] >= value:
        warnings += (_no_more(graded, details),)
    low = found.low if details["p"] <= 1 - level else 0.0
    interval = Interval(low, min(found.high, most)) if noise.units >= FEWEST else None
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

    def plain(self, gaps: Floats, n: Floats) -> float:
        """The error of the sums Σ (confidence − right) in all bins."""
        full = n > 0
        return self.of(gaps[full] / n[full])

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
