"""The grid as the page gets it: its columns and margins, windows of rows and cells, lists of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl

from quaver.core.number_format import short_name
from quaver.view.answer_reading import excerpts
from quaver.view.asked import Given
from quaver.view.grid_view import MARGINS, GridView
from quaver.view.mark_book import Mark
from quaver.view.query_language import quoted, written
from quaver.view.query_scope import Scope
from quaver.view.study_index import Column
from quaver.view.viewed_study import ViewedStudy

_EXCERPT = 200
_MOST_VALUES = 50


def grid(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """A view without its cells: how many rows, which columns, what the margins say."""
    view = study.view(given.asked)
    index, design, margins = study.index, study.index.design, view.margins.select(MARGINS)
    columns = []
    for column, group in zip(view.columns(), view.groups, strict=True):
        sums = margins[list(group)].sum().row(0)
        columns.append(column_document(column, len(group)) | _margin(sums) | {"matched": sums[-1]})
    return {
        "view": blake2b(repr((given.asked, study.version)).encode(), digest_size=8).hexdigest(),
        "version": study.version,
        "rows": len(view.rows),
        "items": design.items,
        "matched": view.matched,
        "of": int(view.scope.numbers["_answered"].sum()),
        "partial": not index.state.complete,
        "columns": columns,
        "margin": _margin(margins[list(view.order)].sum().row(0)),
        "counts": [[code, int(n)] for code, n in enumerate(view.counts) if n],
    }


def column_document(column: Column, together: int = 1) -> dict[str, Any]:
    """A column."""
    return {
        "column": column.at,
        "model": column.model,
        "prompt": column.prompt,
        "short": short_name(column.prompt),
        "decoding": column.decoding,
        "repeat": column.repeat if together == 1 else None,
    }


def _margin(sums: Sequence[Any]) -> dict[str, Any]:
    answered, valid, agreeing, right, with_gold, _ = (total or 0 for total in sums)
    return {
        "answered": answered,
        "valid": share(valid, answered) or 0.0,
        "agreement": share(agreeing, valid),
        "accuracy": share(right, with_gold),
    }


def rows(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """Some rows, with what is known of their items."""
    view, window = study.view(given.asked), given.window(100, 1000)
    if not given.find:
        return {"version": study.version, "rows": row_documents(study, view, window, given.who)}
    index = view.place_of(study.index.places.get(given.find))
    if index is not None:
        count = window.stop - window.start
        start = max(0, index - count // 2)
        window = slice(start, start + count)
    return {"version": study.version, "rows": row_documents(study, view, window, given.who), "found": index}


def row_documents(study: ViewedStudy, view: GridView, window: slice, who: str = "") -> list[dict[str, Any]]:
    """The items of some rows, as the grid shows them beside these; with marks of one person or all."""
    marks, rows = study.book.by_item(who), [int(row) for row in view.rows[window]]
    texts = study.index.item_texts(rows, _EXCERPT)
    return [
        _row(study, view, place, row, marks) | {"text": texts[row]}
        for place, row in enumerate(rows, window.start)
    ]


def _row(study: ViewedStudy, view: GridView, place: int, row: int, marks: Any) -> dict[str, Any]:
    """An item as the grid shows it beside its row."""
    name = study.index.ids[row]
    said = marks.get(name, ())
    return {
        "row": place,
        "at": row,
        "item": name,
        "mark": said[-1].kind if said else None,
        "groups": groups_of(study, row),
    } | item_numbers(view, row)


def item_numbers(view: GridView, row: int) -> dict[str, Any]:
    """An item's labels in numbers."""
    names = ("gold", "modal", "agreement", "instability", "accuracy", "labels", "valid")
    return view.scope.numbers.select(names).row(row, named=True)


def groups_of(study: ViewedStudy, row: int) -> dict[str, str]:
    """The groups of an item."""
    groups = study.index.items.row(row, named=True)
    return {name: value for name, value in groups.items() if name != "item" and value is not None}


def share(part: Any, whole: Any) -> float | None:
    """A share; None of nothing."""
    return float(part) / float(whole) if whole else None


def cells(study: ViewedStudy, given: Given) -> tuple[bytes, int, int]:
    """A window of cells, row by row, and its size."""
    view, window, step = study.view(given.asked), given.window(0, 100_000), max(1, given.step)
    width = min(given.width, 100_000)
    found = view.cells(slice(window.start * step, window.stop * step), given.left, width)
    codes, match, sure = (_zoomed(part, step) for part in found) if step > 1 else found
    if given.blind:
        codes = np.where(codes > 0, study.index.design.hidden, 0).astype(codes.dtype)
        sure = np.zeros_like(sure)
    kind = "<u1" if codes.dtype.itemsize == 1 else "<u2"
    content = codes.astype(kind).tobytes()
    content += match.tobytes() if given.match else b""
    content += sure.tobytes() if given.confidence else b""
    return content, *codes.shape


def _zoomed(part: Any, step: int) -> Any:
    """The most frequent value of each block of rows, column by column."""
    blocks = []
    for start in range(0, len(part), step):
        block = part[start : start + step]
        kinds = np.unique(block)
        counts = np.array([np.count_nonzero(block == kind, axis=0) for kind in kinds])
        blocks.append(kinds[counts.argmax(axis=0)])
    return np.array(blocks, part.dtype).reshape(-1, part.shape[1])


def answers(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """Some of the matching answers, in the order of rows and columns."""
    view, window, excerpt = study.view(given.asked), given.window(50, 500), given.characters(200)
    index, marks = study.index, study.book.by_item()
    found = pl.concat([*view.matches(window), pl.DataFrame(schema=_PLACES)], how="diagonal_relaxed")
    texts = index.item_texts({*found["row"]}, excerpt)
    known = documents_of(study, found, excerpt)
    for document, (place, row) in zip(known, found.select("place", "row").iter_rows(), strict=True):
        about = index.design.columns[document["column"]]
        said = [mark for mark in marks.get(index.ids[row], ()) if about_column(mark, about)]
        document |= {"item": index.ids[row], "of": texts[row], "row": place}
        document |= {"gold": index.gold[row], "mark": said[-1].kind if said else None}
    return {"total": view.matched, "version": study.version, "answers": known}


_PLACES = {"place": pl.Int64, "row": pl.UInt32}


def cell_documents(
    study: ViewedStudy, scope: Scope, cells: Sequence[tuple[int, int]], excerpt: int = 0
) -> list[dict[str, Any]]:
    """Answers in a line each, and what is known of calls that have none."""
    places = pl.DataFrame(cells, schema={"row": pl.UInt32, "column": pl.UInt16}, orient="row")
    known = study.index.cells(places["row"], places["column"], scope.evaluator)
    found = places.join(known, on=["row", "column"], how="left", maintain_order="left")
    modal = pl.Series([scope.numbers["modal"][row] for row in found["row"]], dtype=pl.String)
    legend = found["legend"].fill_null(0)
    names = study.index.design.legend[legend].cast(pl.String)
    return documents_of(study, found.with_columns(names, legend=legend, modal=modal), excerpt)


def documents_of(study: ViewedStudy, answers: pl.DataFrame, excerpt: int = 0) -> list[dict[str, Any]]:
    """Answers in a line each: their column, how they were read, and the beginning of their text."""
    columns = study.index.design.columns
    texts: list[str | None] = [None] * answers.height
    if excerpt and answers.height:  # of no answers nothing is known, not even a number
        texts = excerpts(study.index, answers["response"].to_list(), excerpt)
    return [
        column_document(columns[answer["column"]])
        | read_as(answer)
        | {"text": text, "length": answer["length"] or 0}
        for answer, text in zip(answers.iter_rows(named=True), texts, strict=True)
    ]


def about_column(mark: Mark, column: Column) -> bool:
    """Whether a mark is about an answer of a column."""
    return mark.place == (column.model, column.prompt, column.decoding, column.repeat)


def read_as(answer: Mapping[str, Any]) -> dict[str, Any]:
    """How an answer was read."""
    sure, label = answer["confidence"], answer["label"]
    return {
        "label": label,
        "status": answer["status"],
        "legend": answer["legend"],
        "confidence": None if sure is None else round(sure, 6),
        "flip": label is not None and label != answer["modal"],
    }


def facets(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """How many matching answers, or items, have each value of each field."""
    view = study.view(given.asked)
    names = ["label", "status", "model", "prompt", "decoding", "repeat", "gold", *study.index.design.groups]
    if study.index.gold.gather(view.rows).null_count() == len(view.rows):
        names.remove("gold")
    return {"fields": [_facet(name, view) for name in dict.fromkeys(names)], "version": study.version}


def _facet(name: str, view: GridView) -> dict[str, Any]:
    """The most frequent values of a field; of items also the absence of one."""
    values = view.counted(name).head(_MOST_VALUES).iter_rows()
    return {
        "field": name,
        "values": [{"value": value, "count": n, "query": query_for(name, value)} for value, n in values],
    }


def query_for(field: str, value: str | None) -> str:
    """The term that asks for a value of a field, or for its absence."""
    return f"no:{written(field)}" if value is None else f"{written(field)}:{quoted(value)}"
