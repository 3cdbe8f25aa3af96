"""Labels that exist already as a source: they are measured, reported and compared, and no model is asked."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from hashlib import blake2b
from inspect import getdoc
from itertools import islice
from typing import Any

import polars as pl

from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import row_of, written_prompt
from quaver.collect.store.spill import Receipt
from quaver.collect.store.store_lock import sole_writer
from quaver.core.records import Call, Response
from quaver.design.calls.annotation_table import read_imported
from quaver.design.calls.experiment import Experiment
from quaver.design.calls.lock_file import lock_document
from quaver.design.prompts.rendering import messages_of
from quaver.design.spec import IMPORTED
from quaver.errors import SpecError, StoreError
from quaver.models.local.weights import digest
from quaver.study.sources.outgoing_check import check_design
from quaver.study.sources.study_source import StudySource

_RULE = "The label that stands in the file; an empty cell, or one named as unlabelled, is no label."


class Imports(StudySource):
    """A study file that names a table of ``annotations`` instead of items, prompt and models."""

    @cached_property
    def imported(self) -> tuple[Experiment, pl.DataFrame, list[Response]]:
        """The design that the table shows, its annotations, and its raw answers."""
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

    def lock(self) -> dict[str, Any]:
        """What the study resolved to: the document of ``study.lock.json``."""
        return self._lock({IMPORTED: _RULE})


_CHUNK = 1000


class Answers(Imports):
    """A table with a column of raw answers."""

    kind = "imported answers"

    @cached_property
    def served(self) -> dict[str, dict[str, Any]]:
        """The names that the table gives to what answered, and the table that the answers are from."""
        spec = self.spec.annotations
        assert spec is not None
        sha256 = digest(self.positions.home / spec.source)
        known = {"file": spec.source, "sha256": sha256, "answer": spec.raw}
        identity = f"{IMPORTED} {spec.raw} sha256:{sha256}"
        facts = {"identity": identity, "engine": "answers that existed already", **known}
        names = dict.fromkeys(condition.model for condition in self.experiment.conditions)
        return {name: dict(facts) for name in names}

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
        sources = {
            name: store.register(name, str(facts["identity"]), facts) for name, facts in self.served.items()
        }
        receipts = self._receipts(sources)
        while some := list(islice(receipts, _CHUNK)):
            store.write(some)
        items = [item.id for item in self.experiment.items]
        calls = (call for call, _ in self._calls())
        store.calls.place(self.fingerprint, self.experiment.conditions, items, calls)

    def _calls(self) -> Iterator[tuple[Call, int]]:
        """Each row's call, and the row. Its key is made of the table and of its place there."""
        experiment = self.experiment
        conditions = {
            (c.model, c.variant, c.decoding): index for index, c in enumerate(experiment.conditions)
        }
        items = {item.id: index for index, item in enumerate(experiment.items)}
        identities = {name: facts["identity"] for name, facts in self.served.items()}
        places = self.imported[1].select("model", "variant", "decoding", "item", "repeat")
        for row, (model, variant, decoding, item, repeat) in enumerate(places.iter_rows()):
            place = json.dumps([identities[model], model, variant, decoding, item, repeat])
            key = blake2b(place.encode(), digest_size=16).digest()
            yield Call(key, conditions[model, variant, decoding], items[item], repeat), row

    def _receipts(self, sources: dict[str, int]) -> Iterator[Receipt]:
        experiment, answers, now = self.experiment, self.imported[2], time.time()
        variants = {variant.id: variant for variant in experiment.variants}
        for call, row in self._calls():
            condition, item = experiment.conditions[call.condition], experiment.items[call.item]
            messages = written_prompt(messages_of(variants[condition.variant], experiment.labels, item))
            yield Receipt(sources[condition.model], messages, 0, now, "", (call,), [row_of(answers[row])])

    def lock(self) -> dict[str, Any]:
        """What the study resolved to: the document of ``study.lock.json``."""
        return self._lock(
            {name: getdoc(type(evaluator)) or "" for name, evaluator in self.plugins.evaluators().items()}
        )
