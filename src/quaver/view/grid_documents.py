"""The grid as the page gets it: its columns and margins, windows of rows and cells, lists of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from quaver.core.number_format import short_name
from quaver.view.asked import Given
from quaver.view.grid_view import MARGINS
from quaver.view.queries import Scope, quoted, written
from quaver.view.snapshot import Column
from quaver.view.stored_answers import excerpts
from quaver.view.viewed_study import ViewedStudy

_EXCERPT, _MOST_VALUES = 200, 50


def grid(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """A view without its cells: how many rows, which columns, what the margins say."""
    view, snapshot = study.view(*given.view), study.snapshot
    columns = zip(snapshot.design.columns, view.margins.iter_rows(named=True), strict=True)
    return {
        "rows": len(view.rows),
        "matched": view.matched,
        "partial": not snapshot.state.complete,
        "columns": [column_document(column) | _margin(sums) for column, sums in columns],
        "margin": _margin(view.margins.sum().row(0, named=True)),
        "counts": view.counts.select("legend", "n").rows(),
    }


def column_document(column: Column) -> dict[str, Any]:
    """A column."""
    names = column._asdict()
    return {"column": names.pop("at"), **names, "short": short_name(column.prompt)}


def _margin(sums: Mapping[str, Any]) -> dict[str, Any]:
    """The counts of a column as shares, None of nothing."""
    answered, valid, agreeing, right, with_gold, matched = (sums[name] or 0 for name in MARGINS)
    return {
        "answered": answered,
        "valid": valid / answered if answered else 0.0,
        "agreement": agreeing / valid if valid else None,
        "accuracy": right / with_gold if with_gold else None,
        "matched": matched,
    }


def rows(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """Some rows, with what is known of their items and the marks of one person or all."""
    view, window, result = study.view(*given.view), given.window(100, 1000), dict[str, Any]()
    if given.find:
        place = result["found"] = view.place_of(study.snapshot.places.get(given.find))
        count = window.stop - window.start
        start = window.start if place is None else max(0, place - count // 2)
        window = slice(start, start + count)
    marks, numbers = study.book.by_item(given.who), list(map(int, view.rows[window]))
    texts = study.snapshot.item_texts(numbers, _EXCERPT)
    result["rows"] = [
        {"row": place, "mark": _last(marks.get(study.snapshot.ids[row], ())), "text": texts[row]}
        | view.item_line(row)
        for place, row in enumerate(numbers, window.start)
    ]
    return result


def _last(marks: Sequence[Any]) -> str | None:
    """The kind of the last mark."""
    return marks[-1].kind if marks else None


def cells(study: ViewedStudy, given: Given) -> tuple[bytes, int, int]:
    """A window of cells, row by row, and its size."""
    view, window, step = study.view(*given.view), given.window(0, 100_000), max(1, given.step)
    count = window.stop - window.start
    rows = slice(window.start, window.start + count * step, step)
    codes, match = view.cells(rows, given.left, given.width)
    if given.blind:
        codes = np.where(codes > 0, study.snapshot.design.hidden, 0).astype(codes.dtype)
    content = codes.astype(codes.dtype.newbyteorder("<")).tobytes()
    content += match.tobytes() if given.match else b""
    return content, *codes.shape


def answers(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """Some of the matching answers, in the order of rows and columns."""
    view, excerpt = study.view(*given.view), given.characters(200)
    snapshot, marks = study.snapshot, study.book.by_item(given.who)
    answers = view.answers(given.window(50, 500))
    texts = snapshot.item_texts({*answers["row"]}, excerpt)
    known = _documents(study, answers, excerpt)
    for document, (place, row) in zip(known, answers.select("place", "row").iter_rows(), strict=True):
        about = snapshot.design.columns[document["column"]]
        own = [mark for mark in marks.get(snapshot.ids[row], ()) if mark.place == about.place]
        document |= {"item": snapshot.ids[row], "of": texts[row], "row": place}
        document |= {"gold": snapshot.gold[row], "mark": _last(own)}
    return {"total": view.matched, "answers": known}


def siblings(study: ViewedStudy, scope: Scope, row: int, most: int) -> list[dict[str, Any]]:
    """The answers to an item in the first columns, and what is known of calls that have none."""
    places = pl.DataFrame({"column": range(min(most, study.snapshot.width))}, schema={"column": pl.UInt16})
    known = study.snapshot.annotations(scope.evaluator).filter(pl.col("row") == row).collect()
    siblings = places.join(known, on="column", how="left", maintain_order="left")
    legend = siblings["legend"].fill_null(0)
    names = study.snapshot.design.legend[legend].cast(pl.String)
    modal = pl.lit(scope.numbers["modal"][row], pl.String)
    return _documents(study, siblings.with_columns(names, legend=legend, modal=modal))


def _documents(study: ViewedStudy, answers: pl.DataFrame, excerpt: int = 0) -> list[dict[str, Any]]:
    """Answers in a line each: their column, how they were read, and the beginning of their text."""
    columns = study.snapshot.design.columns
    texts: list[str | None] = [None] * answers.height
    if excerpt and answers.height:  # of no answers nothing is known, not even a number
        texts = excerpts(study.snapshot, answers.select("row", "column").rows(), excerpt)
    return [
        column_document(columns[answer["column"]]) | read_as(answer) | {"text": text}
        for answer, text in zip(answers.iter_rows(named=True), texts, strict=True)
    ]


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
    """How many matching answers, or items, have each value of each field; of items also its absence."""
    view = study.view(*given.view)
    names = ["label", "status", "model", "prompt", "decoding", "repeat", "gold", *study.snapshot.groups]
    if study.snapshot.gold.gather(view.rows).null_count() == len(view.rows):
        names.remove("gold")

    def values(name: str) -> list[dict[str, Any]]:
        counted = view.counted(name).head(_MOST_VALUES).iter_rows()
        return [{"value": value, "count": n, "query": _query_for(name, value)} for value, n in counted]

    return {"fields": [{"field": name, "values": values(name)} for name in dict.fromkeys(names)]}


def _query_for(field: str, value: str | None) -> str:
    """The term that asks for a value of a field, or for its absence."""
    return f"no:{written(field)}" if value is None else f"{written(field)}:{quoted(value)}"
