"""What is measured of a study with fields: of each field what a study of its labels alone would measure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quaver.core.annotations import FIELD
from quaver.core.records import Estimate
from quaver.errors import UnknownName
from quaver.report.findings.quality import Quality, quality
from quaver.study.analysis.field_source import fields_of
from quaver.study.analysis.measured_study import MeasuredStudy
from quaver.study.sources.conclusion_measures import CONCLUSIONS
from quaver.study.sources.study_source import StudySource


class MeasuredFields:
    """A study's measures, field by field; a study without fields has one, which no cell names.

    Args:
        study: The study.

    Attributes:
        study: The study.
        parts: What is measured of each field, by its name.
    """

    def __init__(self, study: StudySource) -> None:
        self.study = study
        self.parts = {name: MeasuredStudy(one) for name, one in fields_of(study).items()}

    def measure(self, name: str, options: Mapping[str, Any]) -> list[Estimate]:
        """One measure, of the fields that the option ``field`` names, or of all."""
        options = dict(options)
        asked = options.pop(FIELD, None)
        named = [asked] if isinstance(asked, str) else list(asked or ())
        for field in named:
            if field not in self.parts or not field:
                raise UnknownName("field", field, [part for part in self.parts if part], where=name)
        return self._each(lambda part: part.measure(name, options), named or None)

    def estimates(self, names: Sequence[str] | None = None) -> list[Estimate]:
        """The measures that the study's file asks for; conclusions of the fields that they are about."""
        concluded = {field for field, part in self.parts.items() if part.study.spec.conclusions}

        def named(part: MeasuredStudy) -> Sequence[str] | None:
            others = concluded and not part.study.spec.conclusions
            return [name for name in names if name != CONCLUSIONS] if names is not None and others else names

        return self._each(lambda part: part.estimates(named(part)))

    def audit(self) -> list[Estimate]:
        """How the answers were read."""
        return self._each(MeasuredStudy.audit)

    def charts(self) -> list[Estimate]:
        """What the report's charts show beyond what the file asks for."""
        return self._each(MeasuredStudy.charts)

    def quality(self) -> Quality:
        """The gate before every number; of several fields, of each issue the worst, or each that differs."""
        found: dict[tuple[str, ...], dict[str, Estimate]] = defaultdict(dict)
        for field, part in self.parts.items():
            for estimate in part.quality():
                found[estimate.measure, *map(str, estimate.cell.values())][field] = estimate
        judged: list[Estimate] = []
        for (measure, *_), own in found.items():
            if measure == "unlabelled_answers" and len({estimate.value for estimate in own.values()}) > 1:
                judged += [replace(one, cell={FIELD: field, **one.cell}) for field, one in own.items()]
            else:
                judged.append(max(own.values(), key=lambda estimate: estimate.number))
        return quality(judged)

    def _each(
        self, of: Callable[[MeasuredStudy], list[Estimate]], fields: Sequence[str] | None = None
    ) -> list[Estimate]:
        """The estimates of each field, with the field in their cells."""
        estimates: list[Estimate] = []
        for field in self.parts if fields is None else fields:
            own = of(self.parts[field])
            estimates += (
                [replace(estimate, cell={FIELD: field, **estimate.cell}) for estimate in own]
                if field
                else own
            )
        return estimates
