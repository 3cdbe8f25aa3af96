"""Labels that exist already as a source: they are measured, reported and compared, and no model is asked."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from functools import cached_property
from typing import Any

import polars as pl

from quaver.collect.store.response_store import Store
from quaver.design.calls.annotation_table import Imported, read_imported
from quaver.design.calls.experiment import Experiment
from quaver.design.calls.lock_file import lock_document
from quaver.design.spec import IMPORTED
from quaver.errors import SpecError, StoreError
from quaver.study.sources.outgoing_check import check_design
from quaver.study.sources.study_source import StudySource

_RULE = "The label that stands in the file; an empty cell, or one named as unlabelled, is no label."


class Imports(StudySource):
    """A study file that names a table of ``annotations`` instead of items, prompt and models."""

    @cached_property
    def imported(self) -> Imported:
        """The table, and the design that it shows.

        Raises:
            SpecError: The table is the file that the study itself writes.
        """
        asked = self.spec.annotations
        if asked and (self.positions.home / asked.source).resolve() == self.files.annotations.resolve():
            raise SpecError(
                "a study writes its own annotations to a file of this name",
                where=self.positions.where("annotations", "source"),
                found=asked.source,
                fix="rename the file of labels",
            )
        return read_imported(self.spec, self.positions)

    @cached_property
    def experiment(self) -> Experiment:
        """Items, variants and conditions, as the table shows them."""
        found = self.imported.experiment
        check_design(found)
        return found

    @property
    def calls(self) -> int:
        """How many labels or answers the table has."""
        return self.imported.frame.height

    def _lock(self, rules: dict[str, str]) -> dict[str, Any]:
        document = lock_document(self.spec, self.experiment, self.served, rules)
        return document | {"calls": self.calls}


class Labels(Imports):
    """A table of labels."""

    kind = "imported labels"
    has_answers = False

    @cached_property
    def served(self) -> dict[str, dict[str, Any]]:
        """The names that the table gives to whoever made the labels."""
        names = dict.fromkeys(condition.model for condition in self.experiment.conditions)
        return {name: {"identity": IMPORTED, "engine": "annotations that existed already"} for name in names}

    @cached_property
    def annotations(self) -> pl.DataFrame:
        """The annotation frame, as the table has it.

        The study's folder keeps it as ``annotations.parquet``, as it does with labels that were scored.
        """
        frame = self.imported.frame
        if self.folder.is_dir() and not self._is_kept(frame):
            with suppress(StoreError):  # a folder that cannot be written can be measured all the same
                self.files.write_annotations(frame)
        return frame

    def _is_kept(self, frame: pl.DataFrame) -> bool:
        try:
            return pl.read_parquet(self.files.annotations).equals(frame)
        except (OSError, pl.exceptions.PolarsError):
            return False

    def answers(self) -> AbstractContextManager[Store]:
        """None.

        Raises:
            StoreError: Always.
        """
        raise self.cannot("has_answers")

    def lock(self) -> dict[str, Any]:
        """What the study resolved to: the document of ``study.lock.json``."""
        return self._lock({IMPORTED: _RULE})
