"""Labels that exist already as a source: they are measured, reported and compared, and no model is asked."""

from __future__ import annotations

import json
import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar

import polars as pl

from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import row_of, written_prompt
from quaver.collect.store.spill import Receipt
from quaver.collect.store.store_lock import sole_writer
from quaver.core.calls import Call, Response
from quaver.design.calls.annotation_table import read_imported
from quaver.design.calls.experiment import Experiment
from quaver.design.calls.lock_file import lock_document
from quaver.design.prompts.rendering import messages_of
from quaver.design.spec import IMPORTED
from quaver.errors import SpecError, StoreError
from quaver.models.local.weights import digest
from quaver.study.sources.kept_results import inputs_of
from quaver.study.sources.outgoing_check import check_design
from quaver.study.sources.study_source import StudySource

_RULE = "The label that stands in the file; an empty cell, or one named as unlabelled, is no label."


class Imports(StudySource):
    """A study file that names a table of ``annotations`` instead of items, prompt and models."""

    @cached_property
    def imported(self) -> tuple[Experiment, pl.DataFrame, list[Response]]:
        """The design that the table shows, its annotations, and its raw answers."""
        self.resolved_from = inputs_of(self)
        spec = self.spec.annotations
        if spec and (self.positions.home / spec.source).resolve() == self.files.annotations.resolve():
            raise SpecError(
                "a study writes its own annotations to a file of this name",
                where=self.positions.where("annotations", "source"),
                found=spec.source,
                fix="rename the file of labels",
            )
        return read_imported(self.spec, self.positions)

    @cached_property
    def experiment(self) -> Experiment:
        """Items, variants and conditions, as the table shows them."""
        experiment = self.imported[0]
        check_design(experiment)
        return experiment

    @property
    def calls(self) -> int:
        """How many labels or answers the table has; one with several fields counts once."""
        asked = self.spec.annotations
        return self.imported[1].height // max(1, len(asked.fields) if asked else 0)

    @cached_property
    def served(self) -> dict[str, dict[str, Any]]:
        """The names that the table gives to what made the labels or answers, and what is known of it."""
        return {condition.model: dict(self._facts) for condition in self.experiment.conditions}

    @property
    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """What is known of all that made labels or answers."""

    def lock(self) -> dict[str, Any]:
        """What the study resolved to: the document of ``study.lock.json``."""
        rules = self.plugins.rules() or {IMPORTED: _RULE}
        return lock_document(self.spec, self.experiment, self.served, rules) | {"calls": self.calls}


class Labels(Imports):
    """A table of labels."""

    kind = "imported labels"
    has_answers = False

    _facts: ClassVar[dict[str, Any]] = {
        "identity": IMPORTED,
        "engine": "annotations that existed already",
    }

    @cached_property
    def annotations(self) -> pl.DataFrame:
        """The annotation frame, as the table has it.

        The study's folder keeps it as ``annotations.parquet``, as it does with labels that were scored.
        """
        frame = self.imported[1]
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
        """None."""
        raise self.cannot("has_answers")


_CHUNK = 1000


class Answers(Imports):
    """A table with a column of raw answers."""

    kind = "imported answers"

    @cached_property
    def _facts(self) -> dict[str, Any]:
        """The table that the answers are from."""
        spec = self.spec.annotations
        assert spec is not None
        sha256 = digest(self.positions.home / spec.source)
        return {
            "identity": f"{IMPORTED} {spec.raw} sha256:{sha256}",
            "engine": "answers that existed already",
            "file": spec.source,
            "sha256": sha256,
            "answer": spec.raw,
        }

    @contextmanager
    def answers(self) -> Iterator[Store]:
        """The store, with the table's answers in it."""
        self.files.make()
        with self.files.store() as store:
            if not store.calls.placed(self.fingerprint):
                with sole_writer(self.folder):
                    self.place(store)
            yield store

    def place(self, store: Store) -> None:
        """Write the table's answers to the store, and make the store's calls theirs."""
        experiment, responses, now = self.experiment, self.imported[2], time.time()
        variants = {variant.id: variant for variant in experiment.variants}
        sources = {
            name: store.register(name, str(facts["identity"]), facts) for name, facts in self.served.items()
        }
        calls = self._calls()
        for start in range(0, len(calls), _CHUNK):
            receipts = []
            for row, call in enumerate(calls[start : start + _CHUNK], start):
                condition, item = experiment.conditions[call.condition], experiment.items[call.item]
                asked = messages_of(variants[condition.variant], experiment.labels, item)
                answer, source = [row_of(responses[row])], sources[condition.model]
                receipts.append(Receipt(source, written_prompt(asked), 0, now, "", (call,), answer))
            store.write(receipts)
        items = [item.id for item in experiment.items]
        store.calls.place(self.fingerprint, experiment.conditions, items, iter(calls))

    def _calls(self) -> list[Call]:
        """Each row's call. Its key is made of the table and of its place there."""
        experiment = self.experiment
        conditions = {
            (c.model, c.variant, c.decoding): index for index, c in enumerate(experiment.conditions)
        }
        items = {item.id: index for index, item in enumerate(experiment.items)}
        calls = []
        places = self.imported[1].select("model", "variant", "decoding", "item", "repeat")
        for model, variant, decoding, item, repeat in places.iter_rows():
            place = json.dumps([self._facts["identity"], model, variant, decoding, item, repeat])
            key = blake2b(place.encode(), digest_size=16).digest()
            calls.append(Call(key, conditions[model, variant, decoding], items[item], repeat))
        return calls
