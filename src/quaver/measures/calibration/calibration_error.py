"""Calibration: whether answers given with confidence p are right in a share p of cases.

Chance pushes a calibration error up, since it is a sum of absolute values. It is a convex function of the
bins' gaps, so the plain value is no less than the true one on average, and lies above it by no more than the
error that the noise of the gaps makes alone. So the upper end of its interval is the jackknife's, and the
lower end is no nearer to the value than noise reaches; it is 0 where perfect calibration is not rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from quaver.core.records import Estimate, IntervalWarning
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.cells import guarded
from quaver.estimation.coded_columns import Ints
from quaver.estimation.declaration import measure
from quaver.estimation.grouped_items import above_floor
from quaver.estimation.intervals import Interval
from quaver.estimation.jackknife import Floats, Ratio, Units
from quaver.estimation.means import quotient
from quaver.estimation.measure_input import Graded, MeasureInput, arranged, graded
from quaver.estimation.paired_differences import unpaired
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING

NAEINI = "Naeini, Cooper & Hauskrecht (2015), AAAI, Obtaining well calibrated probabilities, section 4.1"
FEW, FEWEST = 20, 5
"""Units below which a warning says so, and below which there is no interval."""

_EDGE = 1e-9
"""How far beyond its edge a confidence still counts as on it: 0.1 + 0.2 is on the edge 0.3."""


@measure(source=NAEINI, raters=ASKING, gold=True, numbers=("confidence",))
def ece(cell: Cell, *, bins: int = 10) -> Iterator[Estimate]:
    """Expected calibration error of the answers' confidence.

    ECE = Σ_b (n_b / n)·|mean confidence − share right| over bins b of confidence, of equal width: (a, b],
    with 0 in the first. It reads the column ``confidence``, numbers from 0 to 1. Answers without a
    label, a gold label or a confidence are left out and counted. Undefined where none is left.

    Chance raises ECE, the more so the fewer answers there are. The interval is therefore not that of the
    plain value but that of the true ECE, which infinitely many such items would give in the same bins. It may
    reach 0, and contains the plain value. With fewer than 5 items or groups there is no interval. In
    ``details``: ``floor`` and ``floor_high``, the mean and upper quantile of the ECE that perfect calibration
    would show with these confidences, and ``p`` of the value among them; ``correlation``, where items (or
    groups) have several answers: how alike these are in being right; ``bins_used``, the number of bins with
    answers; ``curve`` (see `reliability_curve`).

    Args:
        bins: How many bins.

    Two answers in (0.5, 0.6], one of them right, and two at 0.9, both right: (2·0.1 + 2·0.1) / 4:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("aabb"), "gold": list("abbb"),
    ...                       "confidence": [0.6, 0.6, 0.9, 0.9]})
    >>> round(ece(frame)[0].value, 12)
    0.1
    """
    answers = graded(cell, cell.numbers["confidence"])
    error = Statistic(method="expected calibration error", excluded=answers.excluded)
    yield calibration_error(cell, error, answers, bins)


@measure(raters=ASKING, gold=True, numbers=("confidence",))
def brier(cell: Cell) -> Iterator[Statistic]:
    """The Brier score of an answer's confidence that it is right.

    Mean of (confidence − right)², where right is 1 or 0. Answers that `ece` leaves out are left out.
    Undefined where no answer is left.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2], "label": list("ab"), "gold": list("aa"),
    ...                       "confidence": [0.5, 0.75]})
    >>> brier(frame)[0].value  # (0.25 + 0.5625) / 2
    0.40625
    """
    answers = graded(cell, cell.numbers["confidence"])
    n = np.bincount(answers.item, minlength=answers.items).astype(np.float64)
    statistic = Statistic(
        method="mean squared difference of confidence and being right",
        excluded=answers.excluded,
        n=n > 0,
        reason=answers.reason,
    )
    if answers.reason:
        yield statistic
        return
    square = (answers.confidence - answers.right) ** 2
    loss = np.bincount(answers.item, square, minlength=answers.items).astype(np.float64)
    warnings: tuple[str, ...] = ()
    if (n > 1).any():
        of_units = loss if cell.clusters is None else np.bincount(cell.clusters, loss).astype(np.float64)
        warnings = from_few(_like_units(of_units), cell.units.name)
    yield replace(
        statistic,
        under=Ratio(loss[:, None], n[:, None]),
        details={"answers": answers.right.size},
        warnings=warnings,
        ends=(0.0, 1.0),
    )


@measure(source=f"{NAEINI}, for the calibration errors; their shift is by definition")
def ece_shift(data: MeasureInput, *, bins: int = 10) -> Iterator[Estimate]:
    """The absolute shift of ECE between raw and label-set-normalised token confidence.

    |ECE(raw) − ECE(normalised)| within each condition (model × variant × decoding), averaged over a cell's
    conditions. The column ``confidence`` is the normalised one; the raw one is the column in the role
    ``raw`` (``columns={"raw": "token"}`` compares two columns), or else ``confidence × mass_coverage``. Both
    are measured on the answers that have both, a label and a gold label. Undefined where there are none.

    Chance raises a shift, since it is an absolute value, and also raises each of its two errors. The interval
    is that of the true shift, and may reach 0: a condition's interval is that of the difference of two true
    errors (Zou & Donner 2008), and the means of the conditions' ends are the cell's ends, since conditions
    share their items. In ``details``: ``ece_raw``, ``ece_normalised``, both mean confidences, the share
    right, and how many ``conditions`` and ``answers`` there are.

    Args:
        bins: How many bins.

    Two right answers, normalised confidence 1 and raw 0.5: errors 0 and 0.5:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2], "label": list("ab"), "gold": list("ab"),
    ...                       "confidence": [1.0, 1.0], "mass_coverage": [0.5, 0.5]})
    >>> ece_shift(frame)[0].value
    0.5
    """
    normalised, raw = data.numbers("confidence"), data.numbers("raw")
    if raw is None:
        mass = data.numbers("mass_coverage", within=(0.0, 1.0 + 1e-6))
        raw = None if mass is None or normalised is None else np.minimum(normalised * mass, 1.0)
    for cell in data.cells(raters=("repeat",), within=("model", "variant", "decoding"), gold=True):
        first, other = arranged(normalised, cell), arranged(raw, cell)
        both = graded(cell, first, other), graded(cell, other, first)
        absent = raw is None and both[0].reason == "no confidences"
        statistic = Statistic(
            method="|ECE of raw − ECE of normalised token confidence|, mean over conditions, "
            f"{bins} bins of equal width",
            excluded=both[0].excluded,
            n=0,
            reason="no raw confidences" if absent else both[0].reason,
        )
        yield cell.estimated(statistic if both[0].reason else _shift(cell, statistic, both, bins))


def _shift(cell: Cell, statistic: Statistic, both: tuple[Graded, Graded], bins: int) -> Statistic:
    """The mean shift over the conditions that have answers, with the means of their ends."""
    answers, raw = both
    errors: list[list[Estimate]] = []
    for index in np.unique(answers.stratum).tolist():
        here = answers.stratum == index
        some = (
            part._replace(item=part.item[here], confidence=part.confidence[here], right=part.right[here])
            for part in both
        )
        errors.append([calibration_error(cell, Statistic(method="ECE"), part, bins) for part in some])
    each = np.array([[first.number, other.number] for first, other in errors])
    apart = [ends for first, other in errors if (ends := unpaired(first, other)) is not None]
    low, high = np.array(apart).reshape(-1, 2).T
    shares = np.maximum(0, np.maximum(low, -high)), np.maximum(high, -low)
    ends = Interval(*(float(end.mean()) for end in shares)) if apart else None
    details = {
        "ece_normalised": float(each[:, 0].mean()),
        "ece_raw": float(each[:, 1].mean()),
        "conditions": len(each),
        "normalised_confidence": float(answers.confidence.mean()),
        "raw_confidence": float(raw.confidence.mean()),
        "right": float(answers.right.mean()),
        "answers": answers.right.size,
    }
    value = float(np.abs(each[:, 1] - each[:, 0]).mean())
    return replace(
        statistic,
        under=lambda weights: np.full((len(weights), 1), value),
        n=np.bincount(answers.item, minlength=answers.items) > 0,
        details=details,
        interval=ends and (ends, "interval of the true shift, the mean of the conditions' ends,"),
        warnings=tuple(
            dict.fromkeys(text for pair in errors for estimate in pair for text in estimate.warnings[:1])
        ),
    )


def assigned(confidence: Floats, bins: int) -> Ints:
    """The bin of each confidence, from 0: (a, b], with 0 in the first.

    A confidence of 0.1 × 3 is 0.30000000000000004 in floating point, and is in (0.2, 0.3] all the same:

    >>> assigned(np.array([0.0, 0.1, 0.1 * 3, 0.7, 0.70001, 1.0]), 10)
    array([0, 0, 2, 6, 7, 9])
    """
    if not isinstance(bins, (int, np.integer)) or bins < 1:
        raise MeasureError("not a number of bins", where="bins", expected="1 or more", found=repr(bins))
    place = np.ceil(confidence * bins - _EDGE * bins).astype(np.int64) - 1
    return np.clip(place, 0, bins - 1)


def calibration_error(cell: Cell, statistic: Statistic, answers: Graded, bins: int) -> Estimate:
    """The expected calibration error of some answers, with the interval of the true one.

    Returns:
        The estimate. In ``details``: ``floor``, ``floor_high`` and ``p`` (what perfect calibration shows, and
        the test of it); where units hold several answers, ``correlation``; ``bins_used`` and ``curve``.
    """
    statistic = replace(statistic, method=f"{statistic.method}, {bins} bins of equal width", ends=(0.0, 1.0))
    if answers.reason:
        return cell.estimated(replace(statistic, reason=answers.reason))
    noise, resampling = GapNoise(answers, bins, cell.units), cell.resampling
    place, size = answers.item * bins + assigned(answers.confidence, bins), answers.items * bins
    gaps, n = (
        np.bincount(place, values, size).reshape(-1, bins)
        for values in (answers.confidence - answers.right, np.ones(place.size))
    )

    def under(weights: Floats) -> Floats:
        return quotient(np.abs(weights @ gaps).sum(1), weights @ n.sum(1))[:, None]

    level = resampling.confidence_level
    details = {**statistic.details, "answers": answers.right.size, "curve": noise.curve(level)}
    estimate = cell.estimated(replace(statistic, under=under, n=n.sum(1) > 0, details=details))
    warnings, details = (
        estimate.warnings + noise.warnings(),
        dict(estimate.details) | {"bins_used": noise.n.size},
    )
    if estimate.value is None or not resampling.resamples:
        return replace(estimate, warnings=warnings, details=details)
    seed, shares = derive(resampling.seed, "calibration noise"), noise.n / noise.n.sum()
    perfect, such = (
        np.abs(noise.deviations(share, resampling.resamples, seed)) @ shares
        for share in (noise.confidence, noise.right)
    )
    details |= above_floor(estimate.value, perfect, level)
    details |= {"correlation": noise.rho} if noise.answers_together else {}
    if details["floor_high"] >= estimate.value:
        warnings += (
            f"no more than perfect calibration may show with these {int(noise.n.sum())} answers "
            f"(mean {details['floor']:.3g}, up to {details['floor_high']:.3g})",
        )
    estimate = replace(estimate, warnings=warnings, details=details)
    if estimate.low is None or noise.units < FEWEST:
        return replace(estimate, low=None, high=None, method=statistic.method)
    reach = float(np.quantile(such, (1 + level) / 2))
    low = max(0.0, min(estimate.low, estimate.number - reach)) if details["p"] <= 1 - level else 0.0
    return replace(estimate, low=low, method=f"{estimate.method}, less what noise adds")


class GapNoise:
    """The bins that hold answers, and the noise of their gaps.

    A bin's gap is its mean confidence less its share of right answers. Answers of one unit (an item, or a
    group of items) depend on each other with correlation ρ, whichever bins they are in, so the gaps of two
    bins have the covariance s_b·s_c·((1 − ρ)·n_b·[b = c] + ρ·Σ_units n_ub·n_uc) / (n_b·n_c) (Kish 1965,
    Survey Sampling, section 5.4), with s² = q(1 − q) at a share q of right answers, which is kept half an
    independent answer away from 0 and 1.

    Attributes:
        n: The answers of each bin that has any.
        confidence: Their mean confidence.
        right: Their share of right answers.
        rho: The correlation ρ within a unit; 1 where no bin has right and wrong answers, so nothing is known.
        units: How many units hold answers.
        answers_together: Whether a unit holds several answers.
        events: From how many units, all alike, the wrong answers might come, or the right ones if those come
            from fewer.
    """

    def __init__(self, answers: Graded, bins: int, units: Units) -> None:
        there, place = np.unique(assigned(answers.confidence, bins), return_inverse=True)
        self._edges, self._unit = np.stack([there, there + 1]) / bins, units.name
        self.n = np.bincount(place).astype(np.float64)
        self.confidence, self.right = (
            np.bincount(place, values) / self.n for values in (answers.confidence, answers.right)
        )
        unit = answers.item if units.clusters is None else units.clusters[answers.item]
        unit = np.unique(unit, return_inverse=True)[1]
        self.units = int(unit.max(initial=-1)) + 1
        each = np.bincount(unit * self.n.size + place, minlength=self.units * self.n.size)
        each = each.reshape(self.units, -1).astype(np.float64)
        self._together = each.T @ each
        self.answers_together = float(self._together.sum()) > float(self.n.sum())
        self.rho = self._correlation(answers.right - self.right[place], place, unit)
        self.events = min(
            _like_units(np.bincount(unit, answers.right == kind).astype(np.float64)) for kind in (0, 1)
        )

    def _correlation(self, residual: Floats, place: Ints, unit: Ints) -> float:
        """The mean correlation of two answers of one unit, in being right; 0 where no unit has two."""
        variance = (self.right * (1 - self.right))[place]
        z = np.where(variance > 0, residual / np.sqrt(np.where(variance > 0, variance, 1)), 0)
        count = np.bincount(unit)
        pairs, squares = float((count * (count - 1)).sum()), float((z**2).sum())
        if not pairs or not squares:
            return float(pairs > 0)
        inflated = float((np.bincount(unit, z) ** 2).sum()) * count.size / max(1, count.size - 1)
        return float(np.clip((inflated - squares) / pairs, 0, 1))

    @property
    def _effect(self) -> Floats:
        """How many answers of each bin know as much as one that is independent: its design effect."""
        return 1 + self.rho * (np.diag(self._together) / self.n - 1)

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
        drawn = rng.standard_normal((draws, self.n.size)) * np.sqrt(np.maximum(scale, 0)) @ turned.T
        edge = 0.5 / (self.n / self._effect + 1)
        share = np.clip(right, edge, 1 - edge)
        return np.asarray(drawn * np.sqrt(share * (1 - share)) / self.n)

    def curve(self, confidence_level: float) -> list[dict[str, float]]:
        """What `reliability_curve` gives. The interval of a share is Wilson's, with units taken together.

        (a + z²/2m ± z √(a(1 − a)/m + z²/4m²)) / (1 + z²/m), a being the share and m how many independent
        answers would know it as well: n over the design effect (Wilson 1927, Journal of the ASA 22, 209-212).
        """
        a, m = self.right, self.n / self._effect
        z = float(special.ndtri(0.5 + confidence_level / 2))
        half = z * np.sqrt(a * (1 - a) / m + z**2 / (4 * m**2))
        low, high = (np.clip((a + z**2 / (2 * m) + sign * half) / (1 + z**2 / m), 0, 1) for sign in (-1, 1))
        columns = (*self._edges, self.n, self.confidence, a, low, high)
        names = ("low", "high", "n", "confidence", "right", "right_low", "right_high")
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [{**dict(zip(names, row, strict=True)), "n": int(row[2])} for row in rows]

    def warnings(self) -> tuple[str, ...]:
        """Why the interval may be too narrow."""
        warnings: tuple[str, ...] = ()
        if self.units < FEW:
            none = ", too few for an interval" if self.units < FEWEST else ""
            text = f"only {self.units} {self._unit}s hold answers{none}: single bins rest on very few"
            warnings = (IntervalWarning(text),)
        elif self.answers_together:
            warnings = from_few(self.events, self._unit)
        if self.n.size == 1:
            warnings += ("all answers are in one bin: the error is that of the mean confidence",)
        return warnings


def _like_units(sums: Floats) -> float:
    """How many units, all alike, tell as much as these: (Σ x)² / Σ x² (Kish 1965, Survey Sampling).

    Twelve wrong answers, ten of them to one item, come from hardly more than one:

    >>> round(_like_units(np.array([10.0, 1.0, 1.0, 0.0])), 2)
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


@guarded
def reliability_curve(
    confidence: Sequence[float] | Floats,
    right: Sequence[float] | Floats,
    *,
    bins: int = 10,
    level: float = 0.95,
) -> list[dict[str, float]]:
    """Mean confidence and share of right answers in each bin that holds answers.

    Args:
        confidence: Of each answer, from 0 to 1, shape (answers,).
        right: 1 or True where it is right, the same shape.
        bins: How many bins.
        level: Of the shares' intervals.

    Returns:
        By bin: ``low`` and ``high`` (its ends), ``n``, ``confidence`` (mean), ``right`` (share), and the ends
        of its interval, ``right_low`` and ``right_high`` (see `GapNoise.curve`).

    One right of two: (0.5 + 3.84/4 ± 1.96 √(0.125 + 3.84/16)) / (1 + 3.84/2) is 0.5 ± 0.4055:

    >>> (row,) = reliability_curve([0.75, 0.75], [1, 0], bins=2)
    >>> [row[name] for name in ("low", "high", "n", "confidence", "right")]
    [0.5, 1.0, 2, 0.75, 0.5]
    >>> round(row["right_low"], 4), round(row["right_high"], 4)
    (0.0945, 0.9055)
    """
    sure, true = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    if not sure.size:
        return []
    answers = Graded(np.arange(sure.size), np.zeros(sure.size, np.int64), sure, true, sure.size, {}, None)
    return GapNoise(answers, bins, Units(sure.size)).curve(level)
