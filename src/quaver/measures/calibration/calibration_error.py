"""Calibration: whether answers given with confidence p are right in a share p of cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from quaver.core.records import Estimate, LabelSet
from quaver.core.seeds import derive
from quaver.estimation.bootstrap import Floats, Resampling, Weighted, bootstrap
from quaver.estimation.cell import Cell
from quaver.estimation.cells import cells
from quaver.estimation.column_roles import Columns
from quaver.estimation.confidences import Graded, arranged, graded, numbers_of
from quaver.estimation.intervals import Claim, estimate, mean_within, undefined
from quaver.estimation.means import differing, ratio
from quaver.estimation.measure_protocol import Frame, guarded
from quaver.estimation.noise_floor import above_floor, affordable
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

__all__ = ["brier", "ece", "expected_error", "largest_error", "mce", "reliability_curve"]

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


def ece(
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
    """Expected calibration error of the answers' confidence.

    ECE = Σ_b (n_b / n)·|mean confidence − share right| over bins b of confidence. Bins of equal width are
    (a, b], with 0 in the first. Answers without a label, a gold label or a confidence are left out, and
    counted. Undefined where none is left.

    ECE is biased upwards, more so the fewer the answers. In ``details``: ``debiased`` (Kumar et al. 2019);
    ``floor`` and ``floor_high``, the mean and upper quantile of what perfect calibration would show with
    these very confidences, and ``p`` of the value among them; where items have several answers,
    ``floor_together`` is that if all answers to an item were right or wrong together; ``curve`` (see
    `reliability_curve`). The interval resamples items, with the bins as they are; it is one of the biased
    value, widened to hold it.

    Source: Naeini, Cooper & Hauskrecht (2015), AAAI, Obtaining well calibrated probabilities, section 4.1.

    Args:
        annotations: A row an annotation, with ``confidence`` and ``gold``; see `Measure`.
        labels: The label set.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        bins: How many bins.
        binning: ``"width"`` or ``"mass"`` (see `calibration_bins.assigned`).
        columns: Other names for the frame's columns: ``{"confidence": "said"}``.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell.

    Raises:
        MeasureError: The frame or an option cannot be used; a confidence is not between 0 and 1.

    Two answers in (0.5, 0.6], one of them right, and two at 0.9, both right: (2·0.1 + 2·0.1) / 4:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("aabb"), "gold": list("abbb"),
    ...                       "confidence": [0.6, 0.6, 0.9, 0.9]})
    >>> round(ece(frame)[0].value, 12)
    0.1
    """
    resampling = Resampling(confidence, resamples, seed, interval)

    def statistic(gaps: Floats, n: Floats) -> Weighted:
        def under(weights: Floats) -> Floats:
            total = weights @ n.sum(1)
            error = np.abs(weights @ gaps).sum(1) / np.where(total > 0, total, 1)
            return np.asarray(np.where(total > 0, error, np.nan)[:, None])

        return under

    measured = _Error("ece", _told("expected calibration error", bins, binning), statistic, expected_error)
    found = _read(annotations, labels, by, columns, group)
    return [measured.of(*part, bins, binning, resampling) for part in found]


def mce(
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
    """Maximum calibration error: the largest |mean confidence − share right| of a bin.

    As `ece` in what is left out and in its details (without ``debiased``); a maximum over bins, some of
    them with few answers, is biased further upwards than a mean.

    Undefined where no answer is left. Source: Naeini, Cooper & Hauskrecht (2015), AAAI, Obtaining well
    calibrated probabilities, section 4.1.

    Args:
        annotations: A row an annotation, with ``confidence`` and ``gold``; see `Measure`.
        labels: The label set.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        bins: How many bins.
        binning: ``"width"`` or ``"mass"``.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell.

    Raises:
        MeasureError: The frame or an option cannot be used; a confidence is not between 0 and 1.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3], "label": list("aab"), "gold": list("abb"),
    ...                       "confidence": [0.75, 0.75, 0.875]})
    >>> mce(frame)[0].value
    0.25
    """
    resampling = Resampling(confidence, resamples, seed, interval)

    def statistic(gaps: Floats, n: Floats) -> Weighted:
        def under(weights: Floats) -> Floats:
            each = weights @ n
            error = np.where(each > 0, np.abs(weights @ gaps) / np.where(each > 0, each, 1), -1).max(1)
            return np.asarray(np.where(error >= 0, error, np.nan)[:, None])

        return under

    measured = _Error("mce", _told("maximum calibration error", bins, binning), statistic, largest_error)
    found = _read(annotations, labels, by, columns, group)
    return [measured.of(*part, bins, binning, resampling) for part in found]


def _told(what: str, bins: int, binning: Binning) -> str:
    return f"{what}, {bins} bins of equal {binning}"


def _read(
    annotations: Frame,
    labels: LabelSet | None,
    by: Sequence[str],
    columns: Columns | None,
    group: str | None,
) -> list[tuple[Cell, Graded]]:
    found = cells(annotations, raters=ASKING, by=by, labels=labels, columns=columns, group=group, gold=True)
    values = numbers_of(annotations, "confidence", columns)
    return [(cell, graded(cell, arranged(values, cell))) for cell in found]


class _Error:
    """A calibration error by its name, its bootstrap and its plain function of the bins."""

    def __init__(
        self,
        name: str,
        method: str,
        statistic: Callable[[Floats, Floats], Weighted],
        plain: Callable[[Floats, Floats], float],
    ) -> None:
        self._name, self._method, self._statistic, self._plain = name, method, statistic, plain

    def of(
        self, cell: Cell, answers: Graded, bins: int, binning: Binning, resampling: Resampling
    ) -> Estimate:
        """The estimate for one cell."""
        chosen = assigned(answers.confidence, bins, binning)
        gaps = binned(answers, chosen, answers.confidence - answers.right)
        n = binned(answers, chosen, np.ones(answers.right.size))
        known = n.sum(1) > 0
        claim = Claim(
            self._name,
            self._method,
            NAEINI,
            cell=cell.where,
            excluded=answers.excluded,
            n=cell.units.touched(known),
            reason=answers.reason,
        )
        if answers.reason:
            return undefined(claim, cell.units, resampling)
        draws = bootstrap(self._statistic(gaps, n), cell.units, resampling)
        value = float(draws.point[0])
        details = self._floors(value, answers, chosen, resampling)
        if self._name == "ece":
            residual = binned(answers, chosen, answers.right - _shares(answers, chosen)[chosen.of])
            details["debiased"] = debiased_ece(gaps.sum(0), n.sum(0), residual)
        curve = _curve(answers, chosen, resampling.confidence)
        details |= {"answers": answers.right.size, "curve": curve}
        warnings: tuple[str, ...] = ()
        if details.get("floor_high", -1.0) >= value:
            warnings = (
                f"no more than perfect calibration may show with these {answers.right.size} answers "
                f"(mean {details['floor']:.3g}, up to {details['floor_high']:.3g})",
            )
        claim = replace(
            claim,
            details=details,
            warnings=warnings,
            spread=partial(mean_within, value),
        )
        return estimate(claim, draws, cell.units, resampling)

    def _floors(self, value: float, answers: Graded, bins: Bins, resampling: Resampling) -> dict[str, Any]:
        times = affordable(resampling.resamples, answers.right.size)
        seed = derive(resampling.seed, "perfect calibration")
        each = calibrated_draws(answers, bins, self._plain, times, seed)
        details = above_floor(value, each, resampling.confidence)
        if details and np.bincount(answers.item).max() > 1:
            seed = derive(resampling.seed, "perfect calibration", "together")
            joint = calibrated_draws(answers, bins, self._plain, times, seed, together=True)
            told = above_floor(value, joint, resampling.confidence)
            details |= {f"{name}_together": told[name] for name in ("floor", "floor_high", "p")}
        return details


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


def brier(
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
    """The Brier score of an answer's confidence that it is right.

    Mean of (confidence − right)², where right is 1 or 0. In ``details`` its parts over the bins:
    reliability − resolution + uncertainty + variance − covariance within bins. What is left out and when
    it is undefined is as for `ece`. The interval resamples items.

    Source: Brier (1950), Monthly Weather Review 78, 1-3; parts: Murphy (1973), Stephenson et al. (2008).

    Args:
        annotations: A row an annotation, with ``confidence`` and ``gold``; see `Measure`.
        labels: The label set.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        bins: How many bins the parts rest on.
        binning: ``"width"`` or ``"mass"``.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell.

    Raises:
        MeasureError: The frame or an option cannot be used; a confidence is not between 0 and 1.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2], "label": list("ab"), "gold": list("aa"),
    ...                       "confidence": [0.5, 0.75]})
    >>> brier(frame)[0].value  # (0.25 + 0.5625) / 2
    0.40625
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    found = []
    for cell, answers in _read(annotations, labels, by, columns, group):
        chosen = assigned(answers.confidence, bins, binning)
        n = np.bincount(answers.item, minlength=answers.items).astype(np.float64)
        claim = Claim(
            "brier",
            "mean squared difference of confidence and being right",
            BRIER,
            cell=cell.where,
            excluded=answers.excluded,
            n=cell.units.touched(n > 0),
            reason=answers.reason,
        )
        if answers.reason:
            found.append(undefined(claim, cell.units, resampling))
            continue
        square = (answers.confidence - answers.right) ** 2
        loss = np.bincount(answers.item, square, minlength=answers.items).astype(np.float64)
        draws = bootstrap(ratio(loss[:, None], n[:, None]), cell.units, resampling)
        value = float(draws.point[0])
        own = np.asarray(np.where(n > 0, loss / np.maximum(n, 1), np.nan), np.float64)
        claim = replace(
            claim,
            details={**brier_parts(answers, chosen), "answers": answers.right.size},
            differing=differing(own.round(12), cell.units),
            spread=partial(mean_within, value),
        )
        found.append(estimate(claim, draws, cell.units, resampling))
    return found
