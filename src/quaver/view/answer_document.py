"""One answer in full, and one item under every prompt."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from quaver.errors import UnknownName
from quaver.view.answer_reading import (
    LONGEST,
    excerpts,
    stored,
)
from quaver.view.answer_said import Seen, said, sent
from quaver.view.grid_documents import about_column, column_document, groups_of, item_numbers, read_as
from quaver.view.index_design import Column
from quaver.view.mark_book import Mark
from quaver.view.viewed_study import Asked, ViewedStudy

_LONGEST_FIELD = 2_000
_MOST_SIBLINGS = 2_000


def place_of(study: ViewedStudy, item: str, column: int) -> tuple[int, Column]:
    """The number of an item, and a column."""
    index = study.index
    at = index.ids.find(item)
    if at is None:
        raise UnknownName("item", item, [], where="item")
    if not 0 <= column < index.width:
        raise UnknownName("column", str(column), [], where="column")
    return at, index.design.columns[column]


def answer(
    study: ViewedStudy,
    asked: Asked,
    item: str,
    column: int,
    against: int | None = None,
    beside: ViewedStudy | None = None,
    *,
    blind: bool = False,
) -> dict[str, Any]:
    """One answer in full."""
    at, about = place_of(study, item, column)
    view = study.view(asked)
    evaluator = view.scope.evaluator
    modal, gold = int(view.scope.statistics.modal[at]), int(study.index.gold[at])
    codes = study.index.design.meanings
    found: dict[str, Any] = {
        "item": item_document(study, view, at, blind=blind),
        "column": column_document(about),
        "evaluator": study.index.design.evaluators[evaluator],
        "modal": None if blind else codes[modal][0],
        "gold": None if blind else codes[gold][0],
        "neighbours": _neighbours(study, view, at, column),
        "marks": [mark_document(study, one) for one in study.book.marks() if one.item == item],
    }
    with stored(study.index) as db:
        seen = Seen(study, db, at, about)
        found |= sent(seen, against, beside)
        if blind:
            return found | _BLIND
        found |= said(seen, evaluator, modal)
    found["siblings"] = _siblings(study, evaluator, at, modal)
    return found


_BLIND: dict[str, Any] = {
    "response": None,
    "reading": None,
    "readings": [],
    "probabilities": None,
    "tokens": None,
    "tokens_total": 0,
    "is": None,
    "siblings": [],
    "follow_ups": [],
}


def item_document(study: ViewedStudy, view: Any, at: int, *, blind: bool = False) -> dict[str, Any]:
    """An item in full."""
    index = study.index
    text = index.item_text(at)
    fields = {name: str(value)[:_LONGEST_FIELD] for name, value in index.item_fields(at).items()}
    numbers = item_numbers(study, view, at)
    return {
        "id": index.ids[at],
        "at": at,
        "groups": groups_of(study, at),
        "text": text[:LONGEST],
        "length": len(text),
        "fields": fields,
    } | {name: None if blind else value for name, value in numbers.items()}


def _neighbours(study: ViewedStudy, view: Any, at: int, column: int) -> dict[str, Any] | None:
    place = np.flatnonzero(view.rows == at)
    if not len(place):
        return None
    row, size = int(place[0]), len(view.rows)
    columns = [one.at for one in view.columns()]
    here = columns.index(column) if column in columns else -1

    def name(other: int) -> str | None:
        return study.index.ids[int(view.rows[other])] if 0 <= other < size else None

    return {
        "row": row,
        "rows": size,
        "up": name(row - 1),
        "down": name(row + 1),
        "left": columns[here - 1] if here > 0 else None,
        "right": columns[here + 1] if 0 <= here < len(columns) - 1 else None,
    }


def _siblings(study: ViewedStudy, evaluator: int, at: int, modal: int) -> list[dict[str, Any]]:
    """The same item in every column."""
    index = study.index
    codes = index.labels(evaluator).rows(at, at + 1)[0]
    raw = index.plane(f"confidence-{evaluator}", "float32").rows(at, at + 1)[0]
    found = []
    for column in index.design.columns[:_MOST_SIBLINGS]:
        read = read_as(index.design, int(codes[column.at]), float(raw[column.at]), modal)
        found.append(column_document(column) | read)
    return found


def item(
    study: ViewedStudy, asked: Asked, name: str, start: int, count: int, excerpt: int, *, blind: bool = False
) -> dict[str, Any]:
    """One item with its answers under every prompt."""
    at, _ = place_of(study, name, 0)
    view = study.view(asked)
    modal = int(view.scope.statistics.modal[at])
    known = [] if blind else _siblings(study, view.scope.evaluator, at, modal)
    some = known[start : start + count]
    texts = excerpts(study.index, [(at, one["column"]) for one in some], excerpt)
    lengths = study.index.plane("length", "uint32").rows(at, at + 1)[0]
    answers = [
        {**one, "text": text, "length": int(lengths[one["column"]])}
        for one, text in zip(some, texts, strict=True)
    ]
    return {"item": item_document(study, view, at, blind=blind), "total": len(known), "answers": answers}


def mark_document(study: ViewedStudy, mark: Mark) -> dict[str, Any]:
    """A mark as the page gets it."""
    column = next((one.at for one in study.index.design.columns if about_column(mark, one)), None)
    return {**asdict(mark), "study": study.id, "column": column, "gold": False}
