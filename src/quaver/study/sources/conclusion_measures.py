"""The conclusions that a study file names, as measurements of the study's annotations and items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from quaver.core.column_names import column_of
from quaver.core.label_values import Codebook
from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.design.calls.experiment import Experiment
from quaver.design.spec import ConclusionSpec, StudySpec
from quaver.design.spec.study_file import Positions
from quaver.errors import MeasureError
from quaver.estimation.coded_columns import UnknownColumn
from quaver.study.sources.study_plugins import Measurement

CONCLUSIONS = "conclusions"
"""Under this name ``quaver measure`` takes them alone."""

_BY = ("model", "decoding", "evaluator")


def concluded_about(spec: StudySpec) -> set[str]:
    """The items' columns that a study's conclusions are about; none of a formula that cannot be read."""
    result: set[str] = set()
    for conclusion in spec.conclusions:
        # With the statistics that it needs, for few studies only.
        from quaver.measures.validity.conclusion_formula import read_formula

        try:
            result.update(read_formula(conclusion.formula).columns)
        except MeasureError:
            continue  # reported where the conclusion is drawn
    return result


class Conclusions:
    """Draws a study's conclusions.

    Args:
        spec: The study.
        source: Where its parts stand, for errors.
        experiment: Its items and labels.
    """

    def __init__(self, spec: StudySpec, source: Positions, experiment: Experiment) -> None:
        self._spec, self._source, self._experiment = spec, source, experiment

    def check(self) -> None:
        """Find what is wrong with them before anything is asked."""
        for index, conclusion in enumerate(self._spec.conclusions):
            from quaver.measures.validity.conclusion_formula import ItemTable, label_numbers, read_formula

            with self._source.locating("conclusions", index):
                labels = self._experiment.labels
                if isinstance(labels, Codebook) and conclusion.field:
                    labels = labels.of(conclusion.field)
                asked = read_formula(conclusion.formula)
                label_numbers(asked.label, labels.codes, labels)
                items, categories = self._items(conclusion)
                ItemTable(items, asked, categories, conclusion.effect)

    def measurements(self, names: Sequence[str] | None = None) -> list[Measurement]:
        """All of them as one measurement; none where there are none, or others are asked for."""
        if not self._spec.conclusions or (names is not None and CONCLUSIONS not in names):
            return []
        seed = derive(self._spec.seed, "bootstrap", CONCLUSIONS)
        options = {"labels": self._experiment.labels, "by": _BY, "seed": seed}
        return [Measurement(CONCLUSIONS, self._drawn, None, options)]

    def _drawn(self, annotations: Any, **options: Any) -> list[Estimate]:
        """The conclusions."""
        from quaver.measures.validity.conclusions import conclusion

        self.check()
        estimates: list[Estimate] = []
        for index, claim in enumerate(self._spec.conclusions):
            items, categories = self._items(claim)
            with self._source.locating("conclusions", index):
                estimates += conclusion(
                    annotations,
                    formula=claim.formula,
                    effect=claim.effect,
                    items=items,
                    name=claim.name,
                    categories=categories,
                    missing=claim.missing,
                    group=self._spec.group,
                    **options,
                )
        return estimates

    @property
    def _groups(self) -> list[str]:
        return self._experiment.groups

    def _items(self, conclusion: ConclusionSpec) -> tuple[pl.DataFrame, list[str]]:
        """The items' columns that a conclusion names, and which of them are groups."""
        from quaver.measures.validity.conclusion_formula import read_formula

        items, names = self._experiment.items, read_formula(conclusion.formula).columns
        known = dict.fromkeys([*self._groups, *(name for item in items for name in item.fields)])
        columns: dict[str, list[str | None]] = {"item": [item.id for item in items]}
        for name in names:
            if name not in known:
                raise UnknownColumn(name, known, where="formula")
            values = [item.groups.get(column_of("group", name), item.fields.get(name)) for item in items]
            columns[name] = [None if value is None else str(value) for value in values]
        groups = [name for name in names if column_of("group", name) in self._groups]
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), groups
