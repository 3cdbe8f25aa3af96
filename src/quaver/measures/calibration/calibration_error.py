"""Calibration: whether answers given with confidence p are right in a share p of cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaver.core.seeds import derive
from quaver.estimation.bootstrap import Floats, Resampling, Weighted
from quaver.estimation.cell import Cell
from quaver.estimation.confidences import Graded, graded
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import mean_within
from quaver.estimation.means import differing, ratio
from quaver.estimation.measure_protocol import guarded
from quaver.estimation.noise_floor import above_floor, affordable
from quaver.estimation.statistic import Statistic
from quaver.measures.calibration.calibration_bins import (
    Binning,
    Bins,
    assigned,
    binned,
    brier_parts,
    calibrated_draws,
    debiased_ece,
    right_between,
)
from quaver.measures.variation.label_shares import ASKING

NAEINI = "Naeini, Cooper & Hauskrecht (2015), AAAI, Obtaining well calibrated probabilities, section 4.1"
BRIER = "Brier (1950), Monthly Weather Review 78, 1-3; parts: Murphy (1973), Stephenson et al. (2008)"


def expected_error(gaps: Floats, n: Floats) -> float:
    """Expected calibration error: Σ_b |Σ (confidence − right)| / n.

    >>> expected_error(np.array([-0.5, 1.0]), np.array([2.0, 3.0]))
    0.3
    """
    return float(np.abs(gaps).sum() / n.sum())


def largest_error(gaps: Floats, n: Floats) -> float:
    """Maximum calibration error: the largest |mean confidence − share right| of a bin.

    >>> largest_error(np.array([-0.5, 1.5]), np.array([2.0, 3.0]))
    0.5
    """
    return float((np.abs(gaps[n > 0]) / n[n > 0]).max())


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
def ece(cell: Cell, *, bins: int = 10, binning: Binning = "width") -> Iterator[Statistic]:
    """Expected calibration error of the answers' confidence.

    ECE = Σ_b (n_b / n)·|mean confidence − share right| over bins b of confidence. Bins of equal width are
    (a, b], with 0 in the first. It reads the column ``confidence``, numbers from 0 to 1. Answers without a
    label, a gold label or a confidence are left out and counted. Undefined where none is left.

    ECE is biased upwards, more so the fewer the answers. In ``details``: ``debiased`` (Kumar et al. 2019);
    ``floor`` and ``floor_high``, the mean and upper quantile of what perfect calibration would show with
    these confidences, and ``p`` of the value among them; where items have several answers,
    ``floor_together`` is that floor if all answers to an item were right or wrong together; ``curve`` (see
    `reliability_curve`). The interval resamples items and keeps the bins as they are. It is an interval of
    the biased value, widened to hold it.

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
    answers = _Answers(cell, bins, binning)
    found = answers.error("expected calibration error", _expected, expected_error)
    if found.under is not None:
        debiased = debiased_ece(answers.gaps.sum(0), answers.n.sum(0), answers.residuals)
        found = replace(found, details={**found.details, "debiased": debiased})
    yield found


@measure(
    title="How far confidence is at most from the share correct: maximum calibration error",
    section="accuracy",
    better="lower",
    source=NAEINI,
    raters=ASKING,
    gold=True,
    numbers=("confidence",),
)
def mce(cell: Cell, *, bins: int = 10, binning: Binning = "width") -> Iterator[Statistic]:
    """Maximum calibration error: the largest |mean confidence − share right| of a bin.

    It leaves out what `ece` leaves out and has the same details but ``debiased``. A maximum over bins, some
    of them with few answers, is biased further upwards than a mean. Undefined where no answer is left.

    Args:
        bins: How many bins.
        binning: ``"width"`` or ``"mass"``.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3], "label": list("aab"), "gold": list("abb"),
    ...                       "confidence": [0.75, 0.75, 0.875]})
    >>> mce(frame)[0].value
    0.25
    """
    yield _Answers(cell, bins, binning).error("maximum calibration error", _largest, largest_error)


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
    found = Statistic(
        method="mean squared difference of confidence and being right",
        excluded=answers.excluded,
        n=cell.units.touched(known),
        reason=answers.reason,
    )
    if answers.reason:
        yield found
        return
    square = (answers.confidence - answers.right) ** 2
    loss = np.bincount(answers.item, square, minlength=answers.items).astype(np.float64)
    own = np.asarray(np.where(known, loss / np.maximum(n, 1), np.nan), np.float64)
    yield replace(
        found,
        under=ratio(loss[:, None], n[:, None]),
        details={**brier_parts(answers, chosen), "answers": answers.right.size},
        differing=differing(own.round(12), cell.units),
        rarest=min(_units_with(cell, answers, some) for some in (answers.right > 0, answers.right < 1)),
        ends=(0.0, 1.0),
        spread=mean_within,
        values=own,
    )


def _units_with(cell: Cell, answers: Graded, some: NDArray[np.bool_]) -> int:
    return cell.units.touched(np.bincount(answers.item[some], minlength=answers.items) > 0)


class _Answers:
    """A cell's answers with a confidence, in bins.

    Attributes:
        gaps: Σ (confidence − right) by item and bin.
        n: Answers by item and bin.
    """

    def __init__(self, cell: Cell, bins: int, binning: Binning) -> None:
        self._cell, self._in_words = cell, f"{bins} bins of equal {binning}"
        self._graded = graded(cell, cell.numbers["confidence"])
        self._bins = assigned(self._graded.confidence, bins, binning)
        self.gaps = binned(self._graded, self._bins, self._graded.confidence - self._graded.right)
        self.n = binned(self._graded, self._bins, np.ones(self._graded.right.size))

    @property
    def residuals(self) -> Floats:
        """Σ (right − share right in the bin) by item and bin."""
        answers, bins = self._graded, self._bins
        return binned(answers, bins, answers.right - _shares(answers, bins)[bins.of])

    def error(
        self,
        what: str,
        under: Callable[[Floats, Floats], Weighted],
        plain: Callable[[Floats, Floats], float],
    ) -> Statistic:
        """A calibration error, beside what perfect calibration would show.

        Args:
            what: Its name.
            under: From gaps and counts to the error under item weights.
            plain: From gaps and counts of the bins to the error.
        """
        answers, resampling = self._graded, self._cell.resampling
        found = Statistic(
            method=f"{what}, {self._in_words}",
            excluded=answers.excluded,
            n=self._cell.units.touched(self.n.sum(1) > 0),
            reason=answers.reason,
        )
        if answers.reason:
            return found
        details, resampling = self._details(), self._cell.resampling
        true = true_error(answers, self._bins, self._cell.units, resampling, largest=largest)
        return true.beside(replace(found, under=under(self.gaps, self.n), details=details), resampling)

    def _details(self) -> dict[str, Any]:
        answers, level = self._graded, self._cell.resampling.confidence_level
        return {"answers": answers.right.size, "curve": _curve(answers, self._bins, level, self._cell.units)}


def _expected(gaps: Floats, n: Floats) -> Weighted:
    def under(weights: Floats) -> Floats:
        total = weights @ n.sum(1)
        error = np.abs(weights @ gaps).sum(1) / np.where(total > 0, total, 1)
        return np.asarray(np.where(total > 0, error, np.nan)[:, None])

    return under


def _largest(gaps: Floats, n: Floats) -> Weighted:
    def under(weights: Floats) -> Floats:
        each = weights @ n
        error = np.where(each > 0, np.abs(weights @ gaps) / np.where(each > 0, each, 1), -1).max(1)
        return np.asarray(np.where(error >= 0, error, np.nan)[:, None])

    return under


def _shares(answers: Graded, bins: Bins) -> Floats:
    size = bins.edges.size - 1
    n = np.bincount(bins.of, minlength=size)
    return np.asarray(np.bincount(bins.of, answers.right, minlength=size) / np.maximum(n, 1))


def _curve(answers: Graded, bins: Bins, level: float) -> list[dict[str, float]]:
    n = np.bincount(bins.of, minlength=bins.edges.size - 1)
    sums = np.bincount(bins.of, answers.confidence, minlength=n.size)
    shares = _shares(answers, bins)
    low, high = right_between(answers, bins, level)
    return [
        {
            "low": float(bins.edges[k]),
            "high": float(bins.edges[k + 1]),
            "n": int(n[k]),
            "confidence": float(sums[k] / n[k]),
            "right": float(shares[k]),
            "right_low": float(low[k]),
            "right_high": float(high[k]),
        }
        for k in np.flatnonzero(n)
    ]


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
        of its interval, ``right_low`` and ``right_high`` (see `calibration_bins.right_between`).

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
    return _curve(answers, assigned(sure, bins, binning), level)
