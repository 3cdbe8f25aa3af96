"""One answer in full, with its item, what was sent and how it was read; and what people say of it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import polars as pl

from quaver.core.instrument import record_in
from quaver.core.media import noted_in_words, noted_medium
from quaver.core.replaced_file import replacing
from quaver.core.spans import Span, spans_in
from quaver.core.spreadsheet import write_csv
from quaver.errors import StoreError, UnknownName
from quaver.view.asked import Given
from quaver.view.grid_documents import column_document, read_as, siblings
from quaver.view.grid_view import GridView
from quaver.view.mark_book import Mark
from quaver.view.snapshot import Column
from quaver.view.stored_answers import (
    LONGEST,
    beginning,
    facts_of,
    follow_ups_of,
    messages_of,
    responses_to,
    stored,
    text_of_parts,
    whole_response,
)
from quaver.view.viewed_study import ViewedStudy

_REASON = "marked in quaver view"
_GOLD_COLUMNS = dict.fromkeys(("item", "label", "coder", "note"), pl.String)
_LONGEST_FIELD, _MOST_SIBLINGS, _MOST_TOKENS = 2_000, 2_000, 300
_AROUND = 600
"""Characters of the text that are shown before and behind a quote."""
_MOST_MARKINGS = 20
"""So many different ways to mark a text are shown."""
_WITH_TOKENS = 2_000_000
"""Characters up to which an answer is read whole, for its tokens."""

_NO_CELL: dict[str, Any] = {"legend": 0, "confidence": None, "truncated": False, "looping": False}
_NO_CELL |= dict.fromkeys(("reason", "probabilities", "mass_coverage"))


def _place_of(study: ViewedStudy, item: str, column: int) -> tuple[int, Column]:
    """The number of an item, and a column."""
    snapshot = study.snapshot
    if item not in snapshot.places:
        raise UnknownName("item", item, [], where="item")
    if not 0 <= column < snapshot.width:
        raise UnknownName("column", str(column), [], where="column")
    return snapshot.places[item], snapshot.design.columns[column]


def answer(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """One answer in full."""
    row, column = _place_of(study, given.item, given.column)
    view, snapshot = study.view(*given.view), study.snapshot
    cells = snapshot.cells(row)
    own = cells.filter(pl.col("column") == column.at)
    by_evaluator = {cell["evaluator"]: cell for cell in own.iter_rows(named=True)}
    against = _against(study, column) if given.against is None else given.against
    with stored(snapshot.design) as db:
        known = {} if db is None else responses_to(db, snapshot.design, [row])
        numbers, other = known.get((row, column.at), []), None
        if db is not None and against is not None and against < snapshot.width:
            beside = column_document(snapshot.design.columns[against])
            other = {"column": beside, "prompt": _prompt(study, db, known.get((row, against), []))}
        text, fields = study.snapshot.item_texts([row])[row], study.snapshot.item_fields(row)
        return {
            "item": (
                view.item_line(row)
                | {
                    "id": study.snapshot.ids[row],
                    "text": text[:LONGEST],
                    "fields": {name: str(value)[:_LONGEST_FIELD] for name, value in fields.items()},
                    "media": [_shown(study, *medium) for medium in snapshot.item_media(row)],
                }
            ),
            "column": column_document(column),
            "neighbours": _neighbours(study, view, row, column.at),
            "siblings": siblings(study, view.scope, row, _MOST_SIBLINGS),
            "prompt": _prompt(study, db, numbers),
            "against": other,
            "marks": [
                mark_document(study, mark) for mark in study.book.by_item(given.who).get(given.item, ())
            ],
            **_read(study, view, row, by_evaluator),
            "quote": _quote(study, row, cells.filter(evaluator=view.scope.evaluator), column.at),
            **_stored(study, db, column, numbers),
        }


def _neighbours(study: ViewedStudy, view: GridView, row: int, column: int) -> dict[str, Any] | None:
    """The items above and below in the view, and the columns beside."""
    place = view.place_of(row)
    if place is None:
        return None

    def item(index: int) -> str | None:
        return study.snapshot.ids[int(view.rows[index])] if 0 <= index < len(view.rows) else None

    right = column + 1 if column + 1 < study.snapshot.width else None
    left = column - 1 if column else None
    return {"up": item(place - 1), "down": item(place + 1), "left": left, "right": right}


def _against(study: ViewedStudy, column: Column) -> int | None:
    """The column that a prompt is compared with: of the original one, or of the next one if it is that."""
    prompts = study.snapshot.design.prompts
    if len(prompts) < 2:
        return None
    wanted = prompts[1] if column.prompt == prompts[0] else prompts[0]

    def apart(other: Column) -> tuple[bool, bool, bool]:
        return other.model != column.model, other.decoding != column.decoding, other.repeat != column.repeat

    return min(
        (column_shown for column_shown in study.snapshot.design.columns if column_shown.prompt == wanted),
        key=apart,
    ).at


def _read(study: ViewedStudy, view: GridView, row: int, cells: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """How an answer was read by each evaluator, and whether the label of the chosen one is right."""
    design, scope = study.snapshot.design, view.scope
    modal, gold = (scope.numbers[name][row] for name in ("modal", "gold"))
    readings = []
    for place, name in enumerate(design.evaluators):
        cell = cells.get(place, _NO_CELL)
        label, status = design.legend.row(cell["legend"])
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


def _quote(study: ViewedStudy, row: int, cells: pl.DataFrame, column: int) -> dict[str, Any] | None:
    """What an answer quotes, with the text around it where it stands in it; of spans, who marks which.

    Args:
        study: The study.
        row: The item's number.
        cells: The answers to the item, as the chosen evaluator reads them.
        column: That of the answer.
    """
    cell = next(cells.filter(column=column).iter_rows(named=True), _NO_CELL)
    if cell.get("quote_status") is None:
        return None
    text, start, end = study.snapshot.item_texts([row])[row], cell["quote_start"], cell["quote_end"]
    parts = None
    if start is not None and len(text) == cell["text_length"]:
        first, last = max(0, start - _AROUND), end + _AROUND
        before, behind = "…" * (first > 0), "…" * (last < len(text))
        parts = [before + text[first:start], text[start:end], text[end:last] + behind]
    return {name: cell[f"quote_{name}"] for name in ("status", "score")} | {
        "words": cell["quote"],
        "parts": parts,
        "markings": _markings(text, cells, column) if cell.get("spans") is not None else [],
    }


def _markings(text: str, cells: pl.DataFrame, column: int) -> list[dict[str, Any]]:
    """The spans that answers and people mark in a text, those of an answer first, those of people last.

    Answers that mark the same stand together. What is marked in another text, as some variants show it, has
    no place in this one.
    """
    known = cells.filter(pl.col("spans").is_not_null(), text_length=len(text))
    known = known.sort(pl.col("column") != column, "column")
    given: dict[str, list[int]] = {}
    for name, spans in known.select("column", "spans").iter_rows():
        given.setdefault(spans, []).append(name)
    some = [(columns, spans) for spans, columns in given.items()][:_MOST_MARKINGS]
    some += [([], spans) for spans in known["marked_spans"].drop_nulls().head(1)]
    return [{"columns": columns, "parts": _parts(text, spans_in(spans))} for columns, spans in some]


def _parts(text: str, spans: Sequence[Span]) -> list[tuple[str, list[str]]]:
    """A text in parts, each with the labels of the spans that cover it; long parts without any are cut."""
    ends = {min(index, len(text)) for span in spans for index in (span.start, span.end)}
    found = []
    for start, end in pairwise(sorted({0, len(text), *ends})):
        labels = [span.label for span in spans if span.start <= start and end <= span.end]
        part = text[start:end]
        if not labels and len(part) > 2 * _AROUND:
            part = f"{part[:_AROUND]} … {part[-_AROUND:]}"
        found.append((part, labels))
    return found


def _prompt(study: ViewedStudy, db: Connection | None, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """The prompt that was sent, of a text in parts the first one; none before it is answered."""
    facts = facts_of(db, numbers[0]) if db is not None and numbers else None
    messages = messages_of(db, facts["prompt"]) if db is not None and facts else []
    for message in messages:
        if message["role"] == "media":
            words, medium = noted_in_words(message["content"]), noted_medium(message["content"], Path())
            shown = [_shown(study, words, medium.type, medium.sha256)] if medium.type else []
            message |= {"content": words, "length": len(words), "shown": shown}
    return messages


def _shown(study: ViewedStudy, name: str, media_type: str, digest: str) -> dict[str, str]:
    """A picture, page or recording, and where its bytes are."""
    return {"name": name, "type": media_type, "at": f"api/studies/{study.id}/media/{digest}"}


def _stored(
    study: ViewedStudy, db: Connection | None, column: Column, numbers: Sequence[int]
) -> dict[str, Any]:
    """The response as it is stored, its texts cut where they are long; its tokens, and further calls.

    Of a text in parts, the text has the answer about each, and the rest is the first one's.
    """
    number = numbers[0] if numbers else 0
    facts = facts_of(db, number) if db is not None and number else None
    if db is None or facts is None:
        return {"response": None}
    length = int(
        db.execute("SELECT ifnull(length(text), 0) FROM responses WHERE id = ?", (number,)).fetchone()[0]
    )
    text, thinking = text_of_parts(db, numbers), beginning(db, "responses", "thinking", number)
    length = length if len(numbers) == 1 else len(text)
    decoding = asdict(study.snapshot.design.decodings[column.decoding])
    knobs = record_in(facts.pop("asked")).get("knobs", {})
    facts["instrument"] = [
        {"name": name, "asked": asked, "sent": sent, "state": state}
        for name, (asked, sent, state) in knobs.items()
    ]
    response = facts | {"text": text, "length": length, "thinking": thinking or None, "decoding": decoding}
    whole = whole_response(db, number) if length <= _WITH_TOKENS else None
    tokens = [] if whole is None else whole.tokens
    further = [
        {"name": name, "text": beginning(db, "responses", "text", one), "prompt": _prompt(study, db, [one])}
        for name, one in follow_ups_of(db, number).items()
    ]
    return {
        "response": response,
        "follow_ups": further,
        "tokens": [
            {"text": token.text, "logprob": token.logprob, "top": list(map(list, token.top))}
            for token in tokens[:_MOST_TOKENS]
        ],
        "tokens_total": len(tokens),
    }


# --------------------------------------------------------------------------- marks


def mark_document(study: ViewedStudy, mark: Mark) -> dict[str, Any]:
    """A mark as the page gets it."""
    column = next(
        (
            column_shown.at
            for column_shown in study.snapshot.design.columns
            if mark.place == column_shown.place
        ),
        None,
    )
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

    Those of items that the gold sample has drawn count in it; others are kept apart. Of an item on which
    people disagree ``quaver gold`` asks for another judgement.

    Returns:
        How many labels were taken, the file that they were written to, and the next step as a command.
    """
    last = {
        (mark.item, mark.who): (mark.item, mark.label, mark.who, mark.note)
        for mark in sorted(study.book.marks(), key=lambda mark: mark.when)
        if mark.label and mark.item in study.snapshot.places
    }
    path, command = study.book.path.parent / "gold.csv", ["gold", str(study.path)]
    command += ["--field", study.field] if study.field else []
    if last:
        rows = pl.DataFrame([*last.values()], schema=_GOLD_COLUMNS, orient="row")
        with replacing(path) as part, part.open("wb") as file:
            write_csv(rows, file, header=True)
        _run([*command, "--take", str(path), "--apart", _REASON])
    return {"labels": len(last), "file": str(path), "how": shlex.join(["quaver", *command])}


def _run(command: list[str]) -> None:
    """Have a command of Quaver's done in a process of its own: it reads all items."""
    words = [sys.executable, "-m", "quaver", *command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StoreError(
            "the labels could not become gold labels",
            where=shlex.join(["quaver", *command]),
            found=(done.stderr or done.stdout).strip().removeprefix("Error: ")[:500],
        )
