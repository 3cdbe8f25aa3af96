"""A profile of a model against thresholds that were stated beforehand: may it be put to work?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple

import polars as pl

from quaver.core.records import Estimate, LabelSet
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.cells import frame_of
from quaver.estimation.column_roles import Columns
from quaver.estimation.measure_protocol import Frame, compares
from quaver.measures.calibration.calibration_error import ece
from quaver.measures.calibration.verbal_calibration import verbal_calibration
from quaver.measures.correctness.accuracy import accuracy
from quaver.measures.correctness.evaluator_flips import evaluator_flips
from quaver.measures.correctness.robustness import spread
from quaver.measures.validity.compliance import compliance

__all__ = ["THRESHOLDS", "readiness"]

THRESHOLDS: Final[Mapping[str, float]] = {
    "accuracy": 0.8,
    "compliance": 0.95,
    "spread": 0.1,
    "flips": 0.05,
    "ece": 0.1,
    "parse_rate": 0.8,
    "stated_ece": 0.1,
}
"""Examples, not standards: what is good enough depends on what the labels are for."""

_AT_LEAST = ("accuracy", "compliance", "parse_rate")
_BIASED: Mapping[str, str] = {"spread": "corrected", "ece": "debiased", "stated_ece": "debiased"}
"""Criteria that noise pushes up, and the detail that holds the value without that."""

MET, MISSED, OPEN = "met", "not met", "undecided"


@compares("evaluator", "variant")
def readiness(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    thresholds: Mapping[str, float] | None = None,
    first: str | None = None,
    second: str | None = None,
    token: str | None = None,
    stated: str | None = None,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Deployment readiness: accuracy, spread, parsing and calibration, each against its threshold.

    For each cell (``by=["model"]`` makes it a model's profile) an estimate a criterion, in this order:

    - ``readiness_accuracy`` (at least 0.8), over all variants, no label being wrong;
    - ``readiness_compliance`` (at least 0.95): the share of valid answers;
    - ``readiness_spread`` (at most 0.1): the highest less the lowest accuracy among variants;
    - ``readiness_flips`` (at most 0.05), with ``second``: the share of answers that a second evaluator
      reads otherwise;
    - ``readiness_ece`` (at most 0.1), with ``token``: calibration of the token confidence;
    - ``readiness_parse_rate`` (at least 0.8) and ``readiness_stated_ece`` (at most 0.1), with ``stated``.

    They are the estimates of `accuracy`, `compliance`, `spread`, `evaluator_flips`, `ece` and
    `verbal_calibration`. In ``details``: the ``threshold`` and the ``verdict``. A criterion is *met* where
    the whole interval is on the right side of the threshold, *not met* where all of it is on the other side
    (spread and calibration errors, which noise pushes up, also without that), and *undecided* else, also
    where there is no interval or no value.

    Then ``readiness``: met criteria / all criteria, whose ``verdict`` is *ready* where all are met, *not
    ready* where one is not met, *undecided* else. The thresholds are yours to state, before the results are
    seen; those here are examples, not standards.

    Undefined: a criterion where its measure is, `readiness` where no criterion has a value. Source: the
    definition; each criterion has the source of its measure.

    Args:
        annotations: A row an annotation, with ``gold``, of all evaluators; see `Measure`.
        labels: The label set.
        by: Columns that make the cells; neither evaluator nor variant.
        confidence: Nominal level of the intervals that decide.
        resamples: Bootstrap resamples.
        seed: Root seed.
        thresholds: Other thresholds, by criterion (the names above, less ``readiness_``).
        first: The evaluator whose labels count; by default the first by name, in a study the study's first.
        second: Another evaluator, to see whether the rule of reading matters.
        token: The evaluator with the token confidence.
        stated: The evaluator with the stated confidence.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell and criterion, and one of all.

    Raises:
        MeasureError: The frame or an option cannot be used.
        UnknownName: An evaluator has no rows, or a criterion does not exist.

    Two prompts and 40 items, all answers right. An accuracy of 1 may be as low as 0.025^(1/40) = 0.912,
    which is above 0.8; a compliance of 1 likewise, which is not above 0.95:

    >>> frame = pl.DataFrame({"item": [*range(40)] * 2, "variant": ["v"] * 40 + ["w"] * 40,
    ...                       "label": list("ab") * 40, "gold": list("ab") * 40})
    >>> for one in readiness(frame):
    ...     print(one.measure, round(one.value, 3), one.details["verdict"])
    readiness_accuracy 1.0 met
    readiness_compliance 1.0 undecided
    readiness_spread 0.0 met
    readiness 0.667 undecided
    """
    limits = _limits(thresholds)
    frame = frame_of(annotations)
    own = _Evaluators(frame, columns, first)
    shared: dict[str, Any] = {
        "labels": labels,
        "by": by,
        "confidence": confidence,
        "resamples": resamples,
        "seed": seed,
        "columns": columns,
        "group": group,
        "interval": interval,
    }
    main = own.rows(own.first)
    found = {
        "accuracy": accuracy(main, **shared),
        "compliance": compliance(main, **shared),
        "spread": spread(main, **shared),
    }
    if second is not None:
        flips = evaluator_flips(own.rows(own.first, second), first=own.first, second=second, **shared)
        found["flips"] = [_bare(one) for one in flips if one.measure == "evaluator_flips"]
    if token is not None:
        found["ece"] = ece(own.rows(token), **shared)
    if stated is not None:
        told = verbal_calibration(own.rows(stated), **shared)
        found["parse_rate"] = [one for one in told if one.measure.endswith("_parse_rate")]
        found["stated_ece"] = [one for one in told if one.measure.endswith("_calibration_ece")]
    return _profiles(found, limits)


def _limits(thresholds: Mapping[str, float] | None) -> dict[str, float]:
    for name, value in (thresholds or {}).items():
        if name not in THRESHOLDS:
            raise UnknownName("criterion", name, THRESHOLDS, where="thresholds")
        if not 0 <= value <= 1:
            raise MeasureError(
                "not a threshold",
                where=f"thresholds: {name}",
                expected="a number from 0 to 1",
                found=repr(value),
            )
    return {**THRESHOLDS, **(thresholds or {})}


class _Evaluators:
    """A frame's rows by the evaluator that read them."""

    def __init__(self, frame: pl.DataFrame, columns: Columns | None, first: str | None) -> None:
        role = (columns or {}).get("evaluator", "evaluator")
        name = role if isinstance(role, str) else role[0]
        self._frame = frame
        self._of = frame[name].cast(pl.String) if name in frame.columns else None
        self._known = [] if self._of is None else self._of.drop_nulls().unique().sort().to_list()
        self.first = first if first is not None else next(iter(self._known), None)

    def rows(self, *names: str | None) -> pl.DataFrame:
        """Those of some evaluators; all where the frame does not say whose they are."""
        if names == (None,) or self._of is None:
            return self._frame
        for name in names:
            if name not in self._known:
                raise UnknownName("evaluator", str(name), self._known, where="evaluators")
        return self._frame.filter(self._of.is_in(list(names)))


def _bare(one: Estimate) -> Estimate:
    """Flips in the cell of the other criteria."""
    return replace(one, cell={c: v for c, v in one.cell.items() if c not in ("first", "second")})


def _profiles(found: Mapping[str, Sequence[Estimate]], limits: Mapping[str, float]) -> list[Estimate]:
    """Each cell's criteria and what they come to."""
    profiles: dict[tuple[tuple[str, str], ...], list[Estimate]] = {}
    for criterion, estimates in found.items():
        for one in estimates:
            judged = _judged(one, criterion, limits[criterion])
            profiles.setdefault(tuple(one.cell.items()), []).append(judged)
    return [one for profile in profiles.values() for one in (*profile, _together(profile))]


def _judged(one: Estimate, criterion: str, threshold: float) -> Estimate:
    least = criterion in _AT_LEAST
    limit = f"{'at least' if least else 'at most'} {threshold:g}"
    details = {
        **one.details,
        "threshold": threshold,
        "limit": limit,
        "verdict": _verdict(one, criterion, threshold),
    }
    return replace(one, measure=f"readiness_{criterion}", method=f"{one.method}; {limit}", details=details)


def _verdict(one: Estimate, criterion: str, threshold: float) -> str:
    if one.value is None or one.low is None or one.high is None:
        return OPEN
    if criterion in _AT_LEAST:
        return MET if one.low >= threshold else MISSED if one.high < threshold else OPEN
    if one.high <= threshold:
        return MET
    return MISSED if min(one.low, _without_noise(one, criterion)) > threshold else OPEN


def _without_noise(one: Estimate, criterion: str) -> float:
    """The value without what noise adds to it: the lower end of the spread's, where that is known."""
    told = one.details.get(_BIASED.get(criterion, ""), one.low)
    ends = one.details.get("corrected_interval") if criterion == "spread" else None
    return float(ends[0] if ends else told)


class _Count(NamedTuple):
    met: int
    missed: int
    open: int


def _together(profile: Sequence[Estimate]) -> Estimate:
    """What the criteria of a cell come to."""
    verdicts = [one.details["verdict"] for one in profile]
    count = _Count(*(verdicts.count(kind) for kind in (MET, MISSED, OPEN)))
    verdict = "ready" if count.met == len(verdicts) else "not ready" if count.missed else OPEN
    first = profile[0]
    known = any(one.value is not None for one in profile)
    return Estimate(
        "readiness",
        count.met / len(verdicts) if known else None,
        confidence=first.confidence,
        n=first.n,
        unit=first.unit,
        method="share of the criteria whose whole interval is on the right side of its threshold",
        reason=None if known else "nothing could be measured",
        cell=first.cell,
        details={"verdict": verdict, "criteria": len(verdicts), **count._asdict()},
    )
