"""Two confidences in the same answers, and how far their calibration errors are apart but for chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import special

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.estimation.bootstrap import Floats, Weighted
from quaver.estimation.intervals import Interval
from quaver.estimation.inversion import deviations, inverted
from quaver.estimation.means import quotient
from quaver.estimation.measure_input import Graded
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.calibration.calibration_bins import Binning, Bins, assigned
from quaver.measures.calibration.true_calibration_error import TrueError, gap_noise, true_error


def difference(error: TrueError, other: TrueError, correlation: float) -> Interval | None:
    """The interval of a true calibration error less another.

    With the debiased errors d₁ and d₂ and the ends of their intervals (l₁, h₁) and (l₂, h₂), the ends are

        d₁ − d₂ − √((d₁ − l₁)² + (h₂ − d₂)² − 2r(d₁ − l₁)(h₂ − d₂))
        d₁ − d₂ + √((h₁ − d₁)² + (d₂ − l₂)² − 2r(h₁ − d₁)(d₂ − l₂))

    (Zou & Donner 2008, Statistics in Medicine 27, 1693-1702). Chance pushes both errors up, but not equally:
    the one with more bins more. Where an interval reaches 0, d is above its truth on average even so; the end
    is then no nearer than the other's own, as if the truth were 0.

    Returns:
        None where one of them has no interval.

    Debiased errors of 0.3 (0.2 to 0.4) and 0.1 (0.05 to 0.15), uncorrelated: 0.2 ± √(0.1² + 0.05²):

    >>> some = [TrueError(Interval(*ends), {"debiased": d}, ()) for ends, d in
    ...         (((0.2, 0.4), 0.3), ((0.05, 0.15), 0.1))]
    >>> [round(end, 4) for end in difference(*some, 0.0)]
    [0.0882, 0.3118]
    """
    if error.interval is None or other.interval is None:
        return None
    first, second = error.details["debiased"], other.details["debiased"]
    down, up = first - error.interval.low, error.interval.high - first
    less, more = second - other.interval.low, other.interval.high - second
    r = max(0.0, correlation)
    low = first - second - float(np.sqrt(max(0.0, down**2 + more**2 - 2 * r * down * more)))
    high = first - second + float(np.sqrt(max(0.0, up**2 + less**2 - 2 * r * up * less)))
    if error.interval.low <= 0:
        low = min(low, -other.interval.high)
    if other.interval.low <= 0:
        high = max(high, error.interval.high)
    return Interval(low, high)


def difference_estimate(
    error: TrueError, other: TrueError, correlation: float, cell: Cell, statistic: Statistic
) -> Estimate:
    """The estimate of a plain error less another, with the interval of the true difference (`difference`)."""
    debiased = {}
    if "debiased" in error.details and "debiased" in other.details:
        debiased["debiased"] = error.details["debiased"] - other.details["debiased"]
    both = tuple(text for text in error.warnings if text in other.warnings)
    true = TrueError(difference(error, other, correlation), debiased, both)
    return true.estimated(cell, statistic, "interval of the true difference from two by test inversion,")


def correlated(left: Floats) -> float:
    """The correlation of two numbers over their leave-one-out values; 0 where one does not vary."""
    if not len(left):
        return 0.0
    apart = left - left.mean(0)
    size = np.sqrt((apart**2).sum(0))
    return float((apart[:, 0] * apart[:, 1]).sum() / size.prod()) if size.all() else 0.0


_DRAWS = 400
"""For one condition's errors: there may be many conditions."""


class Both(NamedTuple):
    """Answers with both confidences: ``answers.confidence`` is the normalised one."""

    answers: Graded
    raw: Floats
    strata: int

    def gaps(self, confidence: Floats, bins: int, binning: Binning) -> Floats:
        """Σ (confidence − right) by item, stratum and bin, shape (items, strata × bins)."""
        answers = self.answers
        of = assigned(confidence, bins, binning).of
        positions = (answers.item * self.strata + answers.stratum) * bins + of
        size = answers.items * self.strata * bins
        sums = np.bincount(positions, confidence - answers.right, minlength=size)
        return np.asarray(sums.reshape(answers.items, self.strata * bins), np.float64)

    def counts(self) -> Floats:
        """Answers by item and stratum."""
        positions = self.answers.item * self.strata + self.answers.stratum
        n = np.bincount(positions, minlength=self.answers.items * self.strata)
        return n.reshape(self.answers.items, self.strata).astype(np.float64)

    def errors(self, bins: int, binning: Binning) -> Weighted:
        """The errors under item weights: of raw confidence by stratum, then of normalised confidence."""
        raw, normalised = (self.gaps(one, bins, binning) for one in (self.raw, self.answers.confidence))
        n = self.counts()

        def under(weights: Floats) -> Floats:
            total = weights @ n
            both = [
                np.abs(weights @ gaps).reshape(len(weights), self.strata, bins).sum(2)
                for gaps in (raw, normalised)
            ]
            errors = [quotient(sums, total) for sums in both]
            return np.concatenate(errors, 1)

        return under

    def by_stratum(self, bins: int, binning: Binning) -> Iterator[tuple[int, list[tuple[Graded, Bins]]]]:
        """Each stratum that has answers: these with raw confidence and its bins, then with normalised."""
        answers = self.answers
        both = [(one, assigned(one, bins, binning)) for one in (self.raw, answers.confidence)]
        for at in np.unique(answers.stratum).tolist():
            some = answers.stratum == at
            part = answers._replace(
                item=answers.item[some], stratum=answers.stratum[some], right=answers.right[some]
            )
            yield (
                at,
                [(part._replace(confidence=one[some]), Bins(own.of[some], own.edges)) for one, own in both],
            )


def true_shift(both: Both, cell: Cell, bins: int, binning: Binning) -> TrueError:
    """The mean shift over conditions that chance does not push up, by test inversion.

    Each condition's signed difference of errors has the middle and the width of its interval
    (`calibration_differences.difference`). The widths do not average out over conditions: these share their
    items, and what debiasing leaves of a small error is of one sign in all of them.
    """
    resampling = cell.resampling
    if not resampling.resamples:
        return TrueError(None, {}, ())
    fewer = replace(resampling, resamples=min(_DRAWS, resampling.resamples))
    left = np.nan_to_num(cell.draws(both.errors(bins, binning)).jackknife)
    ends: list[Interval] = []
    warnings: tuple[str, ...] = ()
    for index, parts in both.by_stratum(bins, binning):
        raw, normalised = (true_error(gap_noise(*part, cell.units), *part, fewer) for part in parts)
        # One condition that rests on few items is reason enough, whichever it is.
        warnings = warnings or tuple(text for text in raw.warnings if text in normalised.warnings)
        r = correlated(left[:, [index, both.strata + index]])
        if (interval := difference(raw, normalised, r)) is not None:
            ends.append(interval)
    if not ends:
        return TrueError(None, {}, warnings)
    low, high = np.array(ends).T
    level, seed = resampling.confidence_level, derive(resampling.seed, "calibration shift")
    error = (high - low) / 2 / special.ndtri(0.5 + level / 2)
    noise = deviations(np.outer(error, error), draws=resampling.resamples, seed=seed)
    inversion = inverted((low + high) / 2, noise, lambda x: np.abs(x).mean(1), level)
    interval = Interval(inversion.low, min(1.0, inversion.high))
    return TrueError(interval, {"debiased": min(1.0, inversion.debiased)}, warnings)
