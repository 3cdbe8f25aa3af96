"""Calibration of confidences that a model states in words or numbers, where enough of them can be parsed.

A stated confidence that cannot be parsed is missing, and not at random: below a parse rate (0.80 by default)
a cell's calibration is not reported, but what neighbouring thresholds would have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from quaver.core.records import Estimate
from quaver.core.rows import Presentation
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.declaration import measure
from quaver.estimation.means import share_of
from quaver.estimation.measure_input import Graded, MeasureInput, arranged, beside, column_for, graded
from quaver.estimation.paired_differences import unpaired
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.calibration.calibration_bins import Binning, assigned
from quaver.measures.calibration.calibration_error import calibration_error
from quaver.measures.calibration.true_calibration_error import GapNoise, from_few
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
        "_parse_rate": Presentation(unit="share", better="higher", drawn="table"),
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
    Undefined (but for the parse rate) where there are none, or the parse rate is below the threshold.

    Chance pushes calibration errors up, and one with many bins more than one with few. So the interval of
    ``_ece`` is of the true error, and its details have the floor, as those of `ece` do; that of ``_ece_gap``
    is of the true difference, from those of the two errors (Zou & Donner 2008). The other intervals resample
    items.

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
        self._how = (bins, binning)
        asked = (cell.codes >= 0) | cell.unanswered
        self._parsed, self._answers = (asked & np.isfinite(self._stated)).sum((1, 2)), asked.sum((1, 2))
        answers = int(self._answers.sum())
        self._rate = float(self._parsed.sum() / answers) if answers else None

    def parsed(self) -> Statistic:
        """The parse rate."""
        statistic = Statistic(
            part="_parse_rate",
            method="share of all answers whose stated confidence could be parsed",
            details={"threshold": self._threshold, "answers": int(self._answers.sum())},
            reason="no annotations",
        )
        return share_of(self._cell, self._parsed, self._answers, statistic)

    def alone(self) -> Iterator[Estimate]:
        """ECE, and confidence less accuracy."""
        answers = graded(self._cell, self._stated)
        means = {"stated": _mean(answers.confidence), "right": _mean(answers.right)}
        error = self._statistic("ece", answers, means)
        yield self._above(calibration_error(self._cell, error, answers, *self._how))
        bias = self._statistic("minus_accuracy", answers, means)
        if not answers.reason:  # The mean confidence hardly varies: the share right, within 0 and 1, does.
            noise = GapNoise(answers, assigned(answers.confidence, *self._how), self._cell.units)
            ends, few = (means["stated"] - 1, means["stated"]), from_few(noise.events, noise.unit)
            bias = replace(bias, ends=ends, warnings=few)
        yield self._mean(bias, answers, answers.confidence - answers.right)

    def beside(self, token: Floats) -> Iterator[Estimate]:
        """The same less that of token confidence, on the answers that have both."""
        cell, answers, other = self._cell, graded(self._cell, self._stated, token), None
        other = graded(cell, token, self._stated)
        means = {"stated": _mean(answers.confidence), "token": _mean(other.confidence)}
        first, second = (
            calibration_error(cell, Statistic(method=""), one, *self._how) for one in (answers, other)
        )
        apart = self._statistic("ece_gap", answers, {**means, "ece": first.value, "ece_token": second.value})
        if not answers.reason:
            value, ends = first.number - second.number, unpaired(second, first)
            how = "interval of the true difference, from those of two true errors,"
            apart = replace(
                apart,
                method=f"{apart.method}, {self._how[0]} bins of equal {self._how[1]}",
                under=lambda weights: np.full((len(weights), 1), value),
                interval=ends and (ends, how),
                warnings=tuple(text for text in first.warnings if text in second.warnings),
            )
        yield self._above(cell.estimated(apart))
        bias = self._statistic("minus_token", answers, means)
        yield self._mean(bias, answers, answers.confidence - other.confidence)

    def _mean(self, statistic: Statistic, answers: Graded, values: Floats) -> Estimate:
        """The mean of a value of each answer."""
        sums = np.bincount(answers.item, values, answers.items)
        n = np.bincount(answers.item, minlength=answers.items)
        wanted = share_of(self._cell, sums, n, statistic)
        ends = statistic.ends or (-1.0, 1.0)
        return self._above(self._cell.estimated(replace(wanted, ends=ends, values=None)))

    def _statistic(self, kind: str, answers: Graded, details: Mapping[str, float | None]) -> Statistic:
        """What is said of one of the measures, which has no value yet."""
        rate = {} if self._rate is None else {"parse_rate": self._rate}
        known = {name: value for name, value in details.items() if value is None or np.isfinite(value)}
        count = np.bincount(answers.item, minlength=answers.items)
        return Statistic(
            part=f"_{kind}",
            method=f"{_KINDS[kind]}, on the answers whose confidence was parsed",
            excluded=answers.excluded,
            details={**rate, "threshold": self._threshold, "answers": answers.right.size, **known},
            n=self._cell.units.touched(count > 0),
            reason=answers.reason,
        )

    def _above(self, estimate: Estimate) -> Estimate:
        """An estimate; below the parse rate, with the reason and what it would have been."""
        if estimate.value is None or self._rate is None or self._rate >= self._threshold - 1e-12:
            return estimate
        reason = f"parse rate {self._rate:.3f} below {self._threshold:.2f}"
        details = {**estimate.details, "value_below_threshold": estimate.value}
        return replace(estimate, value=None, low=None, high=None, reason=reason, details=details, draws=None)


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else float("nan")
