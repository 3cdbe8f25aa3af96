"""The gold sample in a study's folder: what was drawn and when, each item's probability, each coder's labels.

``gold/design.json``, ``gold/draw.csv`` and ``gold/labels.csv``; in a bundle, which has no folders,
``gold-design.json`` and so on. All three can be read without Quaver.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NotRequired

import polars as pl
from typing_extensions import TypedDict

from quaver._secrets import Keys
from quaver.core.input_budget import parsed_json, read_file
from quaver.core.replaced_file import locked, put_in_place, replace_bytes, replace_text, writing
from quaver.core.spreadsheet import plain_cell, write_csv
from quaver.errors import StoreError
from quaver.gold.gold_draw import DRAW_COLUMNS, Design
from quaver.gold.returned_labels import CODED_COLUMNS, Rule, Settled, kept_apart, settled
from quaver.study.sources.study_folder import shaped

_READY: Final = ".ready"
_NEXT: Final = ".next"
_SUMS: Final = "checksums.json"


class JointFiles:
    """Writes files of a folder all at once.

    The new contents are written beside the files. Then one file, ``.ready``, says that all of them are there:
    from then on they count, and take the files' places. A process that ends before that leaves the files as
    they were; one that ends later leaves the rest to the next writer, and readers see the new contents
    meanwhile. One process at a time may write.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        """Where the content of a file is now; nothing needs to be there."""
        waiting = self._next(name)
        return waiting if name in self._ready() and waiting.is_file() else self._folder / name

    def write(self, contents: Mapping[str, bytes]) -> None:
        """Write files, all of them or none."""
        self.finish()
        sums = self._sums() | {name: zlib.crc32(content) for name, content in contents.items()}
        everything = {**contents, _SUMS: (json.dumps(sums, indent=1) + "\n").encode()}
        for name, content in everything.items():
            replace_bytes(self._next(name), content)
        replace_text(self._folder / _READY, json.dumps([*everything]))
        self.finish()

    def content(self, name: str) -> bytes:
        """What is in a file."""
        content = read_file(self.path(name))
        if self._sums().get(name, zlib.crc32(content)) != zlib.crc32(content):
            raise ValueError(
                f"its content has changed; if you changed it on purpose, remove {self._folder / _SUMS}"
            )
        return content

    def _sums(self) -> dict[str, int]:
        """The files' checksums; empty where somebody removed them."""
        path = self.path(_SUMS)
        if not path.is_file():
            return {}
        result = parsed_json(read_file(path))
        if not isinstance(result, dict):
            raise ValueError(f"{path} holds no checksums")
        return result

    def finish(self) -> None:
        """Finish what a process that was killed has left."""
        with writing(self._folder):
            for name in self._ready():
                if (waiting := self._next(name)).is_file():
                    put_in_place(waiting, self._folder / name)
            (self._folder / _READY).unlink(missing_ok=True)

    def _next(self, name: str) -> Path:
        return self._folder / f"{name}{_NEXT}"

    def _ready(self) -> list[str]:
        try:
            names = parsed_json(read_file(self._folder / _READY))
        except (OSError, ValueError):
            return []
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


DESIGN: Final = "design.json"
DRAW: Final = "draw.csv"
LABELS: Final = "labels.csv"
NAMES: Final = (DESIGN, DRAW, LABELS)


class Round(TypedDict):
    """One round of the sample."""

    round: int
    when: str
    asked: dict[str, Any]
    size: int
    drawn: int
    coders: list[str]
    overlap: float
    by: NotRequired[str]


class Ruled(TypedDict):
    """A rule for disagreements that was set."""

    rule: Rule
    when: str


class Taken(TypedDict):
    """A file of labels that was taken back."""

    file: str
    sha256: str
    when: str
    labels: int


class DesignFile(TypedDict):
    """``design.json``."""

    form: str
    seed: int
    design: Design
    by: list[str]
    floor: float
    how: str
    rounds: list[Round]
    rule: Rule
    ruled: NotRequired[list[Ruled]]
    taken: list[Taken]


@dataclass(frozen=True)
class GoldState:
    """What a study's gold sample is now.

    Attributes:
        design: How it was drawn; None where nothing was drawn.
        draw: Each item's probability (`DRAW_COLUMNS`); None where nothing was drawn.
        coded: Every label that was taken back (`CODED_COLUMNS`).
    """

    design: DesignFile | None
    draw: pl.DataFrame | None
    coded: pl.DataFrame

    @cached_property
    def settled(self) -> Settled:
        """The gold labels that the coders settled on."""
        drawn = set() if self.draw is None else {*self.draw.filter("drawn")["item"]}
        found = settled(self.coded, self.design["rule"] if self.design else "adjudicator")
        return Settled(
            {item: label for item, label in found.gold.items() if item in drawn}, found.open, found.decided
        )

    @cached_property
    def apart(self) -> dict[str, str]:
        """The labels of items that were chosen in another way."""
        return kept_apart(self.coded)


class GoldFiles:
    """Reads and writes a study's gold sample.

    Args:
        folder: The study's folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "gold"
        self._study = folder
        self._joint = JointFiles(self.folder)

    def path(self, name: str) -> Path:
        """A file of the sample, in the study's folder or in what a bundle was unpacked to."""
        packed = self._study / f"gold-{name}"
        return packed if packed.is_file() else self._joint.path(name)

    @property
    def there(self) -> dict[str, Path]:
        """The files that exist, by their names in a bundle."""
        return {f"gold-{name}": path for name in NAMES if (path := self.path(name)).is_file()}

    def digest(self) -> str:
        """Changes with what is kept; empty where there is nothing."""
        found = blake2b(digest_size=16)
        there = self.there
        for name, path in there.items():
            with _reading(path):
                found.update(name.encode() + read_file(path))
        return found.hexdigest() if there else ""

    def state(self) -> GoldState:
        """What is kept."""
        design = self._design()
        draw = self._table(DRAW, DRAW_COLUMNS)
        if (design is None) != (draw is None):
            lacking = self.path(DESIGN if design is None else DRAW)
            raise _damaged(lacking, "nothing, though the other files are there")
        coded = self._table(LABELS, CODED_COLUMNS)
        return GoldState(design, draw, pl.DataFrame(schema=CODED_COLUMNS) if coded is None else coded)

    def write(self, state: GoldState) -> None:
        """Keep a state, all of it or nothing."""
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        contents: dict[str, bytes] = {}
        for name, frame in ((LABELS, state.coded), (DRAW, state.draw)):
            if frame is not None and (frame.height or name == DRAW):
                contents[name] = _as_csv(frame)
        if state.design is not None:
            text = json.dumps(state.design, indent=1, ensure_ascii=False) + "\n"
            contents[DESIGN] = text.encode("utf-8", "backslashreplace")
        with _reading(self.folder):
            self._joint.write(contents)

    def write_table(self, name: str, frame: pl.DataFrame) -> None:
        """Write a table where it stands."""
        replace_bytes(self.path(name), _as_csv(frame))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody else change the sample meanwhile."""
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            with locked(self.folder / ".lock") as free:
                if not free:
                    raise StoreError(
                        "another process is changing this gold sample",
                        where=str(self.folder),
                        fix="wait for it",
                    )
                self._joint.finish()
                yield

    def _design(self) -> DesignFile | None:
        path = self.path(DESIGN)
        if not path.is_file():
            return None
        with _reading(path):
            document: DesignFile = shaped(DesignFile, parsed_json(self._content(DESIGN)))
            return document

    def _content(self, name: str) -> bytes:
        path = self.path(name)
        return self._joint.content(name) if path == self._joint.path(name) else read_file(path)

    def _table(self, name: str, columns: Mapping[str, Any]) -> pl.DataFrame | None:
        path = self.path(name)
        if not path.is_file():
            return None
        with _reading(path):
            frame = pl.read_csv(self._content(name), schema=dict.fromkeys(columns, pl.String))
            texts = [one for one, kind in columns.items() if kind == pl.String]
            frame = frame.with_columns(_unescaped(frame[text]) for text in texts)
            if "drawn" in columns:
                frame = frame.with_columns(drawn=pl.col("drawn") == "true")
            typed = frame.cast(dict(columns))  # type: ignore[arg-type]
            needed = [one for one in ("item", "probability", "drawn", "coder", "label") if one in columns]
            if typed.select(needed).null_count().sum_horizontal().item():
                raise ValueError("cells that must not be empty are")
            return typed


def _as_csv(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    write_csv(frame, file)
    return file.getvalue()


def _unescaped(column: pl.Series) -> pl.Series:
    """Cells before `write_csv` made them safe."""
    quoted = column.filter(column.str.starts_with("'").fill_null(False)).unique().to_list()
    return column.replace({text: plain_cell(text) for text in quoted})


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RecursionError, pl.exceptions.PolarsError) as error:
        raise _damaged(path, Keys().out_of(str(error))[:200]) from None


def _damaged(path: Path, found: str) -> StoreError:
    return StoreError(
        "this file of the gold sample is damaged",
        where=str(path),
        expected="what Quaver wrote",
        found=found,
        fix="put back a copy of it: probabilities and labels cannot be made again",
    )
