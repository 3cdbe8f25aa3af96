"""A bundle, opened as a study that can be measured, reported and compared without its models."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from quaver.archive import Opened, extract
from quaver.collect.ledger import Entry
from quaver.collect.store import Store
from quaver.design.experiment import Experiment, follow_ups_of
from quaver.design.spec import NOT_ASKED, StudySpec
from quaver.design.study_file import Source, read_study
from quaver.errors import StoreError
from quaver.models import Model
from quaver.records import Condition, Decoding, Item, Label, LabelSet, Variant
from quaver.resolved import Resolved
from quaver.standing import Standing, labelled
from quaver.study import Study
from quaver.wordings import entries_of

__all__ = ["FORM", "BundledStudy", "open_bundle", "opened_bundle", "read_document"]

FORM = "quaver bundle 1"
"""What a bundle says that it is."""


class Packed(Resolved):
    """What a study resolved to when it was packed; its models are not needed, nor its items' texts."""

    def __init__(self, spec: StudySpec, source: Source, folder: Path, digest: str) -> None:
        super().__init__(spec, source, folder, {})
        self._digest = digest
        self._document = read_document(folder / "study.lock.json")

    @cached_property
    def experiment(self) -> Experiment:
        """What the study resolved to when it was packed."""
        lock = self._document
        labels = [_record(Label, one) for one in lock["labels"]["labels"]]
        return Experiment(
            labels=_record(LabelSet, {**lock["labels"], "labels": labels}),
            items=[_record(Item, one) for one in read_document(self.folder / "items.json")],
            variants=[_record(Variant, {**one, "examples": ()}) for one in lock["variants"]],
            decodings={name: _record(Decoding, one) for name, one in lock["decodings"].items()},
            conditions=[_record(Condition, one) for one in lock["conditions"]],
            notes=lock.get("notes", ()),
            follow_ups=follow_ups_of(self.spec, self.source),
        )

    @cached_property
    def engines(self) -> dict[str, Model]:
        """The models as the study file names them; none where the labels existed already."""
        return {} if self.spec.annotations is not None else self.plugins.models()

    @cached_property
    def served(self) -> dict[str, dict[str, Any]]:
        """Identity and provenance of each model when it was packed."""
        return dict(self._document["models"])

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
        with self.files.store() as store:
            yield store

    def spent_on_wordings(self) -> list[Entry]:
        """As the lock has it."""
        return entries_of(self._document.get("wordings", {}).get("spent", ()))

    def lock(self) -> dict[str, Any]:
        """What the study resolved to when it was packed."""
        return dict(self._document)


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
        return pl.read_parquet(self._files.annotations)

    def standing(self) -> Standing:
        """As it was packed."""
        if self.spec.annotations is not None:
            return labelled(self.annotations().height)
        return super().standing()

    def measurable(self) -> pl.DataFrame:
        """The annotations, less those of evaluators that had nothing to read in a decoding."""
        return self.annotations() if self.spec.annotations is not None else super().measurable()

    def rescore(self, evaluators: Sequence[str] | None = None) -> pl.DataFrame:
        """Read the packed answers with evaluators.

        Raises:
            StoreError: There are labels, and no answers.
        """
        if self.spec.annotations is not None:
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


def _record(kind: type[Any], values: Mapping[str, Any]) -> Any:
    known = {one.name for one in fields(kind)}
    given = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items() if name in known}
    return kind(**given)


def read_document(path: Path) -> Any:
    """A JSON document of a bundle.

    Raises:
        StoreError: It is not there, or is none.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError("the bundle lacks a part", where=path.name, found=str(error)[:200]) from None


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
    temporary = None if folder else tempfile.TemporaryDirectory(prefix="quaver-")
    home = Path(folder) if folder else Path(temporary.name if temporary else "")
    opened = extract(path, home, FORM)
    if opened.changed:
        study = _shell(home, opened)
    else:
        given = read_document(home / "study.lock.json")["study"]
        if given.get("annotations"):
            given = {name: value for name, value in given.items() if name not in NOT_ASKED}
        study = BundledStudy(*read_study(given), home, path, opened)
    study._temporary = temporary
    return study


def _shell(home: Path, opened: Opened) -> BundledStudy:
    """What holds the news that a bundle was changed: nothing of it is read."""
    study = BundledStudy.__new__(BundledStudy)
    study.folder, study.opened = home, opened
    return study
