"""A bundle, opened as a study that can be measured, reported and compared without its models."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from quaver.collect.run.ledger import Entry
from quaver.collect.store.response_store import Store
from quaver.collect.store.store_validation import check_cells, check_places, make_sound
from quaver.core.model import Model
from quaver.design.calls.experiment import Experiment, follow_ups_of
from quaver.design.spec import NOT_ASKED, StudySpec
from quaver.design.spec.study_file import Source, read_study
from quaver.errors import StoreError
from quaver.study.collection.study_status import Standing, labelled
from quaver.study.session import Study
from quaver.study.sources.archive import Opened, extract
from quaver.study.sources.bundle_schema import fitting_together, frame_in, items_in, lock_in, places_in
from quaver.study.sources.paraphrase_file import entries_of
from quaver.study.sources.resolved import Resolved

__all__ = ["FORM", "BundledStudy", "open_bundle", "opened_bundle"]

FORM = "quaver bundle 1"
"""What a bundle says that it is."""


class Packed(Resolved):
    """What a study resolved to when it was packed; its models are not needed, nor its items' texts."""

    def __init__(self, spec: StudySpec, source: Source, folder: Path, digest: str) -> None:
        super().__init__(spec, source, folder, {})
        self._digest = digest
        self._lock = lock_in(folder)
        self.withheld = len(places_in(folder))
        self._is_sound = False

    @cached_property
    def experiment(self) -> Experiment:
        """What the study resolved to when it was packed."""
        lock, items = self._lock, items_in(self.folder)
        return Experiment(
            labels=lock.labels,
            items=items,
            variants=lock.variants,
            decodings=lock.decodings,
            conditions=lock.conditions,
            notes=lock.document.get("notes", ()),
            follow_ups=follow_ups_of(self.spec, self.source),
        )

    @cached_property
    def engines(self) -> dict[str, Model]:
        """The models as the study file names them; none where the labels existed already."""
        return {} if self.spec.annotations is not None else self.plugins.models()

    @cached_property
    def served(self) -> dict[str, dict[str, Any]]:
        """Identity and provenance of each model when it was packed."""
        return dict(self._lock.document["models"])

    @cached_property
    def fingerprint(self) -> str:
        """The bundle's own."""
        return self._digest

    @contextmanager
    def answers(self) -> Iterator[Store]:
        """The store, as it was packed.

        Raises:
            StoreError: There is none.
        """
        if not self.files.responses.exists():
            raise StoreError(
                "this bundle has annotations, and no answers",
                where=str(self.folder),
                fix="measure, report or compare it; that needs no answers",
            )
        path = self.files.responses
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

    def spent_on_paraphrases(self) -> list[Entry]:
        """As the lock has it."""
        return entries_of(self._lock.document.get("paraphrases", {}).get("spent", ()))

    def lock(self) -> dict[str, Any]:
        """What the study resolved to when it was packed."""
        return dict(self._lock.document)


class BundledStudy(Study):
    """A study as its bundle has it: measured, reported and compared without model or items' texts.

    Attributes:
        packed: The archive.
        opened: Its manifest.
    """

    def __init__(self, spec: StudySpec, source: Source, folder: Path, packed: Path, opened: Opened) -> None:
        super().__init__(Packed(spec, source, folder, opened.digest))
        self.packed, self.opened = packed, opened
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @property
    def results(self) -> Path:
        """Where the report goes: the folder that the bundle was opened in, or one of its name beside it."""
        if not self._temporary:
            return self.folder
        return self.packed.with_name(self.packed.stem if self.packed.suffix else f"{self.packed.name}.report")

    def annotations(self) -> pl.DataFrame:
        """The annotation frame as it was packed."""
        return frame_in(self.folder)

    def standing(self) -> Standing:
        """As it was packed."""
        if self.spec.has_labels_only:
            return labelled(self.annotations().height)
        return super().standing()

    def measurable(self) -> pl.DataFrame:
        """The annotations, less those of evaluators that had nothing to read in a decoding."""
        return self.annotations() if self.spec.has_labels_only else super().measurable()

    def rescore(self, evaluators: Sequence[str] | None = None) -> pl.DataFrame:
        """Read the packed answers with evaluators.

        Raises:
            StoreError: There are labels, and no answers.
        """
        if self.spec.has_labels_only:
            raise StoreError(
                "annotations that exist already cannot be read again", where=str(self.packed), found="labels"
            )
        return super().rescore(evaluators)

    def run(self, **_: Any) -> Any:
        """Not to be had.

        Raises:
            StoreError: Always.
        """
        raise StoreError("a bundle asks nothing", where=str(self.packed), fix="run the study that it is of")

    def noise(self, prompts: int = 6) -> Any:
        """Not to be had.

        Raises:
            StoreError: Always.
        """
        self.run()

    def plan(self, **_: Any) -> Any:
        """Not to be had.

        Raises:
            StoreError: Always.
        """
        self.run()


def open_bundle(path: str | Path, folder: str | Path | None = None) -> BundledStudy:
    """Open a bundle as a study that can be measured, reported and compared.

    Args:
        path: The archive.
        folder: Where its files go; a temporary folder, if left out.

    Raises:
        StoreError: It is no bundle, or not as it was packed.
    """
    study = opened_bundle(Path(path), folder)
    if study.opened.changed:
        raise StoreError(
            "the bundle is not as it was packed",
            where=str(path),
            found=f"changed: {', '.join(study.opened.changed)}",
            fix="get it again from where it was published",
        )
    return study


def opened_bundle(path: Path, folder: str | Path | None = None) -> BundledStudy:
    """A bundle as a study, or what holds the news that it was changed."""
    if folder:
        return _opened(path, Path(folder))
    temporary = tempfile.TemporaryDirectory(prefix="quaver-")
    try:
        study = _opened(path, Path(temporary.name))
    except BaseException:
        temporary.cleanup()
        raise
    study._temporary = temporary
    return study


def _opened(path: Path, home: Path) -> BundledStudy:
    opened = extract(path, home, FORM)
    if opened.changed:
        return _shell(home, opened)
    with fitting_together(path):
        given = lock_in(home).document["study"]
        if given.get("annotations"):
            left = {"evaluators"} if given["annotations"].get("raw") else set()
            given = {name: value for name, value in given.items() if name not in {*NOT_ASKED} - left}
        return BundledStudy(*read_study(given), home, path, opened)


def _shell(home: Path, opened: Opened) -> BundledStudy:
    """What holds the news that a bundle was changed: nothing of it is read."""
    study = BundledStudy.__new__(BundledStudy)
    study.folder, study.opened, study._temporary = home, opened, None
    return study
