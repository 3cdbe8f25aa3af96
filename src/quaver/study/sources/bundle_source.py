"""A bundle as a source: what was packed, measured, reported and compared without the models."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from quaver.collect.run.budget import Price
from quaver.collect.run.ledger import Entry
from quaver.collect.store.response_store import Store
from quaver.collect.store.store_validation import check_cells, check_places, make_sound
from quaver.core.model import Model
from quaver.design.calls.experiment import Experiment, follow_ups_of
from quaver.design.spec import NOT_ASKED, StudySpec
from quaver.design.spec.study_file import Positions, read_study
from quaver.errors import ModelError, StoreError
from quaver.study.sources.archive import Opened, extract
from quaver.study.sources.bundle_schema import (
    fitting_together,
    frame_in,
    items_in,
    lock_in,
    packed_in,
    places_in,
)
from quaver.study.sources.paraphrase_file import entries_of
from quaver.study.sources.prices import prices, prices_beside
from quaver.study.sources.study_source import StudySource

FORM = "quaver bundle 1"
"""The form that a bundle's manifest names."""


class Bundle(StudySource):
    """What a study resolved to when it was packed, with its answers, labels and annotations.

    Attributes:
        packed: The archive.
        opened: Its manifest.
        facts: What was known when it was packed.

    Raises:
        StoreError: A file of the archive is missing, damaged or of another shape.
    """

    owns_folder = False

    def __init__(self, packed: Path, opened: Opened, folder: Path) -> None:
        self.packed, self.opened = packed, opened
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._document, self._lock = lock_in(folder)
        super().__init__(*_study_in(self._document), folder)
        self.withheld = len(places_in(folder))
        self.facts = packed_in(folder)
        self.has_answers = not self.spec.has_labels_only
        self.has_texts = bool(opened.get("texts", True))
        self._is_sound = False

    @property
    def kind(self) -> str:  # type: ignore[override]
        """What was packed."""
        if self.spec.annotations is None:
            return "a bundle of a study"
        return f"a bundle of imported {'answers' if self.has_answers else 'labels'}"

    @property
    def where(self) -> str:
        """The archive."""
        return str(self.packed)

    @property
    def title(self) -> str:
        """The archive's name."""
        return self.packed.name

    @property
    def results(self) -> Path:
        """Where its report goes: the folder that it was opened in, or one of its name beside the archive."""
        if not self._temporary:
            return self.folder
        return self.packed.with_name(self.packed.stem if self.packed.suffix else f"{self.packed.name}.report")

    @cached_property
    def experiment(self) -> Experiment:
        """What the study resolved to when it was packed."""
        lock = self._lock
        return Experiment(
            labels=lock["labels"],
            items=items_in(self.folder),
            variants=lock["variants"],
            decodings=lock["decodings"],
            conditions=lock["conditions"],
            notes=self._document.get("notes", ()),
            follow_ups=follow_ups_of(self.spec, self.positions),
        )

    @cached_property
    def calls(self) -> int:
        """How many calls, or labels that existed already, were packed."""
        if self.spec.annotations is None:
            return self.experiment.calls
        return int(self._document.get("calls", self.annotations.height))

    @cached_property
    def served(self) -> dict[str, dict[str, Any]]:
        """Identity and provenance of each model when it was packed."""
        return dict(self._document["models"])

    @cached_property
    def fingerprint(self) -> str:
        """The archive's digest."""
        return self.opened.digest

    @property
    def annotations(self) -> pl.DataFrame:
        """The annotation frame as it was packed, or as it was rescored since."""
        return frame_in(self.folder)

    @contextmanager
    def answers(self) -> Iterator[Store]:
        """The store, as it was packed.

        Raises:
            StoreError: There is none.
        """
        path = self.files.responses
        if not path.exists():
            raise self.cannot("has_answers")
        if not self._is_sound:
            make_sound(path)
        with self.files.store() as store:
            if not self._is_sound:
                check_cells(store, path)
                check_places(
                    store, path, self.experiment.conditions, [item.id for item in self.experiment.items]
                )
                self._is_sound = True
            yield store

    @property
    def left_out(self) -> Mapping[str, int]:
        """How many answers that are no part of the study were left out when it was packed, by model."""
        return {} if self.facts.get("outside_packed", True) else self.facts.get("outside", {})

    @cached_property
    def prices(self) -> Mapping[str, Price | None]:
        """What the models cost that were asked, by name; None where the price is unknown."""
        if self.spec.annotations is not None:
            return {}
        if "prices" in self.facts:
            return self.facts["prices"]
        models: Mapping[str, Model] = {}
        with suppress(ModelError):
            models = self.plugins.models()
        own = prices(self.spec, models, self.positions)
        return own | prices_beside(self.plugins, lambda: models, self._spent)

    def spent_on_paraphrases(self) -> list[Entry]:
        """What was spent on calls that made paraphrases, as the lock has it."""
        return entries_of(self._spent)

    @property
    def _spent(self) -> list[dict[str, Any]]:
        return list(self._document.get("paraphrases", {}).get("spent", ()))

    def lock(self) -> dict[str, Any]:
        """What the study resolved to when it was packed."""
        return dict(self._document)


def _study_in(lock: Mapping[str, Any]) -> tuple[StudySpec, Positions]:
    """The study that a bundle's lock describes; of labels, without what only an asked study has."""
    given = lock["study"]
    if given.get("annotations"):
        left = {"evaluators"} if given["annotations"].get("raw") else set()
        given = {name: value for name, value in given.items() if name not in {*NOT_ASKED} - left}
    return read_study(given)


def open_bundle(path: Path, folder: Path | None = None) -> Bundle:
    """Unpack a bundle to a folder, which is a temporary one if left out.

    Raises:
        StoreError: It is no bundle, or not as it was packed.
    """
    if folder is not None:
        return _opened(path, folder)
    temporary = tempfile.TemporaryDirectory(prefix="quaver-")
    try:
        found = _opened(path, Path(temporary.name))
    except BaseException:
        temporary.cleanup()
        raise
    found._temporary = temporary
    return found


def _opened(path: Path, home: Path) -> Bundle:
    opened = extract(path, home, FORM)
    if opened.changed:
        raise StoreError(
            "the bundle has changed since it was packed",
            where=str(path),
            found=f"changed: {', '.join(opened.changed)}",
            fix="download it again",
        )
    with fitting_together(path):
        return Bundle(path, opened, home)
