"""One answer in full, with its item, what was sent and how it was read; and what people say of it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import polars as pl

from quaver.core.instrument import record_in
from quaver.core.replaced_file import replacing
from quaver.core.spreadsheet import write_csv
from quaver.errors import StoreError, UnknownName
from quaver.study.sources.gold_files import gold_beside
from quaver.view.asked import Given
from quaver.view.grid_documents import column_document, read_as, siblings
from quaver.view.grid_view import GridView
from quaver.view.mark_book import Mark
from quaver.view.stored_answers import (
    LONGEST,
    beginning,
    facts_of,
    follow_ups_of,
    messages_of,
    stored,
    whole_response,
)
from quaver.view.study_index import Column
from quaver.view.viewed_study import ViewedStudy

_REASON = "marked in quaver view"
_GOLD_COLUMNS = ["item", "label", "coder", "note"]
_LONGEST_FIELD, _MOST_SIBLINGS, _MOST_TOKENS = 2_000, 2_000, 300
_WITH_TOKENS = 2_000_000
"""Characters up to which an answer is read whole, for its tokens."""

_NO_CELL: dict[str, Any] = {"legend": 0, "confidence": None, "truncated": False, "looping": False}
_NO_CELL |= dict.fromkeys(("reason", "probabilities", "mass_coverage", "response", "length"))


def _place_of(study: ViewedStudy, item: str, column: int) -> tuple[int, Column]:
    """The number of an item, and a column."""
    index = study.index
    if item not in index.places:
        raise UnknownName("item", item, [], where="item")
    if not 0 <= column < index.width:
        raise UnknownName("column", str(column), [], where="column")
    return index.places[item], index.design.columns[column]


def answer(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """One answer in full."""
    row, column = _place_of(study, given.item, given.column)
    view, index = study.view(*given.view), study.index
    of_item: dict[int, dict[int, dict[str, Any]]] = {}
    for cell in index.cells(row).iter_rows(named=True):
        of_item.setdefault(cell["column"], {})[cell["evaluator"]] = cell
    numbers = {place: next(iter(some.values()))["response"] for place, some in of_item.items()}
    against = _against(study, column) if given.against is None else given.against
    with stored(index) as db:
        other = None
        if db is not None and against is not None and against < index.width:
            beside = column_document(index.design.columns[against])
            other = {"column": beside, "prompt": _prompt(db, numbers.get(against))}
        return {
            "item": _item(study, view, row),
            "column": column_document(column),
            "neighbours": _neighbours(study, view, row, column.at),
            "siblings": siblings(study, view.scope, row, _MOST_SIBLINGS),
            "prompt": _prompt(db, numbers.get(column.at)),
            "against": other,
            "marks": [
                mark_document(study, mark) for mark in study.book.by_item(given.who).get(given.item, ())
            ],
            **_read(study, view, row, of_item.get(column.at, {})),
            **_stored(study, db, column, numbers.get(column.at)),
        }


def _item(study: ViewedStudy, view: GridView, row: int) -> dict[str, Any]:
    """An item in full."""
    text, fields = study.index.item_texts([row])[row], study.index.item_fields(row)
    return view.item_line(row) | {
        "id": study.index.ids[row],
        "text": text[:LONGEST],
        "fields": {name: str(value)[:_LONGEST_FIELD] for name, value in fields.items()},
    }


def _neighbours(study: ViewedStudy, view: GridView, row: int, column: int) -> dict[str, Any] | None:
    """The items above and below in the view, and the columns beside."""
    place = view.place_of(row)
    if place is None:
        return None

    def item(at: int) -> str | None:
        return study.index.ids[int(view.rows[at])] if 0 <= at < len(view.rows) else None

    right = column + 1 if column + 1 < study.index.width else None
    left = column - 1 if column else None
    return {"up": item(place - 1), "down": item(place + 1), "left": left, "right": right}


def _against(study: ViewedStudy, column: Column) -> int | None:
    """The column that a prompt is compared with: of the original one, or of the next one if it is that."""
    prompts = study.index.design.prompts
    if len(prompts) < 2:
        return None
    wanted = prompts[1] if column.prompt == prompts[0] else prompts[0]

    def apart(one: Column) -> tuple[bool, bool, bool]:
        return one.model != column.model, one.decoding != column.decoding, one.repeat != column.repeat

    return min((one for one in study.index.design.columns if one.prompt == wanted), key=apart).at


def _read(study: ViewedStudy, view: GridView, row: int, cells: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """How an answer was read by each evaluator, and whether the label of the chosen one is right."""
    design, scope = study.index.design, view.scope
    modal, gold = (scope.numbers[name][row] for name in ("modal", "gold"))
    readings = []
    for place, name in enumerate(design.evaluators):
        cell = cells.get(place, _NO_CELL)
        label, status = design.meanings[cell["legend"]]
        known = {of: cell[of] for of in ("reason", "truncated", "looping", "mass_coverage")}
        read = read_as({**cell, "label": label, "status": status, "modal": modal})
        readings.append({"evaluator": name, **read, **known})
    reading = readings[scope.evaluator]
    shares = cells.get(scope.evaluator, _NO_CELL)["probabilities"] or ()
    right = None if gold is None or not reading["legend"] else reading["label"] == gold
    return {
        "reading": reading,
        "readings": readings,
        "evaluator": design.evaluators[scope.evaluator],
        "modal": modal,
        "gold": gold,
        "is": {"flip": reading["flip"], "right": right},
        "probabilities": [{"label": code, "p": p} for code, p in zip(design.codes, shares, strict=False)],
    }


def _prompt(db: Connection | None, number: int | None) -> list[dict[str, Any]]:
    """The prompt that was sent; none before it is answered."""
    facts = facts_of(db, number) if db is not None and number else None
    return messages_of(db, facts["prompt"]) if db is not None and facts else []


def _stored(study: ViewedStudy, db: Connection | None, column: Column, number: int | None) -> dict[str, Any]:
    """The response as it is stored, its texts cut where they are long; its tokens, and further calls."""
    facts = facts_of(db, number) if db is not None and number else None
    if db is None or facts is None or number is None:
        return {"response": None}
    length = int(
        db.execute("SELECT ifnull(length(text), 0) FROM responses WHERE id = ?", (number,)).fetchone()[0]
    )
    text, thinking = (beginning(db, "responses", name, number) for name in ("text", "thinking"))
    decoding = study.index.design.decodings.get(column.decoding, {})
    knobs = record_in(facts.pop("asked")).get("knobs", {})
    facts["instrument"] = [{"name": name, **knob._asdict()} for name, knob in knobs.items()]
    response = facts | {"text": text, "length": length, "thinking": thinking or None, "decoding": decoding}
    whole = whole_response(db, number) if length <= _WITH_TOKENS else None
    tokens = [] if whole is None else whole.tokens
    further = [
        {"name": name, "text": beginning(db, "responses", "text", other), "prompt": _prompt(db, other)}
        for name, other in follow_ups_of(db, number).items()
    ]
    return {
        "response": response,
        "follow_ups": further,
        "tokens": [
            {"text": token.text, "logprob": token.logprob, "top": [list(top) for top in token.top]}
            for token in tokens[:_MOST_TOKENS]
        ],
        "tokens_total": len(tokens),
    }


# --------------------------------------------------------------------------- marks


def mark_document(study: ViewedStudy, mark: Mark) -> dict[str, Any]:
    """A mark as the page gets it."""
    column = next((one.at for one in study.index.design.columns if mark.place == one.place), None)
    return {**asdict(mark), "column": column}


def marks(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """The marks of a study."""
    every = study.book.marks()
    some = [mark for mark in every if given.item in ("", mark.item) and given.who in ("", mark.who)]
    people = Counter(mark.who for mark in some)
    return {
        "marks": [mark_document(study, mark) for mark in some[given.window(200, 5000)]],
        "total": len(some),
        "who": [{"who": name, "marks": number} for name, number in people.items()],
    }


def add_mark(study: ViewedStudy, given: Given, who: str) -> dict[str, Any]:
    """Add a mark; of an answer, the place is that of its column."""
    body = given.body()
    _, column = _place_of(study, body.item, body.column or 0)
    mark = body.model_dump(exclude_unset=True)
    if body.column is not None:
        mark |= dict(zip(("model", "prompt", "decoding", "repeat"), column.place, strict=True))
    return mark_document(study, study.book.add(mark, who))


def remove_mark(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """Take a mark back."""
    if study.book.remove(given.name) is None:
        raise UnknownName("mark", given.name, [], where="mark")
    return {}


def to_gold(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """Have the labels that people gave to items or answers taken as gold labels.

    Of an item on which people disagree ``quaver gold`` asks for another judgement, and a gold label that an
    item has stays unless it is to be replaced.

    Returns:
        How many labels were taken, the files that they were written to, and the next step as a command.
    """
    state = gold_beside(Path(study.index.design.folder)).state()
    drawn = set() if state.draw is None else {*state.draw.filter("drawn")["item"]}
    frame = _given(study, drawn)
    of_field, files = ["--field", study.field] if study.field else [], []
    for name, is_drawn in (("gold-drawn.csv", True), ("gold-apart.csv", False)):
        rows = frame.filter(pl.col("drawn") == is_drawn)
        if rows.is_empty():
            continue
        path = study.book.path.parent / name
        with replacing(path) as part, part.open("wb") as file:
            write_csv(rows.select(_GOLD_COLUMNS), file, header=True)
        files.append(str(path))
        apart = [] if is_drawn else ["--apart", _REASON, *["--replace"] * given.body().replace]
        _take(study.path, path, of_field + apart)
    return {
        "labels": frame.height,
        "files": files,
        "how": shlex.join(["quaver", "gold", str(study.path), *of_field]),
    }


def _given(study: ViewedStudy, drawn: set[str]) -> pl.DataFrame:
    """The last label that each person gave to each item of the study, and whether the item was drawn."""
    last = {
        (mark.item, mark.who): (mark.item, mark.label, mark.who, mark.note, mark.item in drawn)
        for mark in sorted(study.book.marks(), key=lambda mark: mark.when)
        if mark.label and mark.item in study.index.places
    }
    schema: dict[str, Any] = {**dict.fromkeys(_GOLD_COLUMNS, pl.String), "drawn": pl.Boolean}
    return pl.DataFrame([*last.values()], schema=schema, orient="row")


def _take(study: Path, file: Path, options: list[str]) -> None:
    """Have ``quaver gold`` take a file, in a process of its own: it reads all items."""
    done = subprocess.run(
        [sys.executable, "-m", "quaver", "gold", str(study), "--take", str(file), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StoreError(
            "the labels could not become gold labels",
            where=str(file),
            found=(done.stderr or done.stdout).strip().removeprefix("Error: ")[:500],
        )
