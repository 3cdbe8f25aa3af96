"""The gold sample in a study's folder: what was drawn and when, each item's probability, each coder's labels.

``gold/design.json``, ``gold/draw.csv`` and ``gold/labels.csv``, in which the field is a column. All three can
be read without Quaver.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver._secrets import Keys
from quaver.core.annotations import FIELD
from quaver.core.input_budget import parsed_json, read_file
from quaver.core.replaced_file import replace_bytes
from quaver.core.spreadsheet import plain_cell, write_csv
from quaver.core.transaction import Transaction, current
from quaver.errors import StoreError
from quaver.gold.gold_draw import DRAW_COLUMNS, Design
from quaver.gold.returned_labels import CODED_COLUMNS, Rule, Settled, kept_apart, settled
from quaver.study.sources.study_folder import FIELDS, shape, shaped

DESIGN: Final = "design.json"
DRAW: Final = "draw.csv"
LABELS: Final = "labels.csv"
NAMES: Final = (DESIGN, DRAW, LABELS)
_SUMS: Final = "checksums.json"
_LABELS: Final[Mapping[str, Any]] = {FIELD: pl.String, **CODED_COLUMNS}
_NEEDED: Final = ("item", "probability", "drawn", "coder", "label")
"""Columns of either table in which no cell may be empty."""

DesignFile = dict[str, Any]
"""``design.json``: how the sample was drawn, its rounds, and the files of labels that were taken back."""

_ROUND = {"round": int, "when": str, "asked": dict[str, Any], "size": int, "drawn": int}
_TAKEN = {"file": str, "sha256": str, "when": str, "labels": int}
_several: Any = list
_DESIGN = shape(
    "_DESIGN",
    {
        "form": str,
        "seed": int,
        "design": Design,
        "by": list[str],
        "floor": float,
        "how": str,
        "rounds": _several[shape("_ROUND", {**_ROUND, "coders": list[str], "overlap": float})],
        "rule": Rule,
        "taken": _several[shape("_TAKEN", _TAKEN)],
    },
)


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
    """Reads and writes a study's gold sample: one draw, and a label for each item, field and coder.

    Args:
        home: The study's folder.
        field: The field whose labels are meant; empty in a study with one label set.
    """

    def __init__(self, home: Path, field: str = "") -> None:
        self.home, self.folder, self._field = home, home / "gold", field

    def path(self, name: str) -> Path:
        """A file of the sample."""
        return current(self.home, self.folder / name)

    @property
    def there(self) -> dict[str, Path]:
        """The files that exist, by name."""
        return {name: path for name in NAMES if (path := self.path(name)).is_file()}

    def digest(self) -> str:
        """Changes with what is kept; empty where there is nothing."""
        found = blake2b(digest_size=16)
        there = self.there
        for name, path in there.items():
            with _reading(path):
                found.update(name.encode() + read_file(path))
        return found.hexdigest() if there else ""

    def states(self, fields: Iterable[str]) -> dict[str, GoldState]:
        """What is kept of some fields, by their names: the same draw, and each field's labels."""
        design, draw, coded = self._design(), self._table(DRAW, DRAW_COLUMNS), self._coded()
        if (design is None) != (draw is None):
            lacking = self.path(DESIGN if design is None else DRAW)
            raise _damaged(lacking, "nothing, though the other files are there")
        states = {}
        for name in fields:
            own = coded.filter(pl.col(FIELD) == name).select([*CODED_COLUMNS])
            states[name] = GoldState(design, draw, own)
        return states

    def state(self) -> GoldState:
        """What is kept of the field; of a study with one label set, all of it."""
        return self.states([self._field])[self._field]

    def put(self, change: Transaction, states: Mapping[str, GoldState]) -> None:
        """Keep what is known of some fields; labels of others stay as they are."""
        parts = [self._coded().filter(~pl.col(FIELD).is_in([*states]))]
        for name, own in states.items():
            parts.append(own.coded.select(pl.lit(name).alias(FIELD), *CODED_COLUMNS))
        coded = pl.concat(parts)
        (state, *_) = states.values()
        contents = {LABELS: _as_csv(coded)} if coded.height else {}
        if state.draw is not None:
            contents[DRAW] = _as_csv(state.draw)
        if state.design is not None:
            contents[DESIGN] = _as_json(state.design)
        sums = self._sums() | {name: zlib.crc32(content) for name, content in contents.items()}
        contents[_SUMS] = _as_json(sums)
        for name, content in contents.items():
            change.write(self.folder / name, content)

    def forget_notes(self) -> None:
        """Remove the coders' notes, which may quote a text, from a sample that is passed on."""
        if (coded := self._coded())["note"].is_not_null().any():
            bare = coded.with_columns(note=pl.lit(None, pl.String))
            replace_bytes(self.path(LABELS), _as_csv(bare))

    def _coded(self) -> pl.DataFrame:
        """Every label that was taken back, with its field."""
        coded = self._table(LABELS, _LABELS)
        return pl.DataFrame(schema=dict(_LABELS)) if coded is None else coded

    def _design(self) -> DesignFile | None:
        path = self.path(DESIGN)
        if not path.is_file():
            return None
        with _reading(path):
            return dict(shaped(_DESIGN, parsed_json(self._content(path))))

    def _table(self, name: str, columns: Mapping[str, Any]) -> pl.DataFrame | None:
        path = self.path(name)
        if not path.is_file():
            return None
        with _reading(path):
            frame = pl.read_csv(self._content(path), schema=dict.fromkeys(columns, pl.String))
            for column, kind in columns.items():
                if kind == pl.String:
                    frame = frame.with_columns(_unescaped(frame[column]))
            if "drawn" in columns:
                frame = frame.with_columns(drawn=pl.col("drawn") == "true")
            if FIELD in columns:
                frame = frame.with_columns(pl.col(FIELD).fill_null(""))
            typed = frame.cast(dict(columns))  # type: ignore[arg-type]
            needed = typed.select(column for column in _NEEDED if column in columns)
            if needed.null_count().sum_horizontal().item():
                raise ValueError("cells that must not be empty are")
            return typed

    def _content(self, path: Path) -> bytes:
        """What is in a file, if it is as it was written."""
        content = read_file(path)
        found = zlib.crc32(content)
        if self._sums().get(path.name, found) != found:
            raise ValueError(
                f"its content has changed; if you changed it on purpose, remove {self.folder / _SUMS}"
            )
        return content

    def _sums(self) -> dict[str, int]:
        """The files' checksums; empty where somebody removed them."""
        path = self.path(_SUMS)
        if not path.is_file():
            return {}
        with _reading(path):
            return dict(shaped(dict[str, int], parsed_json(read_file(path))))


def gold_beside(folder: Path) -> GoldFiles:
    """The gold sample of a study or of one of its fields, by the folder of its results."""
    if folder.parent.name == FIELDS:
        return GoldFiles(folder.parent.parent, folder.name)
    return GoldFiles(folder)


def _as_csv(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    write_csv(frame, file)
    return file.getvalue()


def _as_json(document: Mapping[str, Any]) -> bytes:
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")


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
