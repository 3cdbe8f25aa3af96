"""What is shown, as a file: the matching answers, or all answers of the rows, a row each."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from quaver._secrets import Keys
from quaver.core.spreadsheet import write_csv
from quaver.errors import UnknownName
from quaver.view.answer_reading import number_of, pieces, stored
from quaver.view.grid_view import matching
from quaver.view.index_reader import Index
from quaver.view.query_scope import Block
from quaver.view.viewed_study import Asked, ViewedStudy

FORMATS = ("csv", "jsonl", "parquet")
_ROWS = 500
_ANSWERS = 1_000


def exported(study: ViewedStudy, asked: Asked, form: str, what: str = "matching") -> Path:
    """Write what is shown to a temporary file, piece by piece; the file.

    Args:
        study: The study.
        asked: The view.
        form: ``csv`` (nothing in it is a formula to a spreadsheet), ``jsonl`` or ``parquet``.
        what: ``matching`` for the answers that match, ``rows`` for all answers of the rows that are shown.

    Raises:
        UnknownName: There is no such format.
    """
    if form not in FORMATS:
        raise UnknownName("format", form, FORMATS, where="format")
    schema = pl.Schema(_schema(study.index))
    with tempfile.NamedTemporaryFile(prefix="quaver-", suffix=f".{form}", delete=False) as made:
        path = Path(made.name)
    _WRITERS[form](path, frames(study, asked, whole=what == "rows"), pl.DataFrame(schema=schema))
    return path


def frames(study: ViewedStudy, asked: Asked, *, whole: bool) -> Iterator[pl.DataFrame]:
    """The answers in the order of rows and columns, some hundreds a frame."""
    view, index = study.view(asked), study.index
    schema, cells = _schema(index), []
    for start in range(0, len(view.rows), _ROWS):
        some = view.rows[start : start + _ROWS]
        block = Block(view.scope, some)
        shown = (
            block.codes > 0 if whole else np.broadcast_to(matching(view.condition, block), block.codes.shape)
        )
        for row, place in np.argwhere(shown[:, view.order]):
            column = int(view.scope.columns.places[view.order[place]])
            cells.append((int(some[row]), column, int(block.codes[row, view.order[place]])))
            if len(cells) == _ANSWERS:
                yield pl.DataFrame(_rows(study, asked, cells), schema=schema)
                cells = []
    if cells:
        yield pl.DataFrame(_rows(study, asked, cells), schema=schema)


def _schema(index: Index) -> dict[str, Any]:
    names = ["item", "text", *index.design.groups, "gold", "model", "prompt", *_factors(index)]
    schema: dict[str, Any] = dict.fromkeys((*names, "decoding"), pl.String)
    schema["repeat"] = pl.Int32
    schema |= dict.fromkeys(("evaluator", "label", "status"), pl.String)
    return schema | {"confidence": pl.Float64, "answer": pl.String}


def _factors(index: Index) -> list[str]:
    return list(dict.fromkeys(name for one in index.design.variants for name in one.factors))


def _rows(study: ViewedStudy, asked: Asked, cells: list[tuple[int, int, int]]) -> list[dict[str, Any]]:
    index = study.index
    evaluator = study.evaluator(asked.evaluator)
    confidence, out_of = index.plane(f"confidence-{evaluator}", "float32"), Keys().out_of
    texts: dict[int, str] = {}
    found = []
    with stored(index) as db:
        for item, column, code in cells:
            about, (label, status) = index.design.columns[column], index.design.meanings[code]
            number = number_of(index, item, column) if db is not None else 0
            said = "".join(pieces(db, "responses", "text", number)) if db is not None and number else None
            sure = _float(confidence, item, column)
            if item not in texts:
                texts = {item: out_of(index.item_text(item))}
            gold = int(index.gold[item])
            groups: dict[str, Any] = {
                name: index.design.groups[name][code - 1] if (code := int(index.groups[name][item])) else None
                for name in index.design.groups
            }
            variant = index.design.variants_by_id.get(about.prompt)
            levels: dict[str, Any] = {
                name: variant.factors.get(name) if variant else None for name in _factors(index)
            }
            found.append(
                levels
                | groups
                | {
                    "item": index.ids[item],
                    "text": texts[item],
                    "gold": index.design.codes[gold - 1] if gold else None,
                    "model": about.model,
                    "prompt": about.prompt,
                    "decoding": about.decoding,
                    "repeat": about.repeat,
                    "evaluator": index.design.evaluators[evaluator],
                    "label": label,
                    "status": status,
                    "confidence": sure,
                    "answer": None if said is None else out_of(said),
                }
            )
    return found


def _float(plane: Any, item: int, column: int) -> float | None:
    known = float(plane.rows(item, item + 1)[0, column]) if plane.exists else 0.0
    return round(known - 1, 6) if known else None


def _csv(path: Path, some: Iterator[pl.DataFrame], empty: pl.DataFrame) -> None:
    with path.open("wb") as file:
        write_csv(empty, file, header=True)
        for frame in some:
            write_csv(frame, file, header=False)


def _jsonl(path: Path, some: Iterator[pl.DataFrame], empty: pl.DataFrame) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for frame in some:
            for row in frame.iter_rows(named=True):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _parquet(path: Path, some: Iterator[pl.DataFrame], empty: pl.DataFrame) -> None:
    register_io_source(lambda *_: some, schema=empty.schema).sink_parquet(path)


_WRITERS: dict[str, Callable[[Path, Iterator[pl.DataFrame], pl.DataFrame], None]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
}
