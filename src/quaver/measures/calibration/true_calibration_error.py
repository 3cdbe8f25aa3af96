"""What is known of the true calibration error: the interval of a plain one, and the floor under chance.

Chance pushes a calibration error up, since it is a sum or a maximum of absolute values. It is a convex
function of the bins' gaps, so the plain value is no less than the true one on average, and lies above it by
no more than the error that the noise of the gaps makes alone. So the upper end is the jackknife's, and the
lower end is no nearer to the value than noise reaches; it is 0 where perfect calibration is not rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import special

from quaver.core.records import Estimate, IntervalWarning
from quaver.core.seeds import derive
from quaver.estimation.bootstrap import Floats, Units
from quaver.estimation.encoding import Ints
from quaver.estimation.grouped_items import above_floor
from quaver.estimation.measure_input import Graded
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.calibration.calibration_bins import Bins

FEW, FEWEST = 20, 5
"""Units below which a warning says so, and below which there is no interval."""


class GapNoise:
    """The bins that hold answers, and the noise of their gaps.

    A bin's gap is its mean confidence less its share of right answers. Answers of one unit (an item, or a
    group of items) depend on each other with correlation ρ, whichever bins they are in, so the gaps of two
    bins have the covariance s_b·s_c·((1 − ρ)·n_b·[b = c] + ρ·Σ_units n_ub·n_uc) / (n_b·n_c) (Kish 1965,
    Survey Sampling, section 5.4), with s² = q(1 − q) at a share q of right answers, which is kept half an
    independent answer away from 0 and 1.

    Attributes:
        bins: Which of the bins these are.
        n: Their answers.
        confidence: Their mean confidence.
        right: Their share of right answers.
        rho: The correlation ρ within a unit; 1 where no bin has right and wrong answers, so nothing is known.
        units: How many units hold answers.
        unit: What a unit is: ``"item"``, or the group's column.
        events: From how many units, all alike, the wrong answers might come, or the right ones if those come
            from fewer (`like_units`).
    """

    def __init__(self, graded: Graded, bins: Bins, units: Units) -> None:
        counted = np.bincount(bins.of, minlength=bins.edges.size - 1).astype(np.float64)
        self.bins, self.unit = np.flatnonzero(counted), units.name
        of, self.n = np.cumsum(counted > 0)[bins.of] - 1, counted[self.bins]
        self.confidence, self.right = (
            np.bincount(of, values, self.n.size) / self.n for values in (graded.confidence, graded.right)
        )
        unit = graded.item if units.clusters is None else units.clusters[graded.item]
        unit = np.unique(unit, return_inverse=True)[1]
        self.units = m = int(unit.max(initial=-1)) + 1
        each = np.bincount(unit * self.n.size + of, minlength=m * self.n.size).reshape(m, -1).astype(float)
        self._together = each.T @ each
        self.rho = _correlation(graded.right - self.right[of], (self.right * (1 - self.right))[of], unit)
        wrong = [np.bincount(unit[graded.right == kind], minlength=m).astype(float) for kind in (0, 1)]
        self.events = min(like_units(count) for count in wrong)

    @property
    def answers_together(self) -> bool:
        """Whether a unit holds several answers."""
        return float(self._together.sum()) > float(self.n.sum())

    @property
    def effect(self) -> Floats:
        """How many answers of each bin know as much as one that is independent: its design effect."""
        return np.asarray(1 + self.rho * (np.diag(self._together) / self.n - 1))

    def deviations(self, right: Floats, draws: int, seed: int) -> Floats:
        """How far the gaps lie from the truth where bins have such shares of right answers, (draws, bins).

        The correlation within units is taken a standard error higher than it is estimated, with one degree of
        freedom less than there are `events`: where few units happen to be alike, it looks small.
        """
        rng, rho, size = np.random.default_rng(seed), self.rho, float(self._together.sum() / self.n.sum())
        if self.answers_together:
            inflation = (1 + (size - 1) * rho) * (1 + np.sqrt(2 / max(1.0, self.events - 1)))
            rho = float(np.clip((inflation - 1) / (size - 1), 0, 1))
        scale, turned = np.linalg.eigh((1 - rho) * np.diag(self.n) + rho * self._together)
        found = rng.standard_normal((draws, self.n.size)) * np.sqrt(np.maximum(scale, 0)) @ turned.T
        edge = 0.5 / (self.n / self.effect + 1)
        share = np.clip(right, edge, 1 - edge)
        return np.asarray(found * np.sqrt(share * (1 - share)) / self.n)

    def curve(self, edges: Floats, confidence_level: float) -> list[dict[str, float]]:
        """What `reliability_curve` gives. The interval of a share is Wilson's, with units taken together.

        (a + z²/2m ± z √(a(1 − a)/m + z²/4m²)) / (1 + z²/m), a being the share and m how many independent
        answers would know it as well: n over the design effect (Wilson 1927, Journal of the ASA 22, 209-212).
        """
        a, m = self.right, self.n / self.effect
        z = float(special.ndtri(0.5 + confidence_level / 2))
        half = z * np.sqrt(a * (1 - a) / m + z**2 / (4 * m**2))
        low, high = (np.clip((a + z**2 / (2 * m) + sign * half) / (1 + z**2 / m), 0, 1) for sign in (-1, 1))
        columns = (edges[self.bins], edges[self.bins + 1], self.n, self.confidence, a, low, high)
        names = ("low", "high", "n", "confidence", "right", "right_low", "right_high")
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [{**dict(zip(names, row, strict=True)), "n": int(row[2])} for row in rows]


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


def _correlation(residual: Floats, variance: Floats, unit: Ints) -> float:
    """The mean correlation of two answers of one unit, in being right.

    It is 0 where no unit has two answers, and 1 where no bin has both right and wrong answers.
    """
    z = np.where(variance > 0, residual / np.sqrt(np.where(variance > 0, variance, 1)), 0)
    count = np.bincount(unit)
    pairs, squares, m = float((count * (count - 1)).sum()), float((z**2).sum()), count.size
    if not pairs or not squares:
        return float(pairs > 0)
    sums = np.bincount(unit, z)
    return float(np.clip((float((sums**2).sum()) * m / max(1, m - 1) - squares) / pairs, 0, 1))


def true_error(
    cell: Cell, statistic: Statistic, noise: GapNoise, norm: Callable[[Floats], Floats]
) -> Estimate:
    """The estimate of a plain calibration error, with the interval of the true one.

    Args:
        cell: Its cell.
        statistic: The plain error.
        noise: Of its bins.
        norm: The error of gaps, shape (draws, bins that hold answers) -> (draws,).

    Returns:
        The estimate. In ``details``: ``floor``, ``floor_high`` and ``p`` (what perfect calibration shows, and
        the test of it); where units hold several answers, ``correlation``; and ``bins_used``.
    """
    estimate, resampling = cell.estimated(statistic), cell.resampling
    if estimate.value is None:
        return estimate
    draws, level = resampling.resamples, resampling.confidence_level
    warnings = (*estimate.warnings, *_few(noise))
    details = {**estimate.details, "bins_used": noise.n.size}
    if not draws:
        return replace(estimate, warnings=warnings, details=details)
    perfect, such = (
        norm(noise.deviations(share, draws, derive(resampling.seed, "calibration noise")))
        for share in (noise.confidence, noise.right)
    )
    details |= above_floor(estimate.value, perfect, level)
    if noise.answers_together:
        details["correlation"] = noise.rho
    if details["floor_high"] >= estimate.value:
        warnings += (
            f"no more than perfect calibration may show with these {int(noise.n.sum())} answers "
            f"(mean {details['floor']:.3g}, up to {details['floor_high']:.3g})",
        )
    if estimate.low is None or noise.units < FEWEST:
        method = statistic.method
        return replace(estimate, low=None, high=None, method=method, warnings=warnings, details=details)
    reach = float(np.quantile(such, (1 + level) / 2))
    low = max(0.0, min(estimate.low, estimate.value - reach)) if details["p"] <= 1 - level else 0.0
    method = f"{estimate.method}, less what noise adds"
    return replace(estimate, low=low, method=method, warnings=warnings, details=details)


def _few(noise: GapNoise) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    if noise.units < FEW:
        none = ", too few for an interval" if noise.units < FEWEST else ""
        text = f"only {noise.units} {noise.unit}s hold answers{none}: single bins rest on very few"
        found = (IntervalWarning(text),)
    elif noise.answers_together:
        found = from_few(noise.events, noise.unit)
    if noise.n.size == 1:
        found += ("all answers are in one bin: the error is that of the mean confidence",)
    return found
