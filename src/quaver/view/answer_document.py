"""One answer in full, and one item under every prompt."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from quaver.errors import UnknownName
from quaver.view.answer_reading import LONGEST, excerpts, stored
from quaver.view.answer_said import Seen, said, sent
from quaver.view.asked import Given
from quaver.view.grid_documents import about_column, column_document, groups_of, item_numbers, read_as
from quaver.view.grid_view import GridView
from quaver.view.index_design import Column
from quaver.view.mark_book import Mark
from quaver.view.viewed_study import ViewedStudy

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


def answer(study: ViewedStudy, given: Given, beside: ViewedStudy | None = None) -> dict[str, Any]:
    """One answer in full."""
    at, about = place_of(study, given.item, given.column)
    view = study.view(given.asked)
    evaluator = view.scope.evaluator
    modal, gold = int(view.scope.statistics.modal[at]), int(study.index.gold[at])
    codes = study.index.design.meanings
    found: dict[str, Any] = {
        "item": item_document(study, view, at),
        "column": column_document(about),
        "evaluator": study.index.design.evaluators[evaluator],
        "modal": codes[modal][0],
        "gold": codes[gold][0],
        "neighbours": _neighbours(study, view, at, about.at),
        "marks": [mark_document(study, one) for one in study.book.marks() if one.item == given.item],
    }
    with stored(study.index) as db:
        seen = Seen(study, db, at, about)
        found |= sent(seen, given.against, beside)
        found |= said(seen, evaluator, modal)
    found["siblings"] = _siblings(study, evaluator, at, modal)
    return found


def item_document(study: ViewedStudy, view: GridView, at: int) -> dict[str, Any]:
    """An item in full."""
    index = study.index
    text = index.item_text(at)
    fields = {name: str(value)[:_LONGEST_FIELD] for name, value in index.item_fields(at).items()}
    return {
        "id": index.ids[at],
        "at": at,
        "groups": groups_of(study, at),
        "text": text[:LONGEST],
        "length": len(text),
        "fields": fields,
    } | item_numbers(study, view, at)


def _neighbours(study: ViewedStudy, view: GridView, at: int, column: int) -> dict[str, Any] | None:
    row, size = view.place_of(at), len(view.rows)
    if row is None:
        return None
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


def item(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """One item with its answers under every prompt, which tell the label too plainly for blind eyes."""
    at, _ = place_of(study, given.item, 0)
    view = study.view(given.asked)
    modal = int(view.scope.statistics.modal[at])
    known = [] if given.blind else _siblings(study, view.scope.evaluator, at, modal)
    some = known[given.window(50, 500)]
    texts = excerpts(study.index, [(at, one["column"]) for one in some], given.characters(300))
    lengths = study.index.plane("length", "uint32").rows(at, at + 1)[0]
    answers = [
        {**one, "text": text, "length": int(lengths[one["column"]])}
        for one, text in zip(some, texts, strict=True)
    ]
    return {"item": item_document(study, view, at), "total": len(known), "answers": answers}


def mark_document(study: ViewedStudy, mark: Mark) -> dict[str, Any]:
    """A mark as the page gets it."""
    column = next((one.at for one in study.index.design.columns if about_column(mark, one)), None)
    return {**asdict(mark), "study": study.id, "column": column, "gold": False}


def marks(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """The marks of a study."""
    every = study.book.marks()
    some = [one for one in every if given.item in ("", one.item) and given.who in ("", one.who)]
    people = Counter(one.who for one in every)
    return {
        "marks": [mark_document(study, one) for one in some[given.window(200, 5000)]],
        "total": len(some),
        "who": [{"who": name, "marks": number} for name, number in people.items()],
    }


def add_mark(study: ViewedStudy, given: Given, who: str) -> dict[str, Any]:
    """Add a mark; of an answer, the place is that of its column."""
    body = given.body()
    _, column = place_of(study, body.item, body.column or 0)
    mark = body.model_dump(exclude_unset=True)
    if body.column is not None:
        names = ("model", "prompt", "decoding", "repeat")
        mark |= {name: getattr(column, name) for name in names}
    return mark_document(study, study.book.add(mark, who))


def remove_mark(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """Take a mark back."""
    if study.book.remove(given.name) is None:
        raise UnknownName("mark", given.name, [], where="mark")
    return {}
