"""Marks on their way in and out: tables, Quaver's own lines, Label Studio and Argilla."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from quaver._secrets import Keys
from quaver.core.label_values import LabelCells
from quaver.core.line_file import lines_of
from quaver.core.spreadsheet import plain_cell, safe_cell
from quaver.errors import QuaverError, UnknownName
from quaver.view.asked import Asked
from quaver.view.mark_book import Mark
from quaver.view.viewed_study import ViewedStudy

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
    """A file in pieces, and its name."""
    if form not in FORMATS:
        raise UnknownName("format", form, list(FORMATS), where="format")
    ending, written = FORMATS[form]
    return (Keys().out_of(piece) for piece in written(study, asked, blind)), f"{study.id}-{form}.{ending}"


def _export_csv(study: ViewedStudy, asked: Asked, blind: bool) -> Iterator[str]:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in study.book.marks():
        row = asdict(one) | {"coder": one.who}
        writer.writerow([safe_cell(str(row[name])) if row[name] is not None else "" for name in _COLUMNS])
    yield out.getvalue()


def _export_jsonl(study: ViewedStudy, asked: Asked, blind: bool) -> Iterator[str]:
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


def _export_label_studio(
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


def _export_argilla(
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
    "csv": ("csv", _export_csv),
    "jsonl": ("jsonl", _export_jsonl),
    "label-studio": ("json", _tasks(_export_label_studio)),
    "argilla": ("json", _tasks(_export_argilla)),
}


_MOST_SKIPPED = 100
_PLACE = ("model", "prompt", "decoding", "repeat")

Given = dict[str, Any]


def taken_in(study: ViewedStudy, form: str, content: bytes, who: str) -> dict[str, Any]:
    """Take in a file of marks; rows that cannot be used are left out and counted.

    Returns:
        How many rows were read and are new, and which were left out and why.
    """
    if form not in READERS:
        raise UnknownName("format", form, list(READERS), where="format")
    try:
        rows = list(READERS[form](content.decode("utf-8-sig")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        raise QuaverError(
            "this file cannot be read as marks", where=form, expected=_EXPECTED[form], found=str(error)[:200]
        ) from None
    known = {_same(asdict(mark)) for mark in study.book.marks()}
    labels = study.index.design.labels
    names = {one.name: one.code for one in labels.labels if one.name not in labels.codes}
    cells = LabelCells(labels.codes, names)
    given, skipped = [], []
    for number, row in enumerate(rows, start=1):
        why = _wrong(study, row, cells)
        if why:
            skipped.append({"row": number, "why": why})
            continue
        row["who"] = str(row.get("who") or who)
        if _same(row) not in known:
            given.append({name: value for name, value in row.items() if value not in (None, "")})
    study.book.add_all(given, who)
    return {
        "read": len(rows),
        "new": len(given),
        "skipped": skipped[:_MOST_SKIPPED],
        "left_out": len(skipped),
    }


def _same(row: Given) -> tuple[Any, ...]:
    return tuple(row.get(name) or None for name in ("item", "who", "label", "mark", "note", *_PLACE))


def _wrong(study: ViewedStudy, row: Given, cells: LabelCells) -> str:
    """Why a row is no mark of this study; puts the label's code in the place of its name."""
    if study.index.ids.find(str(row.get("item") or "")) is None:
        return f"the study has no item {str(row.get('item') or '')[:80]!r}"
    if (label := row.get("label")) not in (None, ""):
        found = cells.read(str(label).strip())
        if found is None or found.label is None:
            return f"the study has no label {str(label)[:80]!r}"
        row["label"] = found.label
    if row.get("mark") not in (None, "", "agree", "disagree", "unclear"):
        return f"{str(row['mark'])[:40]!r} is no mark"
    if not (row.get("label") or row.get("mark") or row.get("note")):
        return "it says nothing"
    return ""


def _csv(text: str) -> Iterator[Given]:
    for row in csv.DictReader(io.StringIO(text)):
        if "item" not in row:
            raise ValueError("no column item")
        known = {name: plain_cell(cell) or None for name, cell in row.items() if name and cell}
        found: Given = {name: known.get(name) for name in ("item", "label", "note", "mark", "seen", *_PLACE)}
        found["who"] = known.get("coder") or known.get("who")
        found["blind"] = (row.get("blind") or "").lower() == "true"
        found["repeat"] = int(found["repeat"]) if found["repeat"] else None
        yield found


def _jsonl(text: str) -> Iterator[Given]:
    for line in lines_of(text):
        if line.strip():
            found = dict(json.loads(line))
            yield {
                name: found.get(name) for name in ("item", "label", "note", "mark", "who", "blind", *_PLACE)
            }


def _label_studio(text: str) -> Iterator[Given]:
    """Tasks with annotations, or the flat form that Label Studio calls JSON-MIN."""
    for task in _listed(text):
        data = task.get("data", task)
        item = data.get("item", data.get("id"))
        if "annotations" not in task and "data" not in task:
            if task.get(QUESTION) is not None:
                yield {"item": item, "label": _first(task[QUESTION]), "who": _person(task.get("annotator"))}
            continue
        for one in task.get("annotations", ()):
            if one.get("was_cancelled"):
                continue
            choices = [
                choice
                for result in one.get("result", ())
                if result.get("from_name", QUESTION) == QUESTION
                for choice in result.get("value", {}).get("choices", ())
            ]
            if choices:
                yield {"item": item, "label": choices[0], "who": _person(one.get("completed_by"))}


def _argilla(text: str) -> Iterator[Given]:
    """Records, whose responses are by question or in a list."""
    for record in _listed(text):
        item = (record.get("metadata") or {}).get("item", record.get("external_id", record.get("id")))
        responses = record.get("responses") or {}
        if isinstance(responses, Mapping):
            for one in responses.get(QUESTION, ()):
                yield {"item": item, "label": one.get("value"), "who": _person(one.get("user_id"))}
            continue
        for one in responses:
            if (value := (one.get("values") or {}).get(QUESTION)) and one.get("status") != "discarded":
                yield {"item": item, "label": value.get("value"), "who": _person(one.get("user_id"))}


def _listed(text: str) -> list[dict[str, Any]]:
    found = json.loads(text)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ValueError("not a list of objects")
    return found


def _first(value: Any) -> Any:
    if isinstance(value, Mapping):
        return (value.get("choices") or [None])[0]
    return value[0] if isinstance(value, list) and value else value


def _person(given: Any) -> str | None:
    """Who labelled: a name, an address or a number."""
    if isinstance(given, Mapping):
        given = given.get("email") or given.get("username") or given.get("id")
    return None if given in (None, "") else str(given)[:200]


READERS: dict[str, Callable[[str], Iterator[Given]]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "label-studio": _label_studio,
    "argilla": _argilla,
}
_EXPECTED = {
    "csv": "a CSV file with the columns item and label",
    "jsonl": "a line of JSON a mark",
    "label-studio": "Label Studio's export as JSON or JSON-MIN, of a project with the control `label`",
    "argilla": "Argilla's records as JSON, with the question `label`",
}
