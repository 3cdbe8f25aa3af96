"""A part of a study as one file that opens from disk, with what the page would ask the server for."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

from quaver.core.replaced_file import replace_text
from quaver.view.answer_document import item_document, mark_document
from quaver.view.answer_reading import facts_of, messages_of, number_of, stored
from quaver.view.answer_said import said
from quaver.view.grid_documents import about_column, cells, grid, item_numbers, rows
from quaver.view.overview_document import brief, overview
from quaver.view.page_bundle import one_file
from quaver.view.viewed_study import Asked, ViewedStudy

MOST_ITEMS = 5_000
_MOST_ANSWERS = 50_000
_LONGEST = 20_000


def write_file(study: ViewedStudy, asked: Asked, path: Path, page: Path, count: int = MOST_ITEMS) -> int:
    """Write a part of a study as one HTML file.

    Args:
        study: The study, whose index is complete.
        asked: The view whose first items are written.
        path: The file.
        page: The folder of the page.
        count: How many items, at most 5,000; fewer where they have more than 50,000 answers together.

    Returns:
        How many items were written.

    Raises:
        StoreError: The file cannot be written.
    """
    data, written = document(study, asked, min(count, MOST_ITEMS))
    replace_text(path, one_file(page, data, study.index.design.name))
    return written


def document(study: ViewedStudy, asked: Asked, count: int) -> tuple[dict[str, Any], int]:
    """The data of the file, and how many items it has."""
    view, index = study.view(asked), study.index
    width = max(1, len(view.groups))
    count = min(count, len(view.rows), max(1, _MOST_ANSWERS // width))
    name = study.id
    head = grid(study, asked)
    first = rows(study, asked, 0, count)["rows"]
    codes, _, _ = cells(study, asked, (0, count, 0, width))
    both, _, _ = cells(study, asked, (0, count, 0, width), planes=(True, False))
    prompts: dict[str, int] = {}
    known: list[Any] = []
    answers = {}
    with stored(index) as db:
        for at in view.rows[:count]:
            for column in view.columns():
                one = _answer(study, view, db, int(at), column)
                if db is not None:
                    one["prompt"] = _shared(study, db, int(at), column.at, prompts, known)
                answers[f"{index.ids[int(at)]}\0{column.at}"] = one
    items = {index.ids[int(at)]: item_document(study, view, int(at)) for at in view.rows[:count]}
    found = overview(study) | {"report": None, "since": None}
    charts = _charts(study, found["charts"])
    about = brief(study) | {"answers": len(answers)}
    studies = {"studies": [about], "who": "", "quaver": ""}
    place = f"api/studies/{name}"
    responses = {"api/studies": studies, place: found, f"{place}/design": found["design"]} | charts
    shown = head | {"rows": count, "items": head["items"], "part": count < len(view.rows)}
    grids = {"query": asked.query, "grid": shown, "rows": first}
    grids |= {"cells": _text(codes), "match": _text(both[len(codes) :])}
    data = {"static": True, "studies": [about], "responses": responses, "grids": {name: grids}}
    return data | {"answers": {name: answers}, "items": {name: items}, "prompts": {name: known}}, count


def _text(content: bytes) -> str:
    return b64encode(content).decode()


def _answer(study: ViewedStudy, view: Any, db: Any, at: int, column: Any) -> dict[str, Any]:
    """An answer without what the file has elsewhere."""
    index, evaluator = study.index, view.scope.evaluator
    one = said(study, db, at, column, evaluator, int(view.scope.statistics.modal[at]))
    if one["response"]:
        text = one["response"]["text"]
        one["response"] |= {"text": text[:_LONGEST], "shown": min(len(text), _LONGEST), "rest": None}
        thinking = one["response"]["thinking"]
        one["response"]["thinking"] = thinking[:_LONGEST] if thinking else None
    numbers = item_numbers(study, view, at)
    marks = [m for m in study.book.by_item().get(index.ids[at], ()) if about_column(m, column) or not m.model]
    one |= {"evaluator": index.design.evaluators[evaluator], "against": None, "prompt": []}
    one |= {"modal": numbers["modal"], "gold": numbers["gold"]}
    return one | {"marks": [mark_document(study, mark) for mark in marks]}


def _shared(
    study: ViewedStudy, db: Any, at: int, column: int, prompts: dict[str, int], known: list[Any]
) -> int | list[Any]:
    """The number of a prompt among those of the file."""
    number = number_of(study.index, at, column)
    facts = facts_of(db, number) if number else None
    if not facts or not facts["prompt"]:
        return []
    messages = messages_of(db, facts["prompt"], _LONGEST)
    place = prompts.setdefault(repr(messages), len(known))
    if place == len(known):
        known.append(messages)
    return place


def _charts(study: ViewedStudy, charts: list[dict[str, Any]]) -> dict[str, str]:
    """The charts by their addresses."""
    found = {}
    for one in charts:
        for name in ("href", "narrow"):
            path = study.index.folder / "charts" / one[name].rpartition("/")[2]
            found[one[name]] = path.read_text(encoding="utf-8") if path.is_file() else ""
    return found
