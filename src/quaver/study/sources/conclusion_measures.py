"""The conclusions that a study file names, as measurements of the study's annotations and items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from quaver.core.column_names import column_of
from quaver.core.label_values import Codebook
from quaver.core.records import Estimate, LabelSet
from quaver.core.seeds import derive
from quaver.correction.regressions import Kind
from quaver.design.calls.experiment import Experiment
from quaver.design.spec import ConclusionSpec, StudySpec
from quaver.design.spec.study_file import Positions
from quaver.errors import MeasureError
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats
from quaver.study.sources.study_plugins import Measurement

CONCLUSIONS = "conclusions"
"""Under this name ``quaver measure`` takes them alone."""

_BY = ("model", "decoding", "evaluator")


def concluded_about(spec: StudySpec) -> set[str]:
    """The items' columns that a study's conclusions are about; none of a formula that cannot be read."""
    if not spec.conclusions:
        return set()
    from quaver.measures.validity.conclusion_formula import (
        read_formula,  # with the statistics it needs, for few studies only
    )

    result: set[str] = set()
    for conclusion in spec.conclusions:
        try:
            result.update(read_formula(conclusion.formula).columns)
        except MeasureError:
            continue  # reported where the conclusion is drawn
        if conclusion.weights is not None:
            result.add(conclusion.weights)
    return result


class ConclusionTable(NamedTuple):
    """A conclusion before it is drawn.

    Attributes:
        name: What it is called.
        matrix: The items' columns, shape (items, columns); NaN where one has no value.
        contrast: What each coefficient counts in the effect, shape (outcomes, columns).
        numbers: What each label counts as in each outcome, shape (labels, outcomes).
        regression: Its kind.
        weights: What each item counts for.
    """

    name: str
    matrix: Floats
    contrast: Floats
    numbers: Floats
    regression: Kind
    weights: Floats


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
        if not self._spec.conclusions:
            return
        from quaver.measures.validity.conclusion_formula import check_conclusion

        for index, conclusion in enumerate(self._spec.conclusions):
            with self._source.locating("conclusions", index):
                items, categories = self._items(conclusion)
                labels = self._labels(conclusion)
                given = (
                    conclusion.formula,
                    conclusion.effect,
                    labels,
                    categories,
                    conclusion.regression,
                    conclusion.weights,
                )
                check_conclusion(items, *given)
                if conclusion.group is not None and column_of("group", conclusion.group) not in self._groups:
                    raise UnknownColumn(conclusion.group, self._groups, where="group")

    def _labels(self, conclusion: ConclusionSpec) -> LabelSet:
        """The labels that a conclusion is about: those of its field."""
        labels = self._experiment.labels
        return labels.of(conclusion.field) if isinstance(labels, Codebook) and conclusion.field else labels

    def measurements(self, names: Sequence[str] | None = None) -> list[Measurement]:
        """All of them as one measurement; none where there are none, or others are asked for."""
        if not self._spec.conclusions or (names is not None and CONCLUSIONS not in names):
            return []
        seed = derive(self._spec.seed, "bootstrap", CONCLUSIONS)
        options = {"labels": self._experiment.labels, "by": _BY, "seed": seed}
        return [Measurement(CONCLUSIONS, self._drawn, None, options)]

    def _drawn(
        self,
        annotations: Any,
        *,
        items_like: Callable[[pl.DataFrame], pl.DataFrame] = lambda items: items,
        **options: Any,
    ) -> list[Estimate]:
        """The conclusions; ``items_like`` gives the items of other annotations from the study's own."""
        from quaver.measures.validity.conclusions import conclusion

        self.check()
        estimates: list[Estimate] = []
        for index, one in enumerate(self._spec.conclusions):
            items, categories = self._items(one)
            with self._source.locating("conclusions", index):
                estimates += conclusion(
                    annotations,
                    formula=one.formula,
                    effect=one.effect,
                    items=items_like(items),
                    name=one.name,
                    regression=one.regression,
                    categories=categories,
                    weights=one.weights,
                    missing=one.missing,
                    group=column_of("group", one.group) if one.group else self._spec.group,
                    **options,
                )
        return estimates

    def tables(self) -> Iterator[ConclusionTable]:
        """Each conclusion as a matrix of the items."""
        from quaver.measures.validity.conclusion_formula import (
            check_conclusion,
            outcome_numbers,
            read_regression,
        )

        self.check()
        labels, ids = self._experiment.labels, [item.id for item in self._experiment.items]
        for conclusion in self._spec.conclusions:
            kind = conclusion.regression
            items, categories = self._items(conclusion)
            table = check_conclusion(
                items, conclusion.formula, conclusion.effect, labels, categories, kind, conclusion.weights
            )
            regression = read_regression(conclusion.formula, kind)
            numbers = outcome_numbers(regression, kind, labels.codes, labels, table.outcomes)
            name = conclusion.name or f"{conclusion.formula.strip()}; {conclusion.effect.strip()}"
            contrast = table.effect.contrast.reshape(numbers.shape[1], -1)
            yield ConclusionTable(name, table.rows(ids), contrast, numbers, kind, table.weights(ids))

    @property
    def _groups(self) -> list[str]:
        return list(dict.fromkeys(name for item in self._experiment.items for name in item.groups))

    def _items(self, conclusion: ConclusionSpec) -> tuple[pl.DataFrame, list[str]]:
        """The items' columns that a conclusion names, and which of its formula's are groups."""
        from quaver.measures.validity.conclusion_formula import read_formula

        items = self._experiment.items
        explained = read_formula(conclusion.formula).columns
        wanted = tuple(dict.fromkeys([*explained, *([conclusion.weights] if conclusion.weights else [])]))
        known = [*self._groups, *dict.fromkeys(name for item in items for name in item.fields)]
        columns: dict[str, list[str | None]] = {"item": [item.id for item in items]}
        for name in wanted:
            if name not in known:
                where = "formula" if name in explained else "weights"
                raise UnknownColumn(name, dict.fromkeys(known), where=where)
            values = [item.groups.get(column_of("group", name), item.fields.get(name)) for item in items]
            columns[name] = [None if value is None else str(value) for value in values]
        schema = dict.fromkeys(columns, pl.String)
        return pl.DataFrame(columns, schema=schema), [
            name for name in explained if column_of("group", name) in self._groups
        ]
