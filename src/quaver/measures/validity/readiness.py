"""A profile of a model against thresholds that were stated beforehand: may it be put to work?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from quaver.core.records import Estimate
from quaver.core.rows import Presentation, defined
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.coded_columns import Columns, Gathered
from quaver.estimation.declaration import Measure, measure
from quaver.estimation.measure_input import MeasureInput
from quaver.measures.calibration.calibration_error import ece
from quaver.measures.calibration.verbal_calibration import verbal_calibration
from quaver.measures.correctness.accuracy import accuracy
from quaver.measures.correctness.evaluator_flips import evaluator_flips
from quaver.measures.correctness.robustness import spread
from quaver.measures.validity.answer_quality import compliance


class _Criterion(NamedTuple):
    """What a criterion rests on.

    Attributes:
        threshold: An example, not a standard: what is good enough depends on what the labels are for.
        measure: The measure behind it.
        part: The ending of that measure's estimates.
    """

    threshold: float
    measure: Measure
    part: str = ""

    @property
    def name(self) -> str:
        """The name of the estimates that decide."""
        return self.measure.name + self.part

    @property
    def presentation(self) -> Presentation:
        """How these are shown."""
        return self.measure.presentation_of(self.name)


_CRITERIA: Final[Mapping[str, _Criterion]] = {
    "accuracy": _Criterion(0.8, accuracy),
    "compliance": _Criterion(0.95, compliance),
    "spread": _Criterion(0.1, spread),
    "flips": _Criterion(0.05, evaluator_flips),
    "ece": _Criterion(0.1, ece),
    "parse_rate": _Criterion(0.8, verbal_calibration, "_parse_rate"),
    "stated_ece": _Criterion(0.1, verbal_calibration, "_ece"),
}

THRESHOLDS: Final[Mapping[str, float]] = {name: criterion.threshold for name, criterion in _CRITERIA.items()}
"""Examples, not standards: what is good enough depends on what the labels are for."""

MET, MISSED, OPEN = "met", "not met", "undecided"


@measure(
    section="readiness",
    drawn="table",
    compares=("evaluator", "variant"),
    source="the definition; each criterion has the source of its measure",
    parts={
        f"_{name}": Presentation(
            unit=criterion.presentation.unit, better=criterion.presentation.better, drawn="table"
        )
        for name, criterion in _CRITERIA.items()
    },
)
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
    side (noise pushes spread and calibration errors up; their intervals are of the true ones), and
    *undecided* else, also where there is no interval or no value.

    Then ``readiness``: met criteria / all criteria, whose ``verdict`` is *ready* where all are met, *not
    ready* where one is not met, *undecided* else; it has no interval, since the criteria's decide. State your
    own thresholds before you see the results: these are examples, not standards. ``by`` can hold neither the
    evaluator nor the variant. Undefined: a criterion where its measure is; `readiness` if none has a value.

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
    limits = _limits(thresholds)
    yield from _profiles(_measured(data, first, second, token, stated), limits)


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


def _measured(
    data: MeasureInput, first: str | None, second: str | None, token: str | None, stated: str | None
) -> list[Estimate]:
    """The estimates that the criteria rest on, of the evaluators that there are."""
    own = _Evaluators(data.gathered, data.columns, first)
    main = own.rows(own.first)
    estimates = [estimate for one in (accuracy, compliance, spread) for estimate in data.measured(one, main)]
    if second is not None:
        both = own.rows(own.first, second)
        estimates += map(_bare, data.measured(evaluator_flips, both, first=own.first, second=second))
    if token is not None:
        estimates += data.measured(ece, own.rows(token))
    if stated is not None:
        estimates += data.measured(verbal_calibration, own.rows(stated))
    return estimates


class _Evaluators:
    """A frame's rows by the evaluator that read them."""

    def __init__(self, gathered: Gathered, columns: Columns | None, first: str | None) -> None:
        role = (columns or {}).get("evaluator", "evaluator")
        name = role if isinstance(role, str) else role[0]
        self._gathered, self._name = gathered, name if name in gathered.columns else None
        self._known = [] if self._name is None else sorted(gathered.encoded(name).values)
        self.first = first if first is not None else next(iter(self._known), None)

    def rows(self, *names: str | None) -> Gathered:
        """Those of some evaluators; all where the frame does not say whose they are."""
        if names == (None,) or self._name is None:
            return self._gathered
        for name in names:
            if name not in self._known:
                raise UnknownName("evaluator", str(name), self._known, where="evaluators")
        return self._gathered.only(self._name, tuple(map(str, names)))


def _bare(estimate: Estimate) -> Estimate:
    """Flips in the cell of the other criteria."""
    return replace(estimate, cell={c: v for c, v in estimate.cell.items() if c not in ("first", "second")})


def _profiles(estimates: Sequence[Estimate], limits: Mapping[str, float]) -> Iterator[Estimate]:
    """Each cell's criteria and the verdict on all of them."""
    profiles: dict[tuple[tuple[str, str], ...], list[Estimate]] = {}
    criteria = {criterion.name: name for name, criterion in _CRITERIA.items()}
    for estimate in estimates:
        if name := criteria.get(estimate.measure):
            profiles.setdefault(tuple(estimate.cell.items()), []).append(
                _judged(estimate, name, limits[name])
            )
    for profile in profiles.values():
        yield from profile
        yield _together(profile)


def _judged(estimate: Estimate, name: str, threshold: float) -> Estimate:
    criterion = _CRITERIA[name]
    limit = f"{'at least' if criterion.presentation.better == 'higher' else 'at most'} {threshold:g}"
    verdict = _verdict(estimate, criterion, threshold)
    details = {**estimate.details, "threshold": threshold, "limit": limit, "verdict": verdict}
    return replace(
        estimate, measure=f"readiness_{name}", method=f"{estimate.method}; {limit}", details=details
    )


def _verdict(estimate: Estimate, criterion: _Criterion, threshold: float) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return OPEN
    if criterion.presentation.better == "higher":
        return MET if estimate.low >= threshold else MISSED if estimate.high < threshold else OPEN
    return MET if estimate.high <= threshold else MISSED if estimate.low > threshold else OPEN


class _Count(NamedTuple):
    met: int
    missed: int
    open: int


def _together(profile: Sequence[Estimate]) -> Estimate:
    """The verdict on all criteria of a cell."""
    verdicts = [estimate.details["verdict"] for estimate in profile]
    count = _Count(*(verdicts.count(kind) for kind in (MET, MISSED, OPEN)))
    verdict = "ready" if count.met == len(verdicts) else "not ready" if count.missed else OPEN
    first = profile[0]
    known = bool(defined(profile))
    return Estimate(
        "readiness",
        count.met / len(verdicts) if known else None,
        confidence_level=first.confidence_level,
        n=first.n,
        unit=first.unit,
        method="share of the criteria whose whole interval is on the right side of its threshold",
        reason=None if known else "nothing could be measured",
        cell=first.cell,
        details={"verdict": verdict, "criteria": len(verdicts), **count._asdict()},
    )
