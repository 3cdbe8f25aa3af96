"""Raw and normalised token confidence side by side: how far normalising over the label set moves ECE.

The raw confidence is the probability of the label's token in the whole vocabulary; the normalised one is its
share among the labels' tokens. Which of them a study reports changes its calibration error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from quaver.core.records import Estimate, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Resampling, Units, bootstrap
from quaver.estimation.cells import cells
from quaver.estimation.column_roles import Columns
from quaver.estimation.confidences import Graded, arranged, graded, numbers_of
from quaver.estimation.intervals import Claim, clopper_pearson, estimate, mean_within, percentile, undefined
from quaver.estimation.means import over_strata
from quaver.estimation.measure_protocol import Frame
from quaver.measures.calibration.calibration_bins import Binning, assigned

__all__ = ["SHIFTS", "ece_shift", "over_cells"]

SHIFTS = (0.05, 0.20)
"""The shifts whose share among cells is reported."""

_METHOD = "|ECE of raw − ECE of normalised token confidence|, {bins} bins of equal {binning}"


def ece_shift(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    bins: int = 10,
    binning: Binning = "width",
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """The absolute shift of ECE between raw and label-set-normalised token confidence.

    |ECE(raw) − ECE(normalised)| within each condition (model × variant × decoding), averaged over a cell's
    conditions. ``confidence`` is the normalised one; the raw one is the column in the role ``raw``, or else
    ``confidence × mass_coverage``. Both are measured on the answers that have both, a label and a gold
    label. Undefined where there are none. The interval resamples items.

    In ``details``: ``ece_raw``, ``ece_normalised``, both mean confidences, the share right, the shift of
    each condition, its interval over conditions (resampled), and the shares of conditions that shift by more
    than 0.05 and 0.20 with exact binomial intervals. `over_cells` gives the same over any cells.

    Source: the definition; the calibration errors are Naeini, Cooper & Hauskrecht (2015), AAAI, Obtaining
    well calibrated probabilities, section 4.1.

    Args:
        annotations: A row an annotation, with ``confidence``, ``gold`` and ``mass_coverage``.
        labels: The label set.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        bins: How many bins.
        binning: ``"width"`` or ``"mass"``.
        columns: Other names for the frame's columns; ``{"raw": "token"}`` compares two columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell.

    Raises:
        MeasureError: The frame or an option cannot be used; a confidence is not between 0 and 1.

    Two right answers, normalised confidence 1 and raw 0.5: errors 0 and 0.5:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2], "label": list("ab"), "gold": list("ab"),
    ...                       "confidence": [1.0, 1.0], "mass_coverage": [0.5, 0.5]})
    >>> ece_shift(frame)[0].value
    0.5
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    within = ("model", "variant", "decoding")
    parts = cells(
        annotations,
        raters=("repeat",),
        within=within,
        by=by,
        labels=labels,
        columns=columns,
        group=group,
        gold=True,
    )
    normalised = numbers_of(annotations, "confidence", columns)
    raw = numbers_of(annotations, "raw", columns)
    if raw is None:
        mass = numbers_of(annotations, "mass_coverage", columns, within=(0.0, 1.0 + 1e-6))
        raw = None if mass is None or normalised is None else np.minimum(normalised * mass, 1.0)
    why = "no raw confidences" if raw is None else None
    claim = Claim("ece_shift", _METHOD.format(bins=bins, binning=binning) + ", mean over conditions")
    found = []
    for cell in parts:
        one, other = arranged(normalised, cell), arranged(raw, cell)
        answers = graded(cell, one, other)
        where = replace(claim, cell=cell.where, excluded=answers.excluded)
        if answers.reason:
            absent = why if answers.reason == "no confidences" else None
            found.append(undefined(replace(where, n=0), cell.units, resampling, absent or answers.reason))
            continue
        both = _Both(answers, graded(cell, other, one).confidence, len(cell.strata))
        found.append(_shift(where, both, cell.units, resampling, bins, binning, cell.strata))
    return found


class _Both(NamedTuple):
    """Answers with both confidences: ``answers.confidence`` is the normalised one."""

    answers: Graded
    raw: Floats
    strata: int

    def gaps(self, confidence: Floats, bins: int, binning: Binning) -> Floats:
        """Σ (confidence − right) by item, stratum and bin, shape (items, strata × bins)."""
        answers = self.answers
        of = assigned(confidence, bins, binning).of
        place = (answers.item * self.strata + answers.stratum) * bins + of
        size = answers.items * self.strata * bins
        sums = np.bincount(place, confidence - answers.right, minlength=size)
        return np.asarray(sums.reshape(answers.items, self.strata * bins), np.float64)

    def counts(self) -> Floats:
        """Answers by item and stratum."""
        place = self.answers.item * self.strata + self.answers.stratum
        n = np.bincount(place, minlength=self.answers.items * self.strata)
        return n.reshape(self.answers.items, self.strata).astype(np.float64)


def _shift(
    claim: Claim,
    both: _Both,
    units: Units,
    resampling: Resampling,
    bins: int,
    binning: Binning,
    strata: Sequence[dict[str, str]],
) -> Estimate:
    answers = both.answers
    normalised = both.gaps(answers.confidence, bins, binning)
    raw = both.gaps(both.raw, bins, binning)
    n = both.counts()

    def errors(weights: Floats, gaps: Floats) -> Floats:
        total = weights @ n
        sums = np.abs(weights @ gaps).reshape(len(weights), both.strata, bins).sum(2)
        return np.asarray(np.where(total > 0, sums / np.where(total > 0, total, 1), np.nan))

    def shifts(weights: Floats) -> Floats:
        return np.asarray(np.abs(errors(weights, raw) - errors(weights, normalised)))

    ones = np.ones((1, answers.items))
    each, told = shifts(ones)[0], (errors(ones, raw)[0], errors(ones, normalised)[0])
    known = np.isfinite(each)
    draws = bootstrap(over_strata(shifts), units, resampling)
    value = float(draws.point[0])
    names = ["ece_raw", "ece_normalised"]
    details: dict[str, Any] = {name: float(np.nanmean(some)) for name, some in zip(names, told, strict=True)}
    details |= {
        "raw_confidence": float(both.raw.mean()),
        "normalised_confidence": float(answers.confidence.mean()),
        "right": float(answers.right.mean()),
        "answers": answers.right.size,
    }
    if known.sum() > 1:
        details["by_condition"] = [
            {**where, "shift": float(shift)}
            for where, shift, there in zip(strata, each, known, strict=True)
            if there
        ]
        whole = _summary(each[known], resampling, "condition")
        details |= {
            "conditions": int(known.sum()),
            "interval_over_conditions": whole.pop("interval"),
            **whole,
        }
    claim = replace(
        claim,
        n=units.touched(n.sum(1) > 0),
        details=details,
        spread=partial(mean_within, value),
    )
    return estimate(claim, draws, units, resampling)


def _summary(shifts: Floats, resampling: Resampling, unit: str) -> dict[str, Any]:
    units = Units(shifts.size, None, unit)
    draws = bootstrap(lambda w: (w @ shifts / w.sum(1))[:, None], units, resampling, jackknife=False)
    interval = percentile(draws.values[:, 0], resampling.tail)
    found: dict[str, Any] = {"interval": interval and tuple(interval)}
    for bound in SHIFTS:
        over = int((shifts > bound).sum())
        found[f"share_over_{bound:.2f}"] = over / shifts.size
        found[f"share_over_{bound:.2f}_interval"] = tuple(
            clopper_pearson(over, shifts.size, resampling.confidence)
        )
    return found


def over_cells(
    estimates: Sequence[Estimate],
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    interval: Literal["bca", "percentile"] = "bca",
) -> Estimate:
    """The mean of an estimate over cells, with an interval that resamples cells.

    Args:
        estimates: One a cell, all of one measure: of `ece_shift`, say, with ``by``.
        confidence: Nominal level.
        resamples: Bootstrap resamples of the cells.
        seed: Root seed.
        interval: Which interval is given.

    Returns:
        The mean over the cells where it is defined; in ``details`` the shares of cells above 0.05 and
        0.20, with exact binomial intervals, and the cells left out, each with its reason.

    Raises:
        MeasureError: There are no estimates, or they are of several measures.

    >>> cells = [Estimate("ece_shift", value, cell={"model": name}) for name, value in
    ...          [("m", 0.01), ("n", 0.06), ("o", 0.26)]]
    >>> mean = over_cells(cells)
    >>> round(mean.value, 12), mean.n, mean.unit, round(mean.details["share_over_0.05"], 3)
    (0.11, 3, 'cell', 0.667)
    """
    names = {one.measure for one in estimates}
    if len(names) != 1:
        raise MeasureError(
            "not estimates of one measure",
            where="estimates",
            expected="one measure's, of several cells",
            found=", ".join(sorted(names)) or "nothing",
        )
    resampling = Resampling(confidence, resamples, seed, interval)
    values = np.array([one.value for one in estimates if one.value is not None])
    left = [{**one.cell, "reason": one.reason} for one in estimates if one.value is None]
    name = names.pop()
    claim = Claim(
        name,
        f"mean of {name} over cells",
        estimates[0].reference,
        excluded={"cell": len(left)} if left else {},
        details={"excluded_cells": left} if left else {},
        n=values.size,
    )
    units = Units(values.size, None, "cell")
    if not values.size:
        return undefined(claim, units, resampling, "undefined in every cell")
    draws = bootstrap(lambda w: (w @ values / w.sum(1))[:, None], units, resampling)
    told = {key: value for key, value in _summary(values, resampling, "cell").items() if key != "interval"}
    claim = replace(claim, details={**(claim.details or {}), **told})
    return estimate(claim, draws, units, resampling)
