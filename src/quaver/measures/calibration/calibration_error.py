"""Calibration: whether answers given with confidence p are right in a share p of cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Floats, Ratio, Weighted
from quaver.estimation.declaration import measure
from quaver.estimation.means import quotient
from quaver.estimation.measure_input import graded
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.calibration.calibration_bins import (
    Binning,
    assigned,
    bias_corrected,
    binned,
    brier_parts,
)
from quaver.measures.calibration.token_confidence import curve
from quaver.measures.calibration.true_calibration_error import (
    from_few,
    gap_noise,
    like_units,
    stray_errors,
    true_error,
)
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
def ece(cell: Cell, *, bins: int = 10, binning: Binning = "width") -> Iterator[Statistic | Estimate]:
    """Expected calibration error of the answers' confidence.

    ECE = Σ_b (n_b / n)·|mean confidence − share right| over bins b of confidence. Bins of equal width are
    (a, b], with 0 in the first. It reads the column ``confidence``, numbers from 0 to 1. Answers without a
    label, a gold label or a confidence are left out and counted. Undefined where none is left.

    Chance pushes ECE up, more so the fewer the answers, so the interval is not of the plain value but of the
    true ECE: what infinitely many such items would give in the same bins. It inverts a test
    (`estimation.inversion`), may reach 0, and is widened to hold the plain value. With fewer than 5 items or
    groups there is none. In ``details``: ``debiased``, the true ECE at which the plain one would be the
    median; ``bias_corrected``, that of Kumar et al. (2019); ``floor`` and ``floor_high``, the mean and upper
    quantile of what perfect calibration would show with these confidences, and ``p`` of the value among them;
    where items (or groups) have several answers, ``correlation`` says how alike these are in being right, and
    ``floor_together`` is the floor if all were right or wrong together; ``bins_used``, how many bins hold
    answers; ``curve`` (see `reliability_curve`).

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
    yield _Answers(cell, bins, binning).error("expected calibration error", _expected)


@measure(
    title="How far confidence is at most from the share correct: maximum calibration error",
    section="accuracy",
    better="lower",
    source=NAEINI,
    raters=ASKING,
    gold=True,
    numbers=("confidence",),
)
def mce(cell: Cell, *, bins: int = 10, binning: Binning = "width") -> Iterator[Statistic | Estimate]:
    """Maximum calibration error: the largest |mean confidence − share right| of a bin.

    It leaves out what `ece` leaves out, and has its details but ``bias_corrected``. Chance pushes a maximum
    over bins, some of them with few answers, further up than a mean; the interval is of the true one, over
    the bins that hold answers. Undefined where no answer is left.

    Args:
        bins: How many bins.
        binning: ``"width"`` or ``"mass"``.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3], "label": list("aab"), "gold": list("abb"),
    ...                       "confidence": [0.75, 0.75, 0.875]})
    >>> mce(frame)[0].value
    0.25
    """
    yield _Answers(cell, bins, binning).error("maximum calibration error", _largest)


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
        warnings = from_few(like_units(of_units), cell.units.name) or stray_errors(answers)
    yield replace(
        statistic,
        under=Ratio(loss[:, None], n[:, None]),
        details={**brier_parts(answers, chosen), "answers": answers.right.size},
        warnings=warnings,
        ends=(0.0, 1.0),
        values=own,
    )


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

    def error(self, what: str, under: Callable[[Floats, Floats], Weighted]) -> Statistic | Estimate:
        """A calibration error, beside what is known of the true one."""
        answers, cell = self._graded, self._cell
        statistic = Statistic(
            method=f"{what}, {self._in_words}",
            excluded=answers.excluded,
            n=cell.units.touched(self.n.sum(1) > 0),
            ends=(0.0, 1.0),
            reason=answers.reason,
        )
        if answers.reason:
            return statistic
        largest = under is _largest
        details: dict[str, Any] = {"answers": answers.right.size}
        if not largest:
            details["bias_corrected"] = bias_corrected(answers, self._bins)
        noise = gap_noise(answers, self._bins, cell.units)
        details["curve"] = curve(noise, self._bins.edges, cell.resampling.confidence_level)
        statistic = replace(statistic, under=under(self.gaps, self.n), details=details)
        true = true_error(noise, answers, self._bins, cell.resampling, largest=largest)
        return true.estimated(cell, statistic)


def _expected(gaps: Floats, n: Floats) -> Weighted:
    def under(weights: Floats) -> Floats:
        return quotient(np.abs(weights @ gaps).sum(1), weights @ n.sum(1))[:, None]

    return under


def _largest(gaps: Floats, n: Floats) -> Weighted:
    def under(weights: Floats) -> Floats:
        each = weights @ n
        error = np.where(each > 0, np.abs(weights @ gaps) / np.where(each > 0, each, 1), -1).max(1)
        return np.where(error >= 0, error, np.nan)[:, None]

    return under
