"""One answer in full, with what was sent and how it was read; one item under every prompt."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from quaver.collect.run.progress import Price
from quaver.core import registry
from quaver.core.records import Response
from quaver.design.spec.models_spec import EvaluatorSpec
from quaver.design.spec.study_file import Positions, bind
from quaver.errors import QuaverError, UnknownName
from quaver.score.annotation import read
from quaver.score.parsing.evaluator import Evaluator
from quaver.view.answer_reading import (
    LONGEST,
    Spans,
    beginning,
    facts_of,
    follow_ups_of,
    messages_of,
    spans_of,
    stored,
    whole_response,
)
from quaver.view.asked import Given
from quaver.view.grid_documents import column_document, item_line, read_as, siblings
from quaver.view.grid_view import GridView
from quaver.view.mark_book import Mark
from quaver.view.study_index import Column
from quaver.view.viewed_study import ViewedStudy

_LONGEST_FIELD = 2_000
_MOST_SIBLINGS = 2_000


def place_of(study: ViewedStudy, item: str, column: int) -> tuple[int, Column]:
    """The number of an item, and a column."""
    index = study.index
    position = index.places.get(item)
    if position is None:
        raise UnknownName("item", item, [], where="item")
    if not 0 <= column < index.width:
        raise UnknownName("column", str(column), [], where="column")
    return position, index.design.columns[column]


def answer(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """One answer in full."""
    index, about = place_of(study, given.item, given.column)
    view = study.view(given.asked)
    found: dict[str, Any] = {
        "item": item_document(study, view, index),
        "column": column_document(about),
        "neighbours": _neighbours(study, view, index, about.at),
        "siblings": siblings(study, view.scope, index, _MOST_SIBLINGS),
    }
    with stored(study.index) as db:
        seen = seen_in(study, db, index, about)
        return found | sent(seen, given.against) | said(seen, view)


def item_document(study: ViewedStudy, view: GridView, position: int) -> dict[str, Any]:
    """An item in full."""
    index = study.index
    text = index.item_texts([position])[position]
    fields = {name: str(value)[:_LONGEST_FIELD] for name, value in index.item_fields(position).items()}
    return {
        "id": index.ids[position],
        "text": text[:LONGEST],
        "length": len(text),
        "fields": fields,
    } | item_line(view, position)


def _neighbours(study: ViewedStudy, view: GridView, index: int, column: int) -> dict[str, Any] | None:
    row, size = view.place_of(index), len(view.rows)
    if row is None:
        return None

    def name(other: int) -> str | None:
        return study.index.ids[int(view.rows[other])] if 0 <= other < size else None

    return {
        "row": row,
        "rows": size,
        "up": name(row - 1),
        "down": name(row + 1),
        "left": column - 1 if column else None,
        "right": column + 1 if column + 1 < study.index.width else None,
    }


def mark_document(study: ViewedStudy, mark: Mark) -> dict[str, Any]:
    """A mark as the page gets it."""
    column = next((one.at for one in study.index.design.columns if mark.place == one.place), None)
    return {**asdict(mark), "study": study.id, "column": column, "gold": False}


def marks(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """The marks of a study."""
    every = study.book.marks()
    some = [mark for mark in every if given.item in ("", mark.item) and given.who in ("", mark.who)]
    people = Counter(mark.who for mark in every)
    return {
        "marks": [mark_document(study, mark) for mark in some[given.window(200, 5000)]],
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


_READ_AGAIN = 2_000_000
"""Characters up to which an answer is read again, to say why it has its label."""
_MOST_TOKENS = 300
_SHOWN = (
    *("finish", "error", "received", "latency", "prompt_tokens", "cached_tokens", "completion_tokens"),
    *("thinking_tokens", "served_model", "seed", "key", "model"),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer in the grid, and where it is stored: nowhere, where there are only labels."""

    study: ViewedStudy
    db: sqlite3.Connection | None
    at: int
    column: Column
    cells: Sequence[Mapping[str, Any]]

    @property
    def number(self) -> int:
        """The number of the response; 0 where there is none."""
        return (self.cells[0]["response"] if self.cells else None) or 0

    @property
    def length(self) -> int:
        """Characters of the response."""
        return (self.cells[0]["length"] if self.cells else None) or 0

    def reading(self, evaluator: int, modal: str | None = None) -> dict[str, Any]:
        """How it was read, as far as the index knows."""
        cell = next((cell for cell in self.cells if cell["evaluator"] == evaluator), _NOT_READ)
        label, status = self.study.index.design.meanings[cell["legend"]]
        return read_as({**cell, "label": label, "status": status, "modal": modal})

    def prompt(self, longest: int = LONGEST) -> list[dict[str, Any]]:
        """The prompt that was sent; none before it is answered."""
        number = self.number
        if self.db is None or not number:
            return []
        facts = facts_of(self.db, number)
        return messages_of(self.db, facts["prompt"], longest) if facts and facts["prompt"] else []


def seen_in(study: ViewedStudy, db: sqlite3.Connection | None, row: int, column: Column) -> Seen:
    """An answer, as far as the index has it."""
    return Seen(study, db, row, column, study.index.cells([row], [column.at]).rows(named=True))


_NOT_READ: dict[str, Any] = {"legend": 0, "confidence": None}
_READ = ("label", "status", "confidence")


def said(seen: Seen, view: GridView) -> dict[str, Any]:
    """What the model answered, how that was read, and what people said of it."""
    study, index, db, evaluator = seen.study, seen.study.index, seen.db, view.scope.evaluator
    modal, gold = (view.scope.numbers[name][seen.at] for name in ("modal", "gold"))
    known = seen.reading(evaluator, modal)
    right = None if gold is None or not known["legend"] else known["label"] == gold
    readings = []
    for position, name in enumerate(index.design.evaluators):
        own = seen.reading(position)
        readings.append({"evaluator": name} | {one: own[one] for one in _READ})
    bare: dict[str, Any] = {"reason": None, "truncated": False, "looping": False}
    bare |= {"mass_coverage": None, "spans": [], "spans_exact": True, "in": "text"}
    reading = {name: known[name] for name in _READ} | bare
    result: dict[str, Any] = {"response": None, "reading": reading, "readings": readings, "follow_ups": []}
    result |= {"probabilities": None, "tokens": None, "tokens_total": 0}
    result |= {"evaluator": index.design.evaluators[evaluator]}
    result |= {"modal": modal, "gold": gold}
    marks = study.book.by_item().get(index.ids[seen.at], ())
    result["marks"] = [mark_document(study, mark) for mark in marks]
    is_modal = modal is not None and known["label"] == modal
    result["is"] = {"flip": known["flip"], "right": right, "modal": is_modal}
    facts = facts_of(db, seen.number) if db is not None and seen.number else None
    if db is None or facts is None:
        return result
    result["response"] = _response(seen, db, facts) | {"length": seen.length}
    result["follow_ups"] = _follow_ups(seen, db)
    if seen.length <= _READ_AGAIN:
        result |= _read_again(seen, db, evaluator, reading, readings)
    return result


def _response(seen: Seen, db: sqlite3.Connection, facts: dict[str, Any]) -> dict[str, Any]:
    text = beginning(db, "responses", "text", facts["id"], LONGEST)
    thinking = beginning(db, "responses", "thinking", facts["id"], LONGEST)
    return {
        **{name: facts[name] for name in _SHOWN},
        "text": text.text,
        "shown": len(text.text),
        "rest": None if text.whole else "raw",
        "thinking": thinking.text or None,
        "thinking_length": len(thinking.text) if thinking.whole else thinking.size,
        "reused_from": facts["reused"],
        "response": facts["id"],
        "money": cost_of(facts, (seen.study.document("progress.json") or {}).get("prices", {})),
        "decoding": seen.study.index.design.decodings.get(seen.column.decoding, {}),
    }


def cost_of(facts: dict[str, Any], prices: dict[str, Any]) -> float | None:
    """US dollars for one answer, counted as the study's cost is.

    Returns:
        None where its tokens or the price are not known; 0 where it was taken from another study.
    """
    if facts["reused"] is not None:
        return 0.0
    known = prices.get(facts["model"])
    if known is None or facts["prompt_tokens"] is None:
        return None
    price = Price(**{**known, "batch": Price(**known["batch"]) if known["batch"] else None})
    of = price.in_batch if facts["batch"] else price
    return of.of(facts["prompt_tokens"], facts["cached_tokens"] or 0, facts["written"] or 0)


def _follow_ups(seen: Seen, db: sqlite3.Connection) -> list[dict[str, Any]]:
    """The further calls about the same answer."""
    result = []
    for name, number in follow_ups_of(db, seen.number).items():
        part = beginning(db, "responses", "text", number, LONGEST)
        facts = facts_of(db, number)
        sent = messages_of(db, facts["prompt"], LONGEST) if facts else []
        result.append({"name": name, "text": part.text, "response": number, "prompt": sent})
    return result


def _read_again(
    seen: Seen,
    db: sqlite3.Connection,
    evaluator: int,
    reading: dict[str, Any],
    readings: list[dict[str, Any]],
) -> dict[str, Any]:
    """Why an answer has its labels: reasons, probabilities, tokens, and the characters that were read."""
    design, response = seen.study.index.design, whole_response(db, seen.number)
    variant = design.variants_by_id.get(seen.column.prompt)
    if response is None or variant is None:
        return {}
    further = follow_ups_of(db, seen.number)
    result: dict[str, Any] = {"tokens_total": len(response.tokens), "reading": reading}
    result["tokens"] = [
        {"text": token.text, "logprob": token.logprob, "top": [list(top) for top in token.top]}
        for token in response.tokens[:_MOST_TOKENS]
    ] or None
    for index, name in enumerate(design.evaluators):
        made, follow_up = evaluator_of(seen.study, name), design.of.get(name, "")
        own = whole_response(db, further.get(follow_up, 0)) if follow_up else response
        if made is None or own is None:
            continue
        said = read(own, made, design.labels, variant, response if follow_up else None)
        readings[index]["reason"] = said.reason
        if index != evaluator:
            continue
        names = ("reason", "truncated", "looping", "mass_coverage")
        reading |= {one: getattr(said, one) for one in names}
        reading["in"] = f"follow_up:{follow_up}" if follow_up else "text"
        if said.probabilities:
            result["probabilities"] = [
                {"label": code, "p": said.probabilities.get(code, 0.0)} for code in design.codes
            ]
        if said.status in ("valid", "ambiguous"):
            reading |= _spans(own, made, design.labels, variant)
    return result


def _spans(response: Response, evaluator: Evaluator, labels: Any, variant: Any) -> dict[str, Any]:
    """The characters that were read; of log-probabilities those of the first token."""
    reads = getattr(evaluator, "reads", "text")
    if reads == "pair":
        return {}
    if reads == "tokens":
        first = next((token.text for token in response.tokens if token.text.strip()), "")
        start = response.text.find(first.strip()) if first.strip() else -1
        spans = Spans(((start, start + len(first.strip())),) if start >= 0 else ())
    else:
        spans = spans_of(response, evaluator.reader(labels, variant), labels, variant)
    return {
        "spans": [_span(response.text, *position) for position in spans.places],
        "spans_exact": spans.exact,
    }


def _span(text: str, start: int, end: int) -> dict[str, Any]:
    units = [len(text[:index].encode("utf-16-le", "surrogatepass")) // 2 for index in (start, end)]
    return {"from": start, "to": end, "from16": units[0], "to16": units[1], "why": "what the label rests on"}


def evaluator_of(study: ViewedStudy, name: str) -> Evaluator | None:
    """An evaluator of the study; None where its plug-in is not installed."""
    return _made(name, json.dumps(study.index.design.readers, sort_keys=True))


@lru_cache(32)
def _made(name: str, readers: str) -> Evaluator | None:
    specs = [EvaluatorSpec.model_validate(reader) for reader in json.loads(readers)]
    spec = next((evaluator for evaluator in specs if evaluator.title == name), EvaluatorSpec(use=name))
    try:
        plugin = registry.load("evaluators", spec.use)
        made: Evaluator = plugin(**bind(plugin, spec.options, Positions(None, {}), (), ("use", "name", "of")))
    except QuaverError:
        return None
    return made


def sent(seen: Seen, against: int | None) -> dict[str, Any]:
    """The prompt as it was sent, and another one to compare it with."""
    study, prompt = seen.study, seen.prompt()
    index = _to_compare(study, seen.column) if against is None else against
    if seen.db is None or index is None or not 0 <= index < study.index.width:
        return {"prompt": prompt, "against": None}
    column = study.index.design.columns[index]
    theirs = seen_in(study, seen.db, seen.at, column).prompt()
    return {"prompt": prompt, "against": {"column": column_document(column), "prompt": theirs}}


def _to_compare(study: ViewedStudy, column: Column) -> int | None:
    """The column that a prompt is compared with: of the original one, or of the next one if it is that."""
    prompts = study.index.design.prompts
    if len(prompts) < 2:
        return None
    wanted = prompts[1] if column.prompt == prompts[0] else prompts[0]
    alike = [one for one in study.index.design.columns if one.prompt == wanted]

    def apart(one: Column) -> tuple[bool, bool, bool]:
        return one.model != column.model, one.decoding != column.decoding, one.repeat != column.repeat

    return min(alike, key=apart).at if alike else None
