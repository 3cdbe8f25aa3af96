"""Calibration of confidences that a model states in words or numbers, where enough of them can be parsed.

A stated confidence that cannot be parsed is missing, and not at random: below a parse rate (0.80 by default)
a cell's calibration is not reported, but what neighbouring thresholds would have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quaver.core.records import Estimate
from quaver.core.rows import Presentation
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Weighted
from quaver.estimation.declaration import measure
from quaver.estimation.means import quotient, share_of
from quaver.estimation.measure_input import Graded, MeasureInput, arranged, beside, column_for, graded
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.calibration.calibration_bins import Binning, assigned, bias_corrected, binned
from quaver.measures.calibration.confidence_shifts import correlated, difference_estimate
from quaver.measures.calibration.true_calibration_error import TrueError, gap_noise, true_error
from quaver.measures.variation.label_shares import ASKING

THRESHOLDS = (0.70, 0.75, 0.80, 0.85, 0.90)
"""Parse rates that `thresholds` sets beside the one in use."""

_KINDS = {
    "ece": "ECE of the stated confidence",
    "minus_accuracy": "mean stated confidence less the share right",
    "ece_gap": "ECE of the stated confidence less ECE of the token confidence",
    "minus_token": "mean stated confidence less mean token confidence",
}


@measure(
    section="accuracy",
    source="Naeini, Cooper & Hauskrecht (2015), AAAI, Obtaining well calibrated probabilities, section 4.1, "
    "for the calibration error; the rest is by definition",
    parts={
        "_parse_rate": Presentation(unit="share", better="higher"),
        "_ece": Presentation(
            title="How far stated confidence is from the share correct",
            axis="expected calibration error",
            better="lower",
        ),
        "_minus_accuracy": Presentation(
            title="Stated confidence minus the share correct (above 0: overconfident)",
            axis="stated confidence minus share correct",
            null=0.0,
        ),
        "_ece_gap": Presentation(
            title="Calibration error of stated minus that of token confidence", null=0.0
        ),
        "_minus_token": Presentation(title="Stated minus token confidence", null=0.0),
    },
)
def verbal_calibration(
    data: MeasureInput,
    *,
    threshold: float = 0.80,
    bins: int = 10,
    binning: Binning = "width",
    token: str | None = None,
) -> Iterator[Estimate]:
    """Calibration of stated confidence, on the answers whose confidence could be parsed.

    The column ``confidence`` has the stated confidence. For each cell: ``verbal_calibration_parse_rate``,
    answers with a confidence / all answers; ``verbal_calibration_ece``;
    ``verbal_calibration_minus_accuracy``, the mean stated confidence less the share right (above 0:
    overconfident); and, where there are token confidences, in the role ``token`` (see `confidences.beside`)
    or from the evaluator that ``token`` names, ``verbal_calibration_ece_gap`` and
    ``verbal_calibration_minus_token``, stated less token, on the answers that have both. All on rows with a
    label, a gold label and a parsed confidence.
    Undefined (but for the parse rate) where there are none, or the parse rate is below the threshold:
    `excluded_cells` lists such cells.

    Chance pushes calibration errors up, and one with many bins more than one with few. So the interval of
    ``_ece`` is of the true error, and its details have the floor, as those of `ece` do; that of ``_ece_gap``
    is of the true difference (`calibration_differences.difference`), with ``debiased`` in its details. The
    other intervals resample items.

    Args:
        threshold: The parse rate that a cell needs; 0 keeps all. ``details["value_below_threshold"]`` holds
            what a cell below it would have given.
        bins: How many bins.
        binning: ``"width"`` or ``"mass"``.
        token: The evaluator with the token confidence, where the annotations are of two: the other is the one
            with the stated confidence.

    Returns:
        Three or five estimates for each cell.

    Raises:
        MeasureError: Not a parse rate, or the annotations are not of ``token`` and one other evaluator.

    Stated 0.9 twice, right once: an ECE of 0.4, overconfident by 0.4:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2], "label": list("ab"), "gold": list("aa"),
    ...                       "confidence": [0.9, 0.9]})
    >>> [(e.measure, round(e.value, 12)) for e in verbal_calibration(frame)[1:]]
    [('verbal_calibration_ece', 0.4), ('verbal_calibration_minus_accuracy', 0.4)]
    """
    if not 0 <= threshold <= 1:
        raise MeasureError(
            "not a parse rate", where="threshold", expected="a number from 0 to 1", found=repr(threshold)
        )
    if token is not None:
        data = _beside(data, token)
    confidence = data.numbers("token")
    for cell in data.cells(raters=ASKING, gold=True, numbers=("confidence",)):
        stated = _Stated(cell, threshold, bins, binning)
        yield cell.estimated(stated.parsed())
        yield from stated.alone()
        if confidence is not None:
            yield from stated.beside(arranged(confidence, cell))


def _beside(data: MeasureInput, token: str) -> MeasureInput:
    """The annotations of stated confidence, each with the token confidence in the same answer."""
    known = column_for(data.gathered, "evaluator", data.columns)
    names = sorted(data.gathered.encoded(known).values) if known is not None else []
    others = [name for name in names if name != token]
    if token not in names or len(others) != 1:
        raise MeasureError(
            "not the annotations of two evaluators",
            where="token",
            expected=f"those of {token} and of one evaluator of stated confidence",
            found=", ".join(names) or "annotations without an evaluator",
            fix="name the evaluator of stated confidence: evaluator: …",
        )
    return data.of(beside(data.frame, (others[0], token), columns=data.columns))


class _Stated:
    """One cell's stated confidences, with its parse rate."""

    def __init__(self, cell: Cell, threshold: float, bins: int, binning: Binning) -> None:
        self._cell, self._stated, self._threshold = cell, cell.numbers["confidence"], threshold
        self._bins, self._binning = bins, binning
        self._asked = (cell.codes >= 0) | cell.unanswered
        self._parsed = self._asked & np.isfinite(self._stated)
        answers = int(self._asked.sum())
        self._rate = float(self._parsed.sum() / answers) if answers else None
        self._errors: dict[bytes, TrueError] = {}

    def parsed(self) -> Statistic:
        """The parse rate."""
        below = self._asked.sum((1, 2))
        statistic = Statistic(
            part="_parse_rate",
            method="share of all answers whose stated confidence could be parsed",
            details={"threshold": self._threshold, "answers": int(below.sum())},
            reason="no annotations",
        )
        return share_of(self._cell, self._parsed.sum((1, 2)), below, statistic)

    def alone(self) -> Iterator[Estimate]:
        """ECE, and confidence less accuracy."""
        cell, answers = self._cell, graded(self._cell, self._stated)
        error, bias = (self._statistic(kind, answers) for kind in ("ece", "minus_accuracy"))
        if answers.reason:
            yield from map(cell.estimated, (error, bias))
            return
        gaps, n = self._gaps(answers), self._counts(answers)

        def under(weights: Floats) -> Floats:
            total = weights @ n
            return np.stack([_error(weights, gaps, total), _mean(weights, gaps.sum(1), total)], 1)

        means = {"stated": float(answers.confidence.mean()), "right": float(answers.right.mean())}
        chosen = assigned(answers.confidence, self._bins, self._binning)
        more = {"bias_corrected": bias_corrected(answers, chosen), **means}
        error = self._with(error, under, 0, more)
        yield self._true(answers).estimated(cell, error) if error.reason is None else cell.estimated(error)
        bias = self._with(bias, under, 1, means)
        if bias.reason is None:  # The mean confidence hardly varies: the share right, within 0 and 1, does.
            ends, noise = (means["stated"] - 1, means["stated"]), gap_noise(answers, chosen, cell.units)
            bias = replace(bias, ends=ends, warnings=noise.from_few)
        yield cell.estimated(bias)

    def beside(self, token: Floats) -> Iterator[Estimate]:
        """The same less that of token confidence, on the answers that have both."""
        cell, answers = self._cell, graded(self._cell, self._stated, token)
        apart, bias = (self._statistic(kind, answers) for kind in ("ece_gap", "minus_token"))
        if answers.reason:
            yield from map(cell.estimated, (apart, bias))
            return
        other = graded(cell, token, self._stated)
        gaps, less, n = self._gaps(answers), self._gaps(other), self._counts(answers)

        def under(weights: Floats) -> Floats:
            total = weights @ n
            errors = _error(weights, gaps, total), _error(weights, less, total)
            means = _mean(weights, gaps.sum(1) - less.sum(1), total)
            return np.stack([errors[0] - errors[1], means, *errors], 1)

        point = cell.draws(under).point
        details = {
            "ece": float(point[2]),
            "ece_token": float(point[3]),
            "stated": float(answers.confidence.mean()),
            "token": float(other.confidence.mean()),
        }
        apart = self._with(apart, under, 0, details)
        yield self._gap(apart, answers, other, under) if apart.reason is None else cell.estimated(apart)
        yield cell.estimated(self._with(bias, under, 1, details))

    def _true(self, answers: Graded) -> TrueError:
        """The true error of some answers, made once for those that `alone` and `beside` are both about."""
        about = b"".join(one.tobytes() for one in (answers.item, answers.confidence, answers.right))
        if about not in self._errors:
            chosen, cell = assigned(answers.confidence, self._bins, self._binning), self._cell
            noise = gap_noise(answers, chosen, cell.units)
            self._errors[about] = true_error(noise, answers, chosen, cell.resampling)
        return self._errors[about]

    def _gap(self, apart: Statistic, answers: Graded, other: Graded, under: Weighted) -> Estimate:
        """The difference of two errors, each of which chance pushes up in its own way."""
        error, two = self._true(answers), self._true(other)
        left = self._cell.draws(under).jackknife
        return difference_estimate(error, two, correlated(left[:, 2:]), self._cell, apart)

    def _gaps(self, answers: Graded) -> Floats:
        chosen = assigned(answers.confidence, self._bins, self._binning)
        return binned(answers, chosen, answers.confidence - answers.right)

    def _counts(self, answers: Graded) -> Floats:
        return np.asarray(np.bincount(answers.item, minlength=answers.items), np.float64)

    def _statistic(self, kind: str, answers: Graded) -> Statistic:
        """What is said of one of the measures, which has no value yet."""
        bins = f", {self._bins} bins of equal {self._binning}" if kind.startswith("ece") else ""
        rate = {} if self._rate is None else {"parse_rate": self._rate}
        return Statistic(
            part=f"_{kind}",
            method=f"{_KINDS[kind]}{bins}, on the answers whose confidence was parsed",
            excluded=answers.excluded,
            details={**rate, "threshold": self._threshold, "answers": answers.right.size},
            n=self._cell.units.touched(self._counts(answers) > 0),
            reason=answers.reason,
        )

    def _with(
        self, statistic: Statistic, under: Weighted, column: int, details: Mapping[str, float]
    ) -> Statistic:
        """A statistic with its value; below the parse rate, with the reason and what it would have been."""
        statistic = replace(statistic, details={**statistic.details, **details})
        if self._rate is not None and self._rate < self._threshold - 1e-12:
            value = float(self._cell.draws(under).point[column])
            reason = f"parse rate {self._rate:.3f} below {self._threshold:.2f}"
            return replace(
                statistic, details={**statistic.details, "value_below_threshold": value}, reason=reason
            )
        low = 0.0 if statistic.part == "_ece" else -1.0
        return replace(statistic, under=under, column=column, ends=(low, 1.0))


def _error(weights: Floats, gaps: Floats, total: Floats) -> Floats:
    return quotient(np.abs(weights @ gaps).sum(1), total)


def _mean(weights: Floats, values: Floats, total: Floats) -> Floats:
    return quotient(weights @ values, total)


def excluded_cells(estimates: Sequence[Estimate]) -> list[dict[str, Any]]:
    """The cells that a measure left out, each with its parse rate and the reason.

    >>> left = Estimate("verbal_calibration_ece", None, cell={"model": "m"},
    ...                 reason="parse rate below 0.80", details={"parse_rate": 0.5})
    >>> excluded_cells([left])
    [{'model': 'm', 'parse_rate': 0.5, 'reason': 'parse rate below 0.80'}]
    """
    result: list[dict[str, Any]] = []
    for estimate in estimates:
        left = {**estimate.cell, "parse_rate": estimate.details.get("parse_rate"), "reason": estimate.reason}
        if estimate.value is None and left not in result:
            result.append(left)
    return result


def thresholds(
    estimates: Sequence[Estimate], rates: Sequence[float] = THRESHOLDS, kind: str = "ece"
) -> list[dict[str, Any]]:
    """What each parse-rate threshold would keep, and the mean over the cells that it keeps.

    Returns:
        For each threshold: ``threshold``, ``cells`` kept, ``mean`` over these (None where none is kept).

    >>> cells = [Estimate("verbal_calibration_ece", 0.25, details={"parse_rate": 0.95}),
    ...          Estimate("verbal_calibration_ece", None, reason="parse rate 0.780 below 0.80",
    ...                   details={"parse_rate": 0.78, "value_below_threshold": 0.75})]
    >>> thresholds(cells, (0.75, 0.80))
    [{'threshold': 0.75, 'cells': 2, 'mean': 0.5}, {'threshold': 0.8, 'cells': 1, 'mean': 0.25}]
    """
    pairs = []
    for estimate in estimates:
        value = estimate.details.get("value_below_threshold") if estimate.value is None else estimate.value
        if estimate.measure == f"verbal_calibration_{kind}" and value is not None:
            pairs.append((float(estimate.details["parse_rate"]), float(value)))
    result = []
    for rate in rates:
        kept = [value for parsed, value in pairs if parsed >= rate - 1e-12]
        result.append({"threshold": rate, "cells": len(kept), "mean": float(np.mean(kept)) if kept else None})
    return result


def compare_phrasings(
    estimates: Sequence[Estimate], phrasing: str = "phrasing", kind: str = "ece_gap"
) -> list[dict[str, Any]]:
    """How far a difference keeps its sign and its size under other phrasings of the confidence question.

    Returns:
        For each cell that remains without the phrasing: ``values`` by phrasing, ``same_sign`` (None where
        fewer than two are defined), ``sign_certain`` (the phrasings whose interval leaves 0 out) and
        ``range`` (largest less smallest; None likewise).

    >>> two = [Estimate("verbal_calibration_ece_gap", value, cell={"model": "m", "phrasing": name})
    ...        for name, value in [("percent", 0.25), ("words", -0.25)]]
    >>> compare_phrasings(two)[0]["same_sign"], compare_phrasings(two)[0]["range"]
    (False, 0.5)
    """
    some = [e for e in estimates if e.measure == f"verbal_calibration_{kind}" and phrasing in e.cell]
    if not some:
        raise MeasureError(
            "nothing to compare",
            where="phrasing",
            expected=f"estimates of verbal_calibration_{kind} by {phrasing!r}",
            found=", ".join(sorted({estimate.measure for estimate in estimates})) or "no estimates",
        )
    parts: dict[tuple[tuple[str, str], ...], list[Estimate]] = {}
    for estimate in some:
        rest = tuple((key, value) for key, value in estimate.cell.items() if key != phrasing)
        parts.setdefault(rest, []).append(estimate)
    return [_compared(dict(rest), of, phrasing) for rest, of in parts.items()]


def _compared(where: dict[str, str], estimates: Sequence[Estimate], phrasing: str) -> dict[str, Any]:
    values = {estimate.cell[phrasing]: estimate.value for estimate in estimates}
    known = np.array([value for value in values.values() if value is not None])
    certain = [
        estimate.cell[phrasing]
        for estimate in estimates
        if estimate.low is not None and estimate.high is not None and (estimate.low > 0 or estimate.high < 0)
    ]
    several = known.size > 1
    return {
        **where,
        "values": values,
        "same_sign": bool(np.unique(np.sign(known)).size == 1) if several else None,
        "sign_certain": certain,
        "range": float(np.ptp(known)) if several else None,
    }
