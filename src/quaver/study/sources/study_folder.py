"""A study's folder: what it holds, and how that is written without ever leaving half of a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import polars as pl

from quaver._secrets import Keys
from quaver.collect.run.engine_noise import Noise
from quaver.collect.store.response_store import Store
from quaver.collect.store.sole_writer import writing
from quaver.design.spec.former_names import renamed_lock, renamed_paraphrases
from quaver.errors import StoreError
from quaver.study.sources.folder_files import other_shape

_INSTEAD = {
    "noise.json": "move it away; quaver doctor measures the noise again",
    "rounds.json": "put back a copy of it; without it the rounds are counted from the start",
    "paraphrases.json": "put back a copy of it; without it the paraphrases are made, and paid, once more",
}
"""What to do where a file is damaged that a run does not write anew."""


class StudyFolder:
    """The files of a study.

    Args:
        path: The folder; made when something is written to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def responses(self) -> Path:
        """The store."""
        return self.path / "responses.db"

    @property
    def annotations(self) -> Path:
        """The annotation frame."""
        return self.path / "annotations.parquet"

    @property
    def log(self) -> Path:
        """What happened in its runs, a line each, for people."""
        return self.path / "run.log"

    @property
    def _noise(self) -> Path:
        return self.path / "noise.json"

    @property
    def paraphrases(self) -> Path:
        """The paraphrases that models made and the edits by hand."""
        return self.path / "paraphrases.json"

    @property
    def _rounds(self) -> Path:
        return self.path / "rounds.json"

    @property
    def _lock(self) -> Path:
        return self.path / "study.lock.json"

    def make(self) -> None:
        """Make the folder where it is missing.

        Raises:
            StoreError: It cannot be made.
        """
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def store(self) -> Iterator[Store]:
        """The store, opened; made where it is missing."""
        opened = Store(self.responses)
        try:
            yield opened
        finally:
            opened.close()

    def read_lock(self) -> dict[str, Any]:
        """What the study resolved to when it last ran; empty before it did."""
        return _read(self._lock, renamed=renamed_lock)

    def write_lock(self, document: Mapping[str, Any]) -> None:
        """Keep what the study resolved to."""
        self._write(self._lock, document)

    def read_rounds(self) -> dict[str, Any]:
        """The rounds of adaptive collection; empty where there were none."""
        return _read(self._rounds)

    def write_rounds(self, document: Mapping[str, Any]) -> None:
        """Keep the rounds of adaptive collection."""
        self._write(self._rounds, document)

    def read_noise(self) -> dict[str, list[Noise]]:
        """The engines' own noise by model; empty where it was not measured."""
        names = [one.name for one in fields(Noise)]
        return {
            model: [Noise(**{name: row[name] for name in names if name in row}) for row in rows]
            for model, rows in _read(self._noise).items()
        }

    def write_noise(self, noise: Mapping[str, Sequence[Noise]]) -> None:
        """Keep the engines' own noise."""
        self._write(self._noise, {model: [asdict(row) for row in rows] for model, rows in noise.items()})

    def write_annotations(self, frame: pl.DataFrame) -> None:
        """Keep the annotation frame."""
        part = self.annotations.with_name(self.annotations.name + ".part")
        self.make()
        with writing(self.path):
            try:
                frame.write_parquet(part)
                part.replace(self.annotations)
            finally:
                part.unlink(missing_ok=True)

    def read_paraphrases(self) -> dict[str, Any]:
        """The paraphrases that models made and the edits by hand; empty where there are none."""
        if self.paraphrases.exists():
            return _read(self.paraphrases)
        return _read(self.path / "wordings.json", "paraphrases.json", renamed_paraphrases)

    def write_paraphrases(self, document: Mapping[str, Any]) -> None:
        """Keep the paraphrases that models made and the edits by hand."""
        self._write(self.paraphrases, document)

    def _write(self, path: Path, document: Mapping[str, Any]) -> None:
        text = Keys().out_of(json.dumps(document, indent=1, ensure_ascii=False, default=str)) + "\n"
        part = path.with_name(path.name + ".part")
        self.make()
        with writing(self.path):
            try:
                part.write_text(text, encoding="utf-8", errors="backslashreplace")
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)


def _read(
    path: Path, shape: str | None = None, renamed: Callable[[Any], Any] = lambda document: document
) -> dict[str, Any]:
    """A file of the folder, in the names of today; empty where there is none.

    Raises:
        StoreError: It is not what Quaver wrote.
    """
    if not path.exists():
        return {}
    try:
        document = renamed(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from None
    if found := other_shape(shape or path.name, document):
        raise _damaged(path, found)
    return dict(document)


def _damaged(path: Path, found: str) -> StoreError:
    return StoreError(
        "this file of the study's folder is damaged",
        where=str(path),
        expected="JSON, as Quaver wrote it",
        found=found,
        fix=_INSTEAD.get(path.name, "move it away; the next run writes it anew"),
    )
