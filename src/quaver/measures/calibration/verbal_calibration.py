"""Calibration of confidences that a model states in words or numbers, where enough of them can be parsed.

A stated confidence that cannot be parsed is missing, and not at random: below a parse rate (0.80 by default)
a cell's calibration is not reported, but what neighbouring thresholds would have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from quaver.core.records import Estimate
from quaver.errors import MeasureError
from quaver.estimation.declaration import measure
from quaver.estimation.jackknife import Floats
from quaver.estimation.means import share_of
from quaver.estimation.measure_input import Graded, MeasureInput, arranged, beside, column_for, graded
from quaver.estimation.paired_differences import unpaired
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.calibration.calibration_error import NAEINI, GapNoise, calibration_error, from_few
from quaver.measures.variation.label_shares import ASKING

_KINDS = {
    "ece": "ECE of the stated confidence",
    "minus_accuracy": "mean stated confidence less the share right",
    "ece_gap": "ECE of the stated confidence less ECE of the token confidence",
    "minus_token": "mean stated confidence less mean token confidence",
}


@measure(source=f"{NAEINI}, for the calibration error; the rest is by definition")
def verbal_calibration(
    data: MeasureInput, *, threshold: float = 0.80, bins: int = 10, token: str | None = None
) -> Iterator[Estimate]:
    """Calibration of stated confidence, on the answers whose confidence could be parsed.

    The column ``confidence`` has the stated confidence. For each cell: ``verbal_calibration_parse_rate``,
    answers with a confidence / all answers; ``verbal_calibration_ece``;
    ``verbal_calibration_minus_accuracy``, the mean stated confidence less the share right (above 0:
    overconfident); and, where there are token confidences, in the role ``token`` or from the evaluator that
    ``token`` names, ``verbal_calibration_ece_gap`` and ``verbal_calibration_minus_token``, stated less token,
    on the answers that have both. All on rows with a label, a gold label and a parsed confidence. Undefined
    (except the parse rate) where there are none, or the parse rate is below the threshold.

    Chance raises calibration errors, more so with many bins than with few. The interval of ``_ece`` is
    therefore that of the true error, and its details have the floor, as those of `ece` do; the interval of
    ``_ece_gap`` is that of the true difference, from the intervals of the two errors (Zou & Donner 2008).

    Args:
        threshold: The parse rate that a cell needs; 0 keeps all. ``details["value_below_threshold"]`` holds
            what a cell below it would have given.
        bins: How many bins.
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
    data = data if token is None else _beside(data, token)
    confidence = data.numbers("token")
    for cell in data.cells(raters=ASKING, gold=True, numbers=("confidence",)):
        asked = (cell.codes >= 0) | cell.unanswered
        stated = cell.numbers["confidence"]
        parsed, answers = (asked & np.isfinite(stated)).sum((1, 2)), asked.sum((1, 2))
        rate = share_of(
            cell,
            parsed,
            answers,
            Statistic(
                part="_parse_rate",
                method="share of all answers whose stated confidence could be parsed",
                details={"threshold": threshold, "answers": int(answers.sum())},
                reason="no annotations",
            ),
        )
        yield cell.estimated(rate)
        given = float(parsed.sum() / answers.sum()) if answers.any() else None
        estimates = _alone(cell, stated, bins)
        if confidence is not None:
            estimates = (*estimates, *_less_token(cell, stated, arranged(confidence, cell), bins))
        yield from (_above(estimate, given, threshold) for estimate in estimates)


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


def _alone(cell: Cell, stated: Floats, bins: int) -> tuple[Estimate, ...]:
    """The estimates of the stated confidence's ECE, and of its mean less the accuracy."""
    answers = graded(cell, stated)
    means = {"stated": _mean(answers.confidence), "right": _mean(answers.right)}
    error = calibration_error(cell, _statistic(cell, "ece", answers, means), answers, bins)
    bias = _statistic(cell, "minus_accuracy", answers, means)
    if not answers.reason:  # The mean confidence hardly varies: the share right, within 0 and 1, does.
        noise = GapNoise(answers, bins, cell.units)
        few = from_few(noise.events, cell.units.name)
        bias = replace(bias, ends=(means["stated"] - 1, means["stated"]), warnings=few)
    return error, _mean_of(cell, bias, answers, answers.confidence - answers.right)


def _less_token(cell: Cell, stated: Floats, token: Floats, bins: int) -> tuple[Estimate, ...]:
    """How much larger ECE and overconfidence are than those of token confidence, on answers with both."""
    answers, other = graded(cell, stated, token), graded(cell, token, stated)
    means = {"stated": _mean(answers.confidence), "token": _mean(other.confidence)}
    first, second = (
        calibration_error(cell, Statistic(method=""), source, bins) for source in (answers, other)
    )
    apart = _statistic(cell, "ece_gap", answers, {**means, "ece": first.value, "ece_token": second.value})
    if not answers.reason:
        value, ends = first.number - second.number, unpaired(second, first)
        apart = replace(
            apart,
            method=f"{apart.method}, {bins} bins of equal width",
            under=lambda weights: np.full((len(weights), 1), value),
            interval=ends and (ends, "interval of the true difference, from those of two true errors,"),
            warnings=tuple(text for text in first.warnings if text in second.warnings),
        )
    bias = _statistic(cell, "minus_token", answers, means)
    return cell.estimated(apart), _mean_of(cell, bias, answers, answers.confidence - other.confidence)


def _statistic(cell: Cell, kind: str, answers: Graded, details: Mapping[str, float | None]) -> Statistic:
    """The statistic of one of the measures, without its value."""
    defined = {name: value for name, value in details.items() if value is None or np.isfinite(value)}
    count = np.bincount(answers.item, minlength=answers.items)
    return Statistic(
        part=f"_{kind}",
        method=f"{_KINDS[kind]}, on the answers whose confidence was parsed",
        excluded=answers.excluded,
        details={"answers": answers.right.size, **defined},
        n=count > 0,
        reason=answers.reason,
    )


def _mean_of(cell: Cell, statistic: Statistic, answers: Graded, values: Floats) -> Estimate:
    """The mean of a value of each answer."""
    sums = np.bincount(answers.item, values, answers.items)
    n = np.bincount(answers.item, minlength=answers.items)
    return cell.estimated(replace(share_of(cell, sums, n, statistic), ends=statistic.ends or (-1.0, 1.0)))


def _above(estimate: Estimate, rate: float | None, threshold: float) -> Estimate:
    """An estimate; below the parse rate, with the reason and what it would have been."""
    details = {**estimate.details, "threshold": threshold} | ({} if rate is None else {"parse_rate": rate})
    if estimate.value is None or rate is None or rate >= threshold - 1e-12:
        return replace(estimate, details=details)
    reason, details = (
        f"parse rate {rate:.3f} below {threshold:.2f}",
        details | {"value_below_threshold": estimate.value},
    )
    return replace(estimate, value=None, low=None, high=None, reason=reason, details=details, draws=None)


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else float("nan")
