"""One field of a study, as a study that has this field's labels and no others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import cache, cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.core.annotations import FIELD, rows_with
from quaver.core.label_values import TaskField, fields_in, occurring_numbers, occurring_sets
from quaver.core.records import LabelSet
from quaver.design.calls.experiment import Experiment
from quaver.design.calls.lock_file import items_in_short
from quaver.design.spec import TaskSpec
from quaver.errors import StoreError, UnknownName
from quaver.study.analysis.annotation_frame import annotations_of
from quaver.study.sources.study_folder import FIELDS, FileName, StudyFolder
from quaver.study.sources.study_source import Ability, StudySource

FIELD_FILES: Final[Sequence[FileName]] = ("accepted.json", "labelled.json")
"""Files that are about the labels of one field; the others are the study's."""


class _FieldFolder(StudyFolder):
    """A field's own files in a folder of its own; its answers and all about them in the study's."""

    def __init__(self, path: Path, whole: StudyFolder) -> None:
        super().__init__(path)
        self._whole = whole
        self.responses, self.log, self.paraphrases = whole.responses, whole.log, whole.paraphrases

    def read(self, name: FileName) -> dict[str, Any]:
        """The document of a file; empty where there is no such file."""
        return super().read(name) if name in FIELD_FILES else self._whole.read(name)


def _of_whole(name: str) -> Any:
    """What a field shares with the study: one answer has all fields."""
    return property(attrgetter(f"whole.{name}"))


class FieldSource(StudySource):
    """One field of a study.

    Its label set and gold labels are the field's, its annotations the rows of that field. What asks models or
    reads answers again is the whole study's to do.

    Attributes:
        whole: The study.
        field: The field.
    """

    kind = "one field of a study"
    has_answers = False
    owns_folder = False
    keeps_results = _of_whole("keeps_results")
    calls = _of_whole("calls")
    served = _of_whole("served")
    prices = _of_whole("prices")
    gold_columns = _of_whole("gold_columns")
    gold_files = _of_whole("gold_files")
    answers = _of_whole("answers")
    left_out = _of_whole("left_out")
    spent_on_paraphrases = _of_whole("spent_on_paraphrases")

    def __init__(self, whole: StudySource, name: str, annotations: pl.DataFrame | None = None) -> None:
        self.whole, self.filled = whole, annotations
        self._read: Callable[[], pl.DataFrame] = partial(annotations_of, whole)
        if annotations is not None:
            self._read = lambda: annotations
        self.field: TaskField = _field(whole, name)
        self.gold_field = name
        # A study's file with one field as its task, and what is measured of it
        spec = whole.spec
        field = spec.task.fields[name]
        task = TaskSpec.model_construct(name=name, level=field.field(name).labels.level, labels=field.labels)
        specs = [measure for measure in spec.measures if measure.field is None or name in measure.field]
        self.spec = spec.model_copy(
            update={
                "name": f"{spec.name}: {name}",
                "task": task,
                "items": spec.items.model_copy(update={"gold": field.gold}),
                "measures": tuple(spec.model_copy(update={"field": None}) for spec in specs),
                "conclusions": tuple(
                    conclusion for conclusion in spec.conclusions if conclusion.field == name
                ),
            }
        )
        self.plugins, self.positions, self.withheld = whole.plugins, whole.positions, whole.withheld
        self.has_texts = whole.has_texts
        self.folder = whole.folder / FIELDS / name
        self.files = _FieldFolder(self.folder, whole.files)

    def cannot(self, ability: Ability) -> StoreError:
        """The error for what the whole study does."""
        if ability == "keeps_results":
            return self.whole.cannot(ability)
        return StoreError(
            "this is done for all fields of a study together",
            where=f"{self.whole.where}: field {self.field.name}",
            expected="the study",
            found=f"the field {self.field.name!r}",
            fix="leave the field out",
        )

    @property
    def title(self) -> str:
        """The study's title and the field."""
        return f"{self.whole.title}: {self.field.name}"

    @cached_property
    def experiment(self) -> Experiment:
        """The study's design with this field's labels, answers and gold labels."""
        whole, name = self.whole.experiment, self.field.name
        return replace(
            whole,
            labels=self._occurring,
            items=[replace(item, gold=item.golds.get(name), golds={}) for item in whole.items],
            variants=list(map(self.field.of, whole.variants)),
        )

    @cached_property
    def _occurring(self) -> LabelSet:
        """The field's labels; of sets, each alone and the sets that occur; of numbers, those that occur."""
        name, alone = self.field.name, self.field.labels
        numeric = alone.are_numbers
        if not (self.field.several or numeric):
            return alone
        given = {item.golds[name] for item in self.whole.experiment.items if name in item.golds}
        unasked = self.whole.can_ask and not self.files.responses.exists()
        if self.filled is not None or not unasked:
            given |= set(self.annotations["label"].cast(pl.String).drop_nulls().unique())
        given |= set(self.labels_of(self.gold_sample.coded["label"].drop_nulls()))
        return (
            occurring_numbers(given, alone.level)
            if numeric
            else occurring_sets(given, alone.labels, alone.level)
        )

    @property
    def annotations(self) -> pl.DataFrame:
        """The rows of this field."""
        return self.rows(self._read())

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows of this field among the study's."""
        return rows_with(frame, FIELD, self.field.name).drop(FIELD)

    def lock(self) -> dict[str, Any]:
        """The study's document with the field's labels."""
        whole, experiment = self.whole.lock(), self.experiment
        variants = [
            rendered
            | {"answers": dict(variant.answers), "label_field": variant.label_field, "output": variant.output}
            for rendered, variant in zip(whole["variants"], experiment.variants, strict=True)
        ]
        return whole | {
            "study": self.spec.model_dump(mode="json"),
            "labels": asdict(experiment.labels),
            "items": {"blake2b": experiment.items_hash, **items_in_short(experiment)},
            "variants": variants,
        }


def fields_of(study: StudySource) -> dict[str, StudySource]:
    """A study's fields by name, which share its annotations; a study without fields is its own, unnamed."""
    if not study.spec.task.fields:
        return {"": study}
    read, fields = cache(partial(annotations_of, study)), dict[str, StudySource]()
    for name in study.spec.task.fields:
        fields[name] = source = FieldSource(study, name)
        source._read = read
    return fields


def _field(whole: StudySource, name: str) -> TaskField:
    labels = whole.spec.task.label_set(whole.spec.prompt.language)
    names = {field.name: field for field in fields_in(labels)}
    if name not in names:
        raise UnknownName("field", name, names, where=whole.where)
    return names[name]
