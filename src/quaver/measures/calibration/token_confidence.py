"""Raw and normalised token confidence side by side: how far normalising over the label set moves ECE.

The raw confidence is the probability of the label's token in the whole vocabulary; the normalised one is its
share among the labels' tokens. Which of them a study reports changes its calibration error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special

from quaver.core.records import Estimate
from quaver.core.rows import defined
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Resampling, Units, jackknife
from quaver.estimation.cells import guarded
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import clopper_pearson, effective
from quaver.estimation.means import over_strata
from quaver.estimation.measure_input import Graded, MeasureInput, arranged, graded
from quaver.estimation.statistic import Cell, Sampler, Statistic
from quaver.measures.calibration.calibration_bins import Binning, assigned
from quaver.measures.calibration.confidence_shifts import Both, true_shift
from quaver.measures.calibration.true_calibration_error import GapNoise, gap_noise

_METHOD = "interval of the true shift by test inversion"

SHIFTS = (0.05, 0.20)
"""The shifts whose share among cells is reported."""


@measure(
    section="accuracy",
    source="Naeini, Cooper & Hauskrecht (2015), AAAI, Obtaining well calibrated probabilities, section 4.1, "
    "for the calibration errors; their shift is by definition",
)
def ece_shift(data: MeasureInput, *, bins: int = 10, binning: Binning = "width") -> Iterator[Estimate]:
    """The absolute shift of ECE between raw and label-set-normalised token confidence.

    |ECE(raw) − ECE(normalised)| within each condition (model × variant × decoding), averaged over a cell's
    conditions. The column ``confidence`` is the normalised one; the raw one is the column in the role
    ``raw`` (``columns={"raw": "token"}`` compares two columns), or else ``confidence × mass_coverage``. Both
    are measured on the answers that have both, a label and a gold label. Undefined where there are none.

    Chance pushes a shift up, since it is an absolute value, and each of its two errors by itself. The
    interval is of the true shift, by test inversion, and may reach 0; it is widened to hold the plain one,
    and ``debiased`` in ``details`` is the true shift at which the plain one would be the median.

    In ``details``: ``ece_raw``, ``ece_normalised``, both mean confidences, the share right, the shift of
    each condition, its interval over conditions (resampled), and the shares of conditions that shift by more
    than 0.05 and 0.20 with exact binomial intervals. `over_cells` gives the same over any cells.

    Args:
        bins: How many bins.
        binning: ``"width"`` or ``"mass"``.

    Two right answers, normalised confidence 1 and raw 0.5: errors 0 and 0.5:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2], "label": list("ab"), "gold": list("ab"),
    ...                       "confidence": [1.0, 1.0], "mass_coverage": [0.5, 0.5]})
    >>> ece_shift(frame)[0].value
    0.5
    """
    method = f"|ECE of raw − ECE of normalised token confidence|, {bins} bins of equal {binning}"
    parts = data.cells(raters=("repeat",), within=("model", "variant", "decoding"), gold=True)
    normalised = data.numbers("confidence")
    raw = data.numbers("raw")
    if raw is None:
        mass = data.numbers("mass_coverage", within=(0.0, 1.0 + 1e-6))
        raw = None if mass is None or normalised is None else np.minimum(normalised * mass, 1.0)
    for cell in parts:
        one, other = arranged(normalised, cell), arranged(raw, cell)
        answers = graded(cell, one, other)
        statistic = Statistic(method=f"{method}, mean over conditions", excluded=answers.excluded, n=0)
        if answers.reason:
            absent = raw is None and answers.reason == "no confidences"
            reason = "no raw confidences" if absent else answers.reason
            yield cell.estimated(replace(statistic, reason=reason))
            continue
        both = Both(answers, graded(cell, other, one).confidence, len(cell.strata))
        shift = _shift(statistic, both, cell, bins, binning)
        yield true_shift(both, cell, bins, binning).estimated(cell, shift, _METHOD)


def _shift(statistic: Statistic, both: Both, cell: Cell, bins: int, binning: Binning) -> Statistic:
    answers = both.answers
    errors = both.errors(bins, binning)

    def shifts(weights: Floats) -> Floats:
        each = errors(weights)
        return np.asarray(np.abs(each[:, : both.strata] - each[:, both.strata :]))

    ones = np.ones((1, answers.items))
    raw, normalised = np.split(errors(ones)[0], 2)
    return replace(
        statistic,
        under=over_strata(shifts),
        n=cell.units.touched(both.counts().sum(1) > 0),
        details={
            "ece_raw": float(np.nanmean(raw)),
            "ece_normalised": float(np.nanmean(normalised)),
            "raw_confidence": float(both.raw.mean()),
            "normalised_confidence": float(answers.confidence.mean()),
            "right": float(answers.right.mean()),
            "answers": answers.right.size,
            **_by_condition(shifts(ones)[0], cell),
        },
        ends=(0.0, 1.0),
    )


def _by_condition(shifts: Floats, cell: Cell) -> dict[str, Any]:
    """The shift of each condition and a summary over them; nothing where fewer than two have one."""
    known = np.isfinite(shifts)
    if known.sum() < 2:
        return {}
    each = zip(cell.strata, shifts, known, strict=True)
    whole = _summary(shifts[known], cell.resampling, "condition")
    return {
        "by_condition": [{**where, "shift": float(shift)} for where, shift, there in each if there],
        "conditions": int(known.sum()),
        "interval_over_conditions": whole.pop("interval"),
        **whole,
    }


def _summary(shifts: Floats, resampling: Resampling, unit: str) -> dict[str, Any]:
    units = Units(shifts.size, None, unit)
    draws = jackknife(lambda w: (w @ shifts / w.sum(1))[:, None], units, resampling)
    variance, freedom = float(draws.variance[0]), float(draws.freedom[0])
    ends = (0.0, 1.0) if shifts.size and shifts.min() >= 0 and shifts.max() <= 1 else None
    interval = effective(float(draws.point[0]), variance, freedom, resampling.confidence_level, ends)
    result: dict[str, Any] = {"interval": tuple(interval) if freedom > 0 else None}
    for bound in SHIFTS:
        over = int((shifts > bound).sum())
        result[f"share_over_{bound:.2f}"] = over / shifts.size
        result[f"share_over_{bound:.2f}_interval"] = tuple(
            clopper_pearson(over, shifts.size, resampling.confidence_level)
        )
    return result


def over_cells(
    estimates: Sequence[Estimate],
    *,
    confidence_level: float = 0.95,
) -> Estimate:
    """The mean of an estimate over cells, with an interval that resamples cells.

    Returns:
        The mean over the cells where it is defined; in ``details`` the shares of cells above 0.05 and
        0.20, with exact binomial intervals, and the cells left out, each with its reason.

    >>> cells = [Estimate("ece_shift", value, cell={"model": name}) for name, value in
    ...          [("m", 0.01), ("n", 0.06), ("o", 0.26)]]
    >>> mean = over_cells(cells)
    >>> round(mean.value, 12), mean.n, mean.unit, round(mean.details["share_over_0.05"], 3)
    (0.11, 3, 'cell', 0.667)
    """
    names = {estimate.measure for estimate in estimates}
    if len(names) != 1:
        raise MeasureError(
            "not estimates of one measure",
            where="estimates",
            expected="one measure's, of several cells",
            found=", ".join(sorted(names)) or "nothing",
        )
    resampling = Resampling(confidence_level)
    values = np.array([estimate.number for estimate in defined(estimates)])
    left = [{**estimate.cell, "reason": estimate.reason} for estimate in estimates if estimate.value is None]
    name = names.pop()
    statistic = Statistic(
        method=f"mean of {name} over cells",
        excluded={"cell": len(left)} if left else {},
        reason="undefined in every cell",
        n=values.size,
    )
    details: dict[str, Any] = {"excluded_cells": left} if left else {}
    if values.size:
        statistic = replace(statistic, under=lambda w: (w @ values / w.sum(1))[:, None])
        details |= {
            key: value for key, value in _summary(values, resampling, "cell").items() if key != "interval"
        }
    cells = Sampler(Units(values.size, None, "cell"), resampling, measure=name, source=estimates[0].reference)
    return cells.estimated(replace(statistic, details=details))


def curve(noise: GapNoise, edges: Floats, confidence_level: float) -> list[dict[str, float]]:
    """What `reliability_curve` gives, of bins that are known already."""
    low, high = right_between(noise, confidence_level)
    return [
        {
            "low": float(edges[k]),
            "high": float(edges[k + 1]),
            "n": int(noise.n[index]),
            "confidence": float(noise.confidence[index]),
            "right": float(noise.right[index]),
            "right_low": float(low[index]),
            "right_high": float(high[index]),
        }
        for index, k in enumerate(noise.bins)
    ]


def right_between(noise: GapNoise, confidence_level: float = 0.95) -> tuple[Floats, Floats]:
    """The interval of each bin's share of right answers: Wilson's, with answers of one unit taken together.

    (a + z²/2m ± z √(a(1 − a)/m + z²/4m²)) / (1 + z²/m), a being the share and m how many independent answers
    would know it as well: n / (1 + ρ(Σ_units n_u²/n − 1)), with the correlation ρ of a unit's answers over
    all bins (Wilson 1927, Journal of the ASA 22, 209-212; Kish 1965, Survey Sampling, section 5.4).

    Returns:
        The low and the high ends, shape (bins that hold answers,).
    """
    a, m = noise.right, noise.n / noise.effect
    z = float(special.ndtri(0.5 + confidence_level / 2))
    middle = a + z**2 / (2 * m)
    half = z * np.sqrt(a * (1 - a) / m + z**2 / (4 * m**2))
    low, high = (np.clip((middle + sign * half) / (1 + z**2 / m), 0, 1) for sign in (-1, 1))
    return low, high


@guarded
def reliability_curve(
    confidence: Sequence[float] | Floats,
    right: Sequence[float] | Floats,
    *,
    bins: int = 10,
    binning: Binning = "width",
    level: float = 0.95,
) -> list[dict[str, float]]:
    """Mean confidence and share of right answers in each bin that holds answers.

    Args:
        confidence: Of each answer, from 0 to 1, shape (answers,).
        right: 1 or True where it is right, the same shape.
        bins: How many bins.
        binning: ``"width"`` or ``"mass"``.
        level: Of the shares' intervals.

    Returns:
        By bin: ``low`` and ``high`` (its ends), ``n``, ``confidence`` (mean), ``right`` (share), and the ends
        of its interval, ``right_low`` and ``right_high`` (see `right_between`).

    One right of two: (0.5 + 3.84/4 ± 1.96 √(0.125 + 3.84/16)) / (1 + 3.84/2) is 0.5 ± 0.4055:

    >>> (row,) = reliability_curve([0.75, 0.75], [1, 0], bins=2)
    >>> [row[name] for name in ("low", "high", "n", "confidence", "right")]
    [0.5, 1.0, 2, 0.75, 0.5]
    >>> round(row["right_low"], 4), round(row["right_high"], 4)
    (0.0945, 0.9055)
    """
    sure, true = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    alone = np.arange(sure.size)
    answers = Graded(alone, np.zeros_like(alone), sure, true, sure.size, {}, None)
    found = assigned(sure, bins, binning)
    return curve(gap_noise(answers, found, Units(sure.size)), found.edges, level) if sure.size else []
