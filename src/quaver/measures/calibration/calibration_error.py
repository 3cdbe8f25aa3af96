"""Calibration: whether answers given with confidence p are right in a share p of cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Floats, Ratio, Units
from quaver.estimation.cells import guarded
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import Interval
from quaver.estimation.means import quotient
from quaver.estimation.measure_input import Graded, MeasureInput, arranged, graded
from quaver.estimation.paired_differences import unpaired
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.calibration.calibration_bins import Binning, assigned, binned, brier_parts
from quaver.measures.calibration.true_calibration_error import GapNoise, from_few, like_units, true_error
from quaver.measures.variation.label_shares import ASKING

NAEINI = "Naeini, Cooper & Hauskrecht (2015), AAAI, Obtaining well calibrated probabilities, section 4.1"
BRIER = "Brier (1950), Monthly Weather Review 78, 1-3; parts: Murphy (1973), Stephenson et al. (2008)"


@measure(
    title="How far confidence is from the share correct: expected calibration error",
    axis="expected calibration error",
    section="accuracy",
    better="lower",
    source=NAEINI,
    raters=ASKING,
    gold=True,
    numbers=("confidence",),
)
def ece(cell: Cell, *, bins: int = 10, binning: Binning = "width") -> Iterator[Estimate]:
    """Expected calibration error of the answers' confidence.

    ECE = Σ_b (n_b / n)·|mean confidence − share right| over bins b of confidence. Bins of equal width are
    (a, b], with 0 in the first. It reads the column ``confidence``, numbers from 0 to 1. Answers without a
    label, a gold label or a confidence are left out and counted. Undefined where none is left.

    Chance pushes ECE up, more so the fewer the answers, so the interval is not of the plain value but of the
    true ECE: what infinitely many such items would give in the same bins
    (`quaver.measures.calibration.true_calibration_error`). It may reach 0, and holds the plain value. With
    fewer than 5 items or groups there is none. In ``details``: ``floor`` and ``floor_high``, the mean and
    upper quantile of what perfect calibration would show with these confidences, and ``p`` of the value among
    them; where items (or groups) have several answers, ``correlation`` says how alike these are in being
    right; ``bins_used``, how many bins hold answers; ``curve`` (see `reliability_curve`).

    Args:
        bins: How many bins.
        binning: ``"width"`` or ``"mass"`` (see `calibration_bins.assigned`).

    Two answers in (0.5, 0.6], one of them right, and two at 0.9, both right: (2·0.1 + 2·0.1) / 4:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("aabb"), "gold": list("abbb"),
    ...                       "confidence": [0.6, 0.6, 0.9, 0.9]})
    >>> round(ece(frame)[0].value, 12)
    0.1
    """
    answers = graded(cell, cell.numbers["confidence"])
    error = Statistic(method="expected calibration error", excluded=answers.excluded)
    yield calibration_error(cell, error, answers, bins, binning)


@measure(
    title="Confidence against correctness: Brier score",
    axis="Brier score (0: sure and correct)",
    section="accuracy",
    better="lower",
    drawn="closer",
    source=BRIER,
    raters=ASKING,
    gold=True,
    numbers=("confidence",),
)
def brier(cell: Cell, *, bins: int = 10, binning: Binning = "width") -> Iterator[Statistic]:
    """The Brier score of an answer's confidence that it is right.

    Mean of (confidence − right)², where right is 1 or 0. In ``details`` its parts over the bins:
    reliability − resolution + uncertainty + variance − covariance within bins. It leaves out what `ece`
    leaves out, and is undefined where no answer is left. The interval resamples items.

    Args:
        bins: How many bins the parts rest on.
        binning: ``"width"`` or ``"mass"``.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2], "label": list("ab"), "gold": list("aa"),
    ...                       "confidence": [0.5, 0.75]})
    >>> brier(frame)[0].value  # (0.25 + 0.5625) / 2
    0.40625
    """
    answers = graded(cell, cell.numbers["confidence"])
    chosen = assigned(answers.confidence, bins, binning)
    n = np.bincount(answers.item, minlength=answers.items).astype(np.float64)
    known = n > 0
    statistic = Statistic(
        method="mean squared difference of confidence and being right",
        excluded=answers.excluded,
        n=cell.units.touched(known),
        reason=answers.reason,
    )
    if answers.reason:
        yield statistic
        return
    square = (answers.confidence - answers.right) ** 2
    loss = np.bincount(answers.item, square, minlength=answers.items).astype(np.float64)
    own = np.asarray(np.where(known, loss / np.maximum(n, 1), np.nan), np.float64)
    warnings: tuple[str, ...] = ()
    if (n > 1).any():
        of_units = loss if cell.clusters is None else np.bincount(cell.clusters, loss).astype(np.float64)
        warnings = from_few(like_units(of_units), cell.units.name)
    yield replace(
        statistic,
        under=Ratio(loss[:, None], n[:, None]),
        details={**brier_parts(answers, chosen), "answers": answers.right.size},
        warnings=warnings,
        ends=(0.0, 1.0),
        values=own,
    )


def calibration_error(
    cell: Cell, statistic: Statistic, answers: Graded, bins: int, binning: Binning, *, largest: bool = False
) -> Estimate:
    """The expected or the largest calibration error of some answers, with the interval of the true one."""
    statistic = replace(
        statistic, method=f"{statistic.method}, {bins} bins of equal {binning}", ends=(0.0, 1.0)
    )
    if answers.reason:
        return cell.estimated(replace(statistic, reason=answers.reason))
    chosen = assigned(answers.confidence, bins, binning)
    gaps = binned(answers, chosen, answers.confidence - answers.right)
    n, noise = binned(answers, chosen, np.ones(answers.right.size)), GapNoise(answers, chosen, cell.units)
    shares = noise.n / noise.n.sum()

    def norm(gaps: Floats) -> Floats:
        size = np.abs(gaps)
        return np.asarray(size.max(1) if largest else size @ shares)

    def under(weights: Floats) -> Floats:
        if not largest:
            return quotient(np.abs(weights @ gaps).sum(1), weights @ n.sum(1))[:, None]
        error = np.nan_to_num(quotient(np.abs(weights @ gaps), weights @ n), nan=-1.0).max(1)
        return np.where(error >= 0, error, np.nan)[:, None]

    curve = noise.curve(chosen.edges, cell.resampling.confidence_level)
    details = {**statistic.details, "answers": answers.right.size, "curve": curve}
    touched = cell.units.touched(n.sum(1) > 0)
    return true_error(cell, replace(statistic, under=under, n=touched, details=details), noise, norm)


@measure(
    title="How much normalizing token confidence changes the calibration error",
    section="accuracy",
    source=f"{NAEINI}, for the calibration errors; their shift is by definition",
)
def ece_shift(data: MeasureInput, *, bins: int = 10, binning: Binning = "width") -> Iterator[Estimate]:
    """The absolute shift of ECE between raw and label-set-normalised token confidence.

    |ECE(raw) − ECE(normalised)| within each condition (model × variant × decoding), averaged over a cell's
    conditions. The column ``confidence`` is the normalised one; the raw one is the column in the role
    ``raw`` (``columns={"raw": "token"}`` compares two columns), or else ``confidence × mass_coverage``. Both
    are measured on the answers that have both, a label and a gold label. Undefined where there are none.

    Chance pushes a shift up, since it is an absolute value, and each of its two errors by itself. The
    interval is of the true shift, and may reach 0: each condition's ends are those of the difference of two
    true errors (Zou & Donner 2008), and their means are the ends over conditions, which share their items.
    In ``details``: ``ece_raw``, ``ece_normalised``, both mean confidences, the share right, and how many
    ``conditions`` and ``answers`` there are.

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
    normalised, raw = data.numbers("confidence"), data.numbers("raw")
    if raw is None:
        mass = data.numbers("mass_coverage", within=(0.0, 1.0 + 1e-6))
        raw = None if mass is None or normalised is None else np.minimum(normalised * mass, 1.0)
    for cell in data.cells(raters=("repeat",), within=("model", "variant", "decoding"), gold=True):
        one, other = arranged(normalised, cell), arranged(raw, cell)
        both = graded(cell, one, other), graded(cell, other, one)
        absent = raw is None and both[0].reason == "no confidences"
        statistic = Statistic(
            method="|ECE of raw − ECE of normalised token confidence|, mean over conditions, "
            f"{bins} bins of equal {binning}",
            excluded=both[0].excluded,
            n=0,
            reason="no raw confidences" if absent else both[0].reason,
        )
        yield cell.estimated(statistic) if both[0].reason else _shift(cell, statistic, both, bins, binning)


def _shift(
    cell: Cell, statistic: Statistic, both: tuple[Graded, Graded], bins: int, binning: Binning
) -> Estimate:
    """The mean shift over the conditions that have answers, with the means of their ends."""
    answers, raw = both
    errors: list[tuple[Estimate, Estimate]] = []
    for index in np.unique(answers.stratum).tolist():
        here = answers.stratum == index
        some = (
            part._replace(item=part.item[here], confidence=part.confidence[here], right=part.right[here])
            for part in both
        )
        first, second = (
            calibration_error(cell, Statistic(method="ECE"), part, bins, binning) for part in some
        )
        errors.append((first, second))
    each = np.array([[one.number, other.number] for one, other in errors])
    apart = [ends for one, other in errors if (ends := unpaired(one, other)) is not None]
    low, high = np.array(apart).reshape(-1, 2).T
    ends = (
        Interval(np.maximum(0, np.maximum(low, -high)).mean(), np.maximum(high, -low).mean())
        if apart
        else None
    )
    sure, right = float(answers.confidence.mean()), float(answers.right.mean())
    details = {"ece_normalised": each[:, 0].mean(), "ece_raw": each[:, 1].mean(), "conditions": len(each)}
    details |= {"normalised_confidence": sure, "raw_confidence": float(raw.confidence.mean()), "right": right}
    value = float(np.abs(each[:, 1] - each[:, 0]).mean())
    how = "interval of the true shift, the mean of the conditions' ends,"
    shift = replace(
        statistic,
        under=lambda weights: np.full((len(weights), 1), value),
        n=cell.units.touched(np.bincount(answers.item, minlength=answers.items) > 0),
        details={**details, "answers": answers.right.size},
        interval=ends and (ends, how),
        warnings=tuple(dict.fromkeys(text for pair in errors for one in pair for text in one.warnings[:1])),
    )
    return cell.estimated(shift)


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
    found = assigned(sure, bins, binning)
    return GapNoise(answers, found, Units(sure.size)).curve(found.edges, level)
