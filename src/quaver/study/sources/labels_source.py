"""A study of labels that exist already: it measures, reports and compares, and asks nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

import polars as pl

from quaver.collect.run.engine_noise import Noise
from quaver.collect.run.progress import Outcome, Progress
from quaver.collect.store.response_store import Counts
from quaver.core.model import Model
from quaver.design.calls.annotation_table import Imported, read_imported
from quaver.design.calls.experiment import Experiment
from quaver.design.calls.lock_file import lock_document
from quaver.design.spec import IMPORTED
from quaver.errors import SpecError, StoreError
from quaver.study.collection.study_status import Standing, labelled
from quaver.study.forecasts.forecast import Forecast
from quaver.study.session import Study
from quaver.study.sources.outgoing_check import check_design
from quaver.study.sources.resolved import Resolved

__all__ = ["AskingNothing", "ImportedStudy", "Labels"]

_RULE = "The label that stands in the file; an empty cell, or one named as unlabelled, is no label."


class Labels(Resolved):
    """What a study file resolves to that names ``annotations`` instead of items, prompt and models."""

    @cached_property
    def imported(self) -> Imported:
        """The annotations, and the design that they show.

        Raises:
            SpecError: Their file is the one that the study writes.
        """
        asked = self.spec.annotations
        if asked and (self.source.home / asked.source).resolve() == self.files.annotations.resolve():
            raise SpecError(
                "a study writes its own annotations to a file of this name",
                where=self.source.where("annotations", "source"),
                found=asked.source,
                fix="rename the file of labels",
            )
        return read_imported(self.spec, self.source)

    @cached_property
    def experiment(self) -> Experiment:
        """Items, variants and conditions, as the annotations show them."""
        found = self.imported.experiment
        check_design(found)
        return found

    @property
    def read_by(self) -> Sequence[str]:
        """Whose readings there are."""
        return (IMPORTED,)

    @cached_property
    def engines(self) -> dict[str, Model]:
        """None: nothing is asked."""
        return {}

    @cached_property
    def models(self) -> dict[str, Model]:
        """None: nothing is asked."""
        return {}

    @cached_property
    def served(self) -> dict[str, dict[str, Any]]:
        """The names that the annotations give to whoever made them."""
        names = dict.fromkeys(condition.model for condition in self.experiment.conditions)
        return {name: {"identity": IMPORTED, "engine": "annotations that existed already"} for name in names}

    def lock(self) -> dict[str, Any]:
        """What the study resolved to: the document of ``study.lock.json``."""
        document = lock_document(self.spec, self.experiment, self.served, {IMPORTED: _RULE})
        return document | {"calls": self.imported.frame.height}


class AskingNothing(Study):
    """A study whose file names ``annotations`` instead of items, prompt and models."""

    def __init__(self, labels: Labels) -> None:
        super().__init__(labels)
        self._labels = labels

    def plan(self, *, pilot: int = 0, compare: Sequence[str] = ()) -> Forecast:
        """No calls, whatever is asked."""
        experiment = self.experiment
        self._labels.plugins.check_measures(self._labels.factors, self._labels.read_by)
        return Forecast(len(experiment.items), len(experiment.variants), len(experiment.decodings), ())

    def run(
        self,
        *,
        watch: Callable[[Progress], None] = lambda _: None,
        retry_errors: bool = False,
        retry_unconstrained: bool = False,
        requests: int | None = None,
        events: TextIO | None = None,
    ) -> Outcome:
        """Nothing to ask."""
        return Outcome("finished", 0, 0, 0, 0, 0.0)

    def status(self) -> tuple[Counts, int]:
        """Every annotation is there."""
        height = self._labels.imported.frame.height
        return Counts(height, 0, 0), height

    def standing(self) -> Standing:
        """Every annotation is there, and nothing was spent."""
        return labelled(self._labels.imported.frame.height)

    def noise(self, prompts: int = 6) -> dict[str, list[Noise]]:
        """Not to be had.

        Raises:
            StoreError: Always: there is no engine.
        """
        raise StoreError(
            "annotations that exist already have no engine whose noise could be measured",
            where=str(self.folder),
            expected="a study with models",
            found="labels",
        )


class ImportedStudy(AskingNothing):
    """A study of labels that exist already."""

    @property
    def _frame(self) -> pl.DataFrame:
        return self._labels.imported.frame

    def rescore(self, evaluators: Sequence[str] | None = None) -> pl.DataFrame:
        """Read the file again, and keep the frame as ``annotations.parquet``.

        Args:
            evaluators: None can read these again: there are labels, and no answers.

        Raises:
            StoreError: An evaluator is named, or the frame cannot be written.
        """
        if evaluators:
            raise StoreError(
                "annotations that exist already cannot be read with another evaluator",
                where=str(self.folder),
                expected="answers",
                found="labels",
            )
        self._files.write_annotations(self._frame)
        return self._frame

    def annotations(self) -> pl.DataFrame:
        """The annotation frame (columns: ``records.ANNOTATION_COLUMNS``, factors, groups)."""
        return self._frame

    def export(self, path: str | Path) -> int:
        """Not to be had.

        Raises:
            StoreError: Always: there are no calls.
        """
        raise StoreError(
            "annotations that exist already have no calls to export",
            where=str(self.folder),
            fix="annotations.parquet holds them as a table",
        )

    def measurable(self) -> pl.DataFrame:
        """All of the annotations."""
        return self.annotations()
