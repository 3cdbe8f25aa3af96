"""Marks on their way out: as a table, and as tasks for Label Studio and Argilla."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from quaver._secrets import Keys
from quaver.core.spreadsheet import safe_cell
from quaver.errors import UnknownName
from quaver.view.mark_book import Mark
from quaver.view.viewed_study import Asked, ViewedStudy

QUESTION = "label"
"""What the question is called in Label Studio and Argilla."""

_COLUMNS = (
    *("item", "label", "coder", "note", "mark", "when", "blind", "seen"),
    *("model", "prompt", "decoding", "repeat"),
)
_PIECE = 200


def exported_marks(
    study: ViewedStudy, asked: Asked, form: str, *, blind: bool = False
) -> tuple[Iterator[str], str]:
    """A file in pieces, and its name.

    Args:
        study: The study.
        asked: The view whose items become tasks.
        form: ``csv`` or ``jsonl`` (the marks), ``label-studio`` or ``argilla`` (the items that are shown).
        blind: Whether the tasks leave out what the models said.

    Raises:
        UnknownName: There is no such format.
    """
    if form not in FORMATS:
        raise UnknownName("format", form, list(FORMATS), where="format")
    ending, written = FORMATS[form]
    return (Keys().out_of(piece) for piece in written(study, asked, blind)), f"{study.id}-{form}.{ending}"


def _csv(study: ViewedStudy, asked: Asked, blind: bool) -> Iterator[str]:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in study.book.marks():
        row = asdict(one) | {"coder": one.who}
        writer.writerow([safe_cell(str(row[name])) if row[name] is not None else "" for name in _COLUMNS])
    yield out.getvalue()


def _jsonl(study: ViewedStudy, asked: Asked, blind: bool) -> Iterator[str]:
    for one in study.book.marks():
        yield json.dumps(asdict(one), ensure_ascii=False) + "\n"


def _tasks(made: Callable[..., dict[str, Any]]) -> Callable[[ViewedStudy, Asked, bool], Iterator[str]]:
    """A JSON list of tasks, one an item."""

    def written(study: ViewedStudy, asked: Asked, blind: bool) -> Iterator[str]:
        view, marks = study.view(asked), study.book.by_item()
        modal, agreement = view.scope.statistics.modal, view.scope.statistics.agreement
        between = "["
        for at in view.rows:
            item = study.index.ids[int(at)]
            said = None if blind or not modal[at] else study.index.design.meanings[int(modal[at])][0]
            about = [one for one in marks.get(item, ()) if one.label]
            document = made(study, int(at), item, said, float(agreement[at]), about)
            yield between + json.dumps(document, ensure_ascii=False)
            between = ",\n"
        yield "]\n" if between != "[" else "[]\n"

    return written


def _label_studio(
    study: ViewedStudy, at: int, item: str, said: str | None, share: float, marks: list[Mark]
) -> dict[str, Any]:
    def result(label: str) -> list[dict[str, Any]]:
        value = {"choices": [label]}
        return [{"from_name": QUESTION, "to_name": "text", "type": "choices", "value": value}]

    found: dict[str, Any] = {"data": {"item": item, "text": study.index.item_text(at)}}
    if said is not None:
        found["predictions"] = [{"model_version": "quaver", "score": round(share, 6), "result": result(said)}]
    if marks:
        found["annotations"] = [
            {"completed_by": {"email": one.who}, "result": result(str(one.label)), "created_at": one.when}
            for one in marks
        ]
    return found


def _argilla(
    study: ViewedStudy, at: int, item: str, said: str | None, share: float, marks: list[Mark]
) -> dict[str, Any]:
    found: dict[str, Any] = {"id": item, "fields": {"text": study.index.item_text(at)}}
    found |= {"metadata": {"item": item}, "suggestions": {}, "responses": {}, "vectors": {}}
    if said is not None:
        found["suggestions"] = {QUESTION: {"value": said, "score": round(share, 6), "agent": "quaver"}}
    if marks:
        found["responses"] = {QUESTION: [{"value": one.label, "user_id": one.who} for one in marks]}
    return found


FORMATS: dict[str, tuple[str, Callable[[ViewedStudy, Asked, bool], Iterator[str]]]] = {
    "csv": ("csv", _csv),
    "jsonl": ("jsonl", _jsonl),
    "label-studio": ("json", _tasks(_label_studio)),
    "argilla": ("json", _tasks(_argilla)),
}
