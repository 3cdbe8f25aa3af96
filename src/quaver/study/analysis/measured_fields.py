"""What is measured of a study, field by field."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from quaver.core.annotations import FIELD
from quaver.core.records import Estimate
from quaver.errors import UnknownName
from quaver.report.findings.quality import Quality, quality
from quaver.study.analysis.field_source import fields_of
from quaver.study.analysis.measured_study import MeasuredStudy
from quaver.study.sources.conclusion_measures import CONCLUSIONS
from quaver.study.sources.kept_results import mark_of
from quaver.study.sources.study_source import StudySource


def in_field(estimates: Sequence[Estimate], field: str) -> list[Estimate]:
    """Estimates with the field in their cells; that of a single label set has no name."""
    if not field:
        return [*estimates]
    return [replace(estimate, cell={FIELD: field, **estimate.cell}) for estimate in estimates]


class MeasuredFields:
    """A study's measures, field by field.

    Args:
        study: The study.

    Attributes:
        study: The study.
        parts: What is measured of each field, by its name; empty that of a study of one label set.
    """

    def __init__(self, study: StudySource) -> None:
        self.study = study
        self.parts = {name: MeasuredStudy(field) for name, field in fields_of(study).items()}

    @classmethod
    def of(cls, study: StudySource) -> MeasuredFields:
        """What is measured of a study as it is now; the same object until its annotations change."""
        path: Path = getattr(study, "whole", study).files.annotations
        of = mark_of(study) or [study.gold_files.digest(), path.exists() and path.stat().st_mtime_ns]
        if study.measured is None or study.measured[0] != of:
            study.measured = of, cls(study)
        return cast(MeasuredFields, study.measured[1])

    def each(
        self, taken: Callable[[MeasuredStudy], list[Estimate]], fields: Sequence[str] = ()
    ) -> list[Estimate]:
        """What is taken of some fields, or of each, with the field in the cells."""
        estimates = list[Estimate]()
        for field in fields or self.parts:
            estimates += in_field(taken(self.parts[field]), field)
        return estimates

    def measure(self, name: str, options: Mapping[str, Any]) -> list[Estimate]:
        """One measure, of the fields that the option ``field`` names, or of all."""
        rest = dict(options)
        asked = rest.pop(FIELD, None) or ()
        fields = [asked] if isinstance(asked, str) else asked
        names = [field for field in self.parts if field]
        for field in fields:
            if field not in names:
                raise UnknownName("field", field, names, where=name)
        return self.each(lambda part: part.measure(name, rest), fields)

    def estimates(self, names: Sequence[str] | None = None) -> list[Estimate]:
        """The estimates of the measures that the study file names; conclusions in their fields."""
        of_study = self.study.spec.conclusions

        def taken(part: MeasuredStudy) -> list[Estimate]:
            elsewhere = bool(of_study) and not part.study.spec.conclusions
            own = [name for name in names or () if not (elsewhere and name == CONCLUSIONS)]
            return part.estimates(None if names is None else own)

        return self.each(taken)

    def quality(self) -> Quality:
        """The quality of the answers; of several fields, the worst of each issue."""
        estimates: dict[tuple[str, ...], dict[str, Estimate]] = defaultdict(dict)
        for field, part in self.parts.items():
            for estimate in part.quality():
                estimates[estimate.measure, *map(str, estimate.cell.values())][field] = estimate
        judged: list[Estimate] = []
        for (measure, *_), own in estimates.items():
            shares = {estimate.number for estimate in own.values()}
            if measure == "unlabelled_answers" and len(shares) > 1:
                for field, estimate in own.items():
                    judged += in_field([estimate], field)
            else:
                judged.append(max(own.values(), key=lambda estimate: estimate.number))
        return quality(judged)
