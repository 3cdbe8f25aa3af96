"""One answer in full, and one item under every prompt."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict
from typing import Any

import numpy as np

from quaver.core import registry
from quaver.core.records import Response
from quaver.design.spec.measures_spec import EvaluatorSpec
from quaver.design.spec.study_file import Positions, bind
from quaver.errors import QuaverError, UnknownName
from quaver.score.annotation import read
from quaver.score.parsing.evaluator import Evaluator
from quaver.view.answer_reading import (
    beginning,
    excerpts,
    facts_of,
    messages_of,
    number_of,
    stored,
    whole_response,
)
from quaver.view.evaluator_spans import Spans, spans_of
from quaver.view.grid_documents import about_column, column_document, groups_of, item_numbers, reading_of
from quaver.view.index_design import Column
from quaver.view.mark_book import Mark
from quaver.view.prompt_diff import diffed
from quaver.view.viewed_study import Asked, ViewedStudy

_LONGEST = 200_000
_LONGEST_FIELD = 2_000
_READ_AGAIN = 2_000_000
"""Characters up to which an answer is read again, to say why it has its label."""
_MOST_TOKENS = 300
_MOST_SIBLINGS = 2_000


def place_of(study: ViewedStudy, item: str, column: int) -> tuple[int, Column]:
    """The number of an item, and a column.

    Raises:
        UnknownName: There is no such item or column.
    """
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
    """One answer in full.

    Args:
        study: The study.
        asked: The view that it is looked at in, for its neighbours.
        item: The item's id.
        column: The column.
        against: The column whose prompt it is compared with; by default the original prompt's.
        beside: The study of that column; by default this one.
        blind: Whether the model's answer and label are hidden.
    """
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
        found |= _sent(study, db, at, about, against, beside)
        if blind:
            return found | _BLIND
        found |= said(study, db, at, about, evaluator, modal)
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
        "text": text[:_LONGEST],
        "length": len(text),
        "fields": fields,
    } | {name: None if blind else value for name, value in numbers.items()}


def _sent(
    study: ViewedStudy,
    db: sqlite3.Connection | None,
    at: int,
    column: Column,
    against: int | None,
    beside: ViewedStudy | None,
) -> dict[str, Any]:
    """The prompt as it was sent, and what differs from another one."""
    if db is None:
        return {"prompt": [], "against": None}
    prompt = _messages(study, db, at, column.at)
    other, place = beside or study, against
    if place is None:
        place = _to_compare(study, column)
    if place is None or not 0 <= place < other.index.width:
        return {"prompt": prompt, "against": None}
    name = study.index.ids[at]
    where = at if other is study else other.index.ids.find(name)
    if other is study:
        theirs = _messages(study, db, at, place)
    else:
        with stored(other.index) as second:
            theirs = _messages(other, second, where, place) if second and where is not None else []
    diff = diffed(theirs, prompt, study.index.item_text(at)) if theirs and prompt else []
    about = column_document(other.index.design.columns[place])
    return {"prompt": prompt, "against": {"column": about, "study": other.id, "prompt": theirs, "diff": diff}}


def _messages(study: ViewedStudy, db: sqlite3.Connection, at: int, column: int) -> list[dict[str, Any]]:
    """The prompt that was sent for a cell; none before it is answered."""
    number = number_of(study.index, at, column)
    facts = facts_of(db, number) if number else None
    return messages_of(db, facts["prompt"], _LONGEST) if facts and facts["prompt"] else []


def _to_compare(study: ViewedStudy, column: Column) -> int | None:
    """The column that a prompt is compared with: of the original one, or of the next one if it is that."""
    prompts = study.index.design.prompts
    if len(prompts) < 2:
        return None
    wanted = prompts[1] if column.prompt == prompts[0] else prompts[0]
    alike = [one for one in study.index.design.columns if one.prompt == wanted]
    return min(alike, key=lambda one: _distance(one, column)).at if alike else None


def _distance(one: Column, other: Column) -> tuple[bool, bool, bool]:
    """How much two columns differ apart from their prompts."""
    return one.model != other.model, one.decoding != other.decoding, one.repeat != other.repeat


def said(
    study: ViewedStudy,
    db: sqlite3.Connection | None,
    at: int,
    column: Column,
    evaluator: int,
    modal: int,
) -> dict[str, Any]:
    """What the model answered, and how that was read.

    Args:
        study: The study.
        db: Its store, where there is one.
        at: The item.
        column: The column.
        evaluator: Whose reading is explained.
        modal: The legend code of the item's most frequent label.
    """
    index, known = study.index, reading_of(study, evaluator, at, column.at, modal)
    gold = int(index.gold[at])
    right = None if not gold or not known["legend"] else known["legend"] == gold
    readings = [
        {
            "evaluator": name,
            **{k: reading_of(study, place, at, column.at, 0)[k] for k in ("label", "status", "confidence")},
        }
        for place, name in enumerate(index.design.evaluators)
    ]
    bare: dict[str, Any] = {"reason": None, "truncated": False, "looping": False, "label_coverage": None}
    bare |= {"mass_coverage": None, "spans": [], "spans_exact": True, "in": "text"}
    reading = {name: known[name] for name in ("label", "status", "confidence")} | bare
    found: dict[str, Any] = {"response": None, "reading": reading, "readings": readings, "follow_ups": []}
    found |= {"probabilities": None, "tokens": None, "tokens_total": 0}
    found["is"] = {"flip": known["flip"], "right": right, "modal": known["legend"] == modal > 0}
    number = number_of(index, at, column.at)
    facts = facts_of(db, number) if db is not None and number else None
    if db is None or facts is None:
        return found
    found["response"] = _response(study, db, facts, index.ids[at], column)
    found["follow_ups"] = _follow_ups(study, db, at, column.at)
    if index.plane("length", "uint32").cell(at, column.at) <= _READ_AGAIN:
        found |= _read_again(study, db, number, at, column, evaluator, reading, readings)
    return found


def _response(
    study: ViewedStudy, db: sqlite3.Connection, facts: dict[str, Any], item: str, column: Column
) -> dict[str, Any]:
    index = study.index
    text = beginning(db, "responses", "text", facts["id"], _LONGEST)
    thinking = beginning(db, "responses", "thinking", facts["id"], _LONGEST)
    at = index.ids.find(item)
    length = index.plane("length", "uint32").cell(at or 0, column.at)
    return {
        **{name: facts[name] for name in _SHOWN},
        "text": text.text,
        "length": length,
        "shown": len(text.text),
        "rest": None if text.whole else "raw",
        "thinking": thinking.text or None,
        "thinking_length": len(thinking.text) if thinking.whole else thinking.size,
        "reused_from": facts["reused"],
        "response": facts["id"],
        "money": None,
        "decoding": index.design.decodings.get(column.decoding, {}),
    }


_SHOWN = (
    *("finish", "error", "received", "latency", "prompt_tokens", "cached_tokens", "completion_tokens"),
    *("thinking_tokens", "served_model", "fingerprint", "seed", "key", "model", "identity"),
)


def _follow_ups(study: ViewedStudy, db: sqlite3.Connection, at: int, column: int) -> list[dict[str, Any]]:
    """The further calls about the same answer."""
    found = []
    for path in sorted(study.index.folder.glob("response-*.plane")):
        name = path.stem.removeprefix("response-")
        if number := number_of(study.index, at, column, name):
            said = beginning(db, "responses", "text", number, _LONGEST)
            facts = facts_of(db, number)
            sent = messages_of(db, facts["prompt"], _LONGEST) if facts else []
            found.append({"name": name, "text": said.text, "response": number, "prompt": sent})
    return found


def _read_again(
    study: ViewedStudy,
    db: sqlite3.Connection,
    number: int,
    at: int,
    column: Column,
    evaluator: int,
    reading: dict[str, Any],
    readings: list[dict[str, Any]],
) -> dict[str, Any]:
    """Why an answer has its labels: reasons, probabilities, tokens, and the characters that were read."""
    design, response = study.index.design, whole_response(db, number)
    variant = design.variants_by_id.get(column.prompt)
    if response is None or variant is None:
        return {}
    found: dict[str, Any] = {"tokens_total": len(response.tokens), "reading": reading}
    found["tokens"] = [
        {"text": one.text, "logprob": one.logprob, "top": [list(top) for top in one.top]}
        for one in response.tokens[:_MOST_TOKENS]
    ] or None
    for place, name in enumerate(design.evaluators):
        made = evaluator_of(study, name)
        follow_up = design.of.get(name, "")
        own = (
            response
            if not follow_up
            else whole_response(db, number_of(study.index, at, column.at, follow_up))
        )
        if made is None or own is None:
            continue
        said = read(own, made, design.labels, variant, response if follow_up else None)
        readings[place]["reason"] = said.reason
        if place != evaluator:
            continue
        names = ("reason", "truncated", "looping", "label_coverage", "mass_coverage")
        reading |= {one: getattr(said, one) for one in names}
        reading["in"] = f"follow_up:{follow_up}" if follow_up else "text"
        if said.probabilities:
            found["probabilities"] = [
                {"label": code, "p": said.probabilities.get(code, 0.0)} for code in design.codes
            ]
        if said.status in ("valid", "ambiguous"):
            reading |= _spans(own, made, design.labels, variant)
    return found


def _spans(response: Response, evaluator: Evaluator, labels: Any, variant: Any) -> dict[str, Any]:
    """The characters that were read; of log-probabilities those of the first token."""
    reads = getattr(evaluator, "reads", "text")
    if reads == "pair":
        return {}
    if reads == "tokens":
        first = next((one.text for one in response.tokens if one.text.strip()), "")
        start = response.text.find(first.strip()) if first.strip() else -1
        spans = Spans(((start, start + len(first.strip())),) if start >= 0 else ())
    else:
        spans = spans_of(response, evaluator.reader(labels, variant), labels, variant)
    return {"spans": [_span(response.text, *place) for place in spans.places], "spans_exact": spans.exact}


def _span(text: str, start: int, end: int) -> dict[str, Any]:
    units = [len(text[:place].encode("utf-16-le", "surrogatepass")) // 2 for place in (start, end)]
    return {"from": start, "to": end, "from16": units[0], "to16": units[1], "why": "what the label rests on"}


def evaluator_of(study: ViewedStudy, name: str) -> Evaluator | None:
    """An evaluator of the study; None where its plug-in is not installed."""
    key = (study.index.folder.name, name)
    found: Evaluator | None = study.evaluators.get(key, lambda: _made(study, name))
    return found


def _made(study: ViewedStudy, name: str) -> Evaluator | None:
    specs = [EvaluatorSpec.model_validate(one) for one in study.index.design.readers]
    spec = next((one for one in specs if one.title == name), EvaluatorSpec(use=name))
    try:
        plugin = registry.load("evaluators", spec.use)
        made: Evaluator = plugin(**bind(plugin, spec.options, Positions(None, {}), (), ("use", "name", "of")))
    except QuaverError:
        return None
    return made


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
        code = int(codes[column.at])
        label, status = index.design.meanings[code]
        found.append(
            {
                **column_document(column),
                "label": label,
                "status": status,
                "legend": code,
                "confidence": round(float(raw[column.at]) - 1, 6) if raw[column.at] else None,
                "flip": label is not None and code != modal,
            }
        )
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
