"""A profile of a model against thresholds that were stated beforehand: may it be put to work?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from quaver.core.records import Estimate
from quaver.core.rows import defined
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.coded_columns import Gathered
from quaver.estimation.declaration import measure
from quaver.estimation.measure_input import MeasureInput
from quaver.measures.calibration.calibration_error import ece
from quaver.measures.calibration.verbal_calibration import verbal_calibration
from quaver.measures.correctness.accuracy import accuracy
from quaver.measures.correctness.evaluator_flips import evaluator_flips
from quaver.measures.correctness.robustness import spread
from quaver.measures.validity.answer_quality import compliance

_CRITERIA: Final[Mapping[str, tuple[str, float]]] = {
    "accuracy": ("accuracy", 0.8),
    "compliance": ("compliance", 0.95),
    "spread": ("spread", 0.1),
    "flips": ("evaluator_flips", 0.05),
    "ece": ("ece", 0.1),
    "parse_rate": ("verbal_calibration_parse_rate", 0.8),
    "stated_ece": ("verbal_calibration_ece", 0.1),
}
"""What each criterion rests on, and its threshold: an example, not a standard. What is good enough depends on
what the labels are for."""

_AT_LEAST: Final = ("accuracy", "compliance", "parse_rate")

MET, MISSED, OPEN = "met", "not met", "undecided"


@measure(compares=("evaluator", "variant"))
def readiness(
    data: MeasureInput,
    *,
    thresholds: Mapping[str, float] | None = None,
    first: str | None = None,
    second: str | None = None,
    token: str | None = None,
    stated: str | None = None,
) -> Iterator[Estimate]:
    """Deployment readiness: accuracy, spread, parsing and calibration, each against its threshold.

    For each cell (``by=["model"]`` makes it a model's profile) an estimate a criterion, in this order:

    - ``readiness_accuracy`` (at least 0.8), over all variants, no label being wrong;
    - ``readiness_compliance`` (at least 0.95): the share of valid answers;
    - ``readiness_spread`` (at most 0.1): the highest less the lowest accuracy among variants;
    - ``readiness_flips`` (at most 0.05), with ``second``: the share of answers that a second evaluator
      reads differently;
    - ``readiness_ece`` (at most 0.1), with ``token``: calibration of the token confidence;
    - ``readiness_parse_rate`` (at least 0.8) and ``readiness_stated_ece`` (at most 0.1), with ``stated``.

    They are the estimates of `accuracy`, `compliance`, `spread`, `evaluator_flips`, `ece` and
    `verbal_calibration`, with the ``threshold`` and the ``verdict`` in ``details``. A criterion is *met*
    where the whole interval is on the right side of the threshold, *not met* where all of it is on the other
    side (noise raises spread and calibration errors; their intervals are those of the true values), and
    *undecided* otherwise, also where there is no interval or no value.

    Then ``readiness``: met criteria / all criteria, whose ``verdict`` is *ready* where all are met, *not
    ready* where one is not met, *undecided* otherwise; it has no interval, since the criteria's intervals
    decide. State your own thresholds before you see the results: these are examples, not standards. ``by``
    can hold neither the evaluator nor the variant. Undefined: a criterion where its measure is; `readiness`
    if none has a value.

    Args:
        thresholds: Other thresholds, by criterion (the names above, less ``readiness_``).
        first: The evaluator whose labels count; by default the first by name, in a study the study's first.
        second: Another evaluator, to see whether the rule of reading matters.
        token: The evaluator with the token confidence.
        stated: The evaluator with the stated confidence.

    Returns:
        An estimate for each cell and criterion, and one of all.

    Raises:
        UnknownName: An evaluator has no rows, or a criterion does not exist.

    Two prompts and 40 items, all answers right. An accuracy of 1 may be as low as 0.025^(1/40) = 0.912,
    which is above 0.8; a compliance of 1 likewise, which is not above 0.95:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [*range(40)] * 2, "variant": ["v"] * 40 + ["w"] * 40,
    ...                       "label": list("ab") * 40, "gold": list("ab") * 40})
    >>> for one in readiness(frame):
    ...     print(one.measure, round(one.value, 3), one.details["verdict"])
    readiness_accuracy 1.0 met
    readiness_compliance 1.0 undecided
    readiness_spread 0.0 met
    readiness 0.667 undecided
    """
    for name, value in (thresholds or {}).items():
        if name not in _CRITERIA:
            raise UnknownName("criterion", name, _CRITERIA, where="thresholds")
        if not 0 <= value <= 1:
            where, given = f"thresholds: {name}", repr(value)
            raise MeasureError("not a threshold", where=where, expected="a number from 0 to 1", found=given)
    profiles: dict[tuple[tuple[str, str], ...], list[Estimate]] = {}
    criteria = {measured: name for name, (measured, _) in _CRITERIA.items()}
    for estimate in _measured(data, first, second, token, stated):
        if criterion := criteria.get(estimate.measure):
            threshold = (thresholds or {}).get(criterion, _CRITERIA[criterion][1])
            judged = _judged(estimate, criterion, threshold)
            profiles.setdefault(tuple(estimate.cell.items()), []).append(judged)
    for profile in profiles.values():
        yield from profile
        yield _together(profile)


def _measured(
    data: MeasureInput, first: str | None, second: str | None, token: str | None, stated: str | None
) -> list[Estimate]:
    """The estimates that the criteria rest on, of the evaluators that there are."""
    gathered, name = data.gathered, data.column("evaluator")
    known = [] if name is None else sorted(gathered.encoded(name).values)
    first = first if first is not None else next(iter(known), None)

    def rows(*names: str | None) -> Gathered:
        """The rows of some evaluators; all where the frame does not say whose they are."""
        if names == (None,) or name is None:
            return gathered
        if strange := [name for name in names if name not in known]:
            raise UnknownName("evaluator", str(strange[0]), known, where="evaluators")
        return gathered.only(name, tuple(map(str, names)))

    main = rows(first)
    estimates = [
        estimate for measure in (accuracy, compliance, spread) for estimate in data.measured(measure, main)
    ]
    if second is not None:
        for estimate in data.measured(evaluator_flips, rows(first, second), first=first, second=second):
            cell = {c: v for c, v in estimate.cell.items() if c not in ("first", "second")}
            estimates.append(replace(estimate, cell=cell))  # the cell of the other criteria
    if token is not None:
        estimates += data.measured(ece, rows(token))
    if stated is not None:
        estimates += data.measured(verbal_calibration, rows(stated))
    return estimates


def _judged(estimate: Estimate, name: str, threshold: float) -> Estimate:
    """An estimate against its threshold."""
    limit = f"{'at least' if name in _AT_LEAST else 'at most'} {threshold:g}"
    verdict = OPEN
    if estimate.value is not None and estimate.interval is not None:
        low, high = estimate.interval
        if name in _AT_LEAST:
            verdict = MET if low >= threshold else MISSED if high < threshold else OPEN
        else:
            verdict = MET if high <= threshold else MISSED if low > threshold else OPEN
    details = {**estimate.details, "threshold": threshold, "limit": limit, "verdict": verdict}
    method = f"{estimate.method}; {limit}"
    return replace(estimate, measure=f"readiness_{name}", method=method, details=details)


def _together(profile: Sequence[Estimate]) -> Estimate:
    """The verdict on all criteria of a cell."""
    verdicts = [estimate.details["verdict"] for estimate in profile]
    met, missed, left = map(verdicts.count, (MET, MISSED, OPEN))
    known, first = bool(defined(profile)), profile[0]
    return Estimate(
        "readiness",
        met / len(verdicts) if known else None,
        confidence_level=first.confidence_level,
        n=first.n,
        unit=first.unit,
        method="share of the criteria whose whole interval is on the right side of its threshold",
        reason=None if known else "nothing could be measured",
        cell=first.cell,
        details={
            "verdict": "ready" if met == len(verdicts) else "not ready" if missed else OPEN,
            "criteria": len(verdicts),
            "met": met,
            "missed": missed,
            "open": left,
        },
    )
