"""The gold sample in a study's folder: what was drawn and when, each item's probability, each coder's labels.

``gold/design.json``, ``gold/draw.csv`` and ``gold/labels.csv``, in which the field is a column. All three can
be read without Quaver.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver._secrets import Keys
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
_NEEDED: Final = ("item", "probability", "drawn", "coder", "label")
"""Columns of either table in which no cell may be empty."""

DesignFile = dict[str, Any]
"""``design.json``: how the sample was drawn, and its rounds; empty where nothing was drawn."""

_several: Any = list
_ROUND = shape("_ROUND", {"when": str, "size": int, "coders": list[str], "overlap": float})
_DESIGN = shape(
    "_DESIGN", {"seed": int, "design": Design, "how": str, "rounds": _several[_ROUND], "rule": Rule}
)


@dataclass(frozen=True)
class GoldSample:
    """A study's gold sample: one draw for all fields, and a label for each item, field and coder.

    Attributes:
        design: How it was drawn; empty where nothing was drawn.
        draw: Each item's probability (`DRAW_COLUMNS`); without rows where nothing was drawn.
        coded: Every label that was taken back (`CODED_COLUMNS`).
    """

    design: DesignFile
    draw: pl.DataFrame
    coded: pl.DataFrame

    def of(self, field: str) -> GoldSample:
        """The sample with the labels of one field; the only one of a study has no name."""
        return replace(self, coded=self.coded.filter(field=field))

    def with_labels(self, coded: pl.DataFrame) -> GoldSample:
        """The sample with more labels."""
        return replace(self, coded=pl.concat([self.coded, coded.select([*CODED_COLUMNS])]))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was drawn, and no label taken back."""
        return self.draw.is_empty() and self.coded.is_empty()

    @cached_property
    def drawn(self) -> list[str]:
        """The items that were drawn."""
        return self.draw.filter("drawn")["item"].to_list()

    @cached_property
    def settled(self) -> Settled:
        """The gold labels that a field's coders settled on."""
        of_sample = self.coded.filter(pl.col("item").is_in(self.drawn))
        return settled(of_sample, self.design.get("rule", "adjudicator"))

    @cached_property
    def apart(self) -> dict[str, str]:
        """A field's labels of items that were chosen in another way."""
        return kept_apart(self.coded)


class GoldFiles:
    """Reads and writes a study's gold sample.

    Args:
        home: The study's folder.
    """

    def __init__(self, home: Path) -> None:
        self.home, self.folder = home, home / "gold"

    def path(self, name: str) -> Path:
        """A file of the sample."""
        return current(self.home, self.folder / name)

    @property
    def there(self) -> dict[str, Path]:
        """The files that exist, by name."""
        return {name: path for name in NAMES if (path := self.path(name)).is_file()}

    def digest(self) -> str:
        """Changes with what is kept; empty where there is nothing."""
        digest = blake2b(digest_size=16)
        there = self.there
        for name, path in there.items():
            with _reading(path):
                digest.update(name.encode() + read_file(path))
        return digest.hexdigest() if there else ""

    def sample(self) -> GoldSample:
        """What is kept, of all fields.

        Raises:
            StoreError: A file of it is damaged, or is not there though others are.
        """
        design = self._design()
        draw, coded = self._table(DRAW, DRAW_COLUMNS), self._table(LABELS, CODED_COLUMNS)
        if bool(design) == draw.is_empty():
            lacking = self.path(DRAW if design else DESIGN)
            raise _damaged(lacking, "nothing, though the other files are there")
        return GoldSample(design, draw, coded)

    def put(self, change: Transaction, sample: GoldSample) -> None:
        """Keep a sample in place of the one that is kept."""
        contents = {}
        if sample.coded.height:
            contents[LABELS] = _as_csv(sample.coded)
        if sample.design:
            contents |= {DRAW: _as_csv(sample.draw), DESIGN: _as_json(sample.design)}
        sums = {name: zlib.crc32(content) for name, content in contents.items()}
        for name, content in {**contents, _SUMS: _as_json(sums)}.items():
            change.write(self.folder / name, content)

    def forget_notes(self) -> None:
        """Remove the coders' notes, which may quote a text, from a sample that is passed on."""
        coded = self._table(LABELS, CODED_COLUMNS)
        if coded["note"].is_not_null().any():
            bare = coded.with_columns(note=pl.lit(None, pl.String))
            replace_bytes(self.path(LABELS), _as_csv(bare))

    def _design(self) -> DesignFile:
        path = self.path(DESIGN)
        if not path.is_file():
            return {}
        with _reading(path):
            return dict(shaped(_DESIGN, parsed_json(self._content(path))))

    def _table(self, name: str, columns: Mapping[str, Any]) -> pl.DataFrame:
        """A table of it; without rows where there is no such file."""
        path = self.path(name)
        if not path.is_file():
            return pl.DataFrame(schema=dict(columns))
        with _reading(path):
            frame = pl.read_csv(self._content(path), schema=dict.fromkeys(columns, pl.String))
            for column, kind in columns.items():
                if kind == pl.String:
                    frame = frame.with_columns(_unescaped(frame[column]))
            if "drawn" in columns:
                frame = frame.with_columns(drawn=pl.col("drawn") == "true")
            if "field" in columns:
                frame = frame.with_columns(pl.col("field").fill_null(""))
            typed = frame.cast(dict(columns))  # type: ignore[arg-type]
            needed = typed.select(column for column in _NEEDED if column in columns)
            if needed.null_count().sum_horizontal().item():
                raise ValueError("cells that must not be empty are")
            return typed

    def _content(self, path: Path) -> bytes:
        """What is in a file, if it is as it was written."""
        content = read_file(path)
        checksum = zlib.crc32(content)
        if self._sums().get(path.name, checksum) != checksum:
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
    """The gold sample of a study, by the folder of its results or of one of its fields' results."""
    return GoldFiles(folder.parent.parent if folder.parent.name == FIELDS else folder)


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
