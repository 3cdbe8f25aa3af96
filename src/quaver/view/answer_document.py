"""One answer in full, with its item, what was sent and how it was read; and what people say of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from sqlite3 import Connection
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

_LONGEST_FIELD, _MOST_SIBLINGS, _MOST_TOKENS = 2_000, 2_000, 300
_READ_AGAIN = 2_000_000
"""Characters up to which an answer is read again, to say why it has its label."""

_SHOWN = (
    *("finish", "error", "received", "latency", "prompt_tokens", "cached_tokens", "completion_tokens"),
    *("thinking_tokens", "served_model", "seed", "key"),
)
_NO_CELL: dict[str, Any] = {"legend": 0, "confidence": None, "truncated": False, "looping": False}


def place_of(study: ViewedStudy, item: str, column: int) -> tuple[int, Column]:
    """The number of an item, and a column."""
    index = study.index
    if item not in index.places:
        raise UnknownName("item", item, [], where="item")
    if not 0 <= column < index.width:
        raise UnknownName("column", str(column), [], where="column")
    return index.places[item], index.design.columns[column]


@dataclass(frozen=True)
class Seen:
    """An answer in the grid, and where it is stored: nowhere, where there are only labels."""

    study: ViewedStudy
    db: Connection | None
    row: int
    column: Column

    @cached_property
    def cells(self) -> dict[int, dict[str, Any]]:
        """What the index knows of it, by evaluator."""
        found = self.study.index.cells(self.row).filter(column=self.column.at)
        return {cell["evaluator"]: cell for cell in found.iter_rows(named=True)}

    @property
    def number(self) -> int:
        """The number of the response; 0 where there is none."""
        return next((cell["response"] for cell in self.cells.values()), None) or 0

    def reading(self, evaluator: int, modal: str | None) -> dict[str, Any]:
        """How it was read, as far as the index knows."""
        cell = self.cells.get(evaluator, _NO_CELL)
        label, status = self.study.index.design.meanings[cell["legend"]]
        marks = {name: cell[name] for name in ("truncated", "looping")}
        return read_as({**cell, "label": label, "status": status, "modal": modal}) | marks

    @property
    def prompt(self) -> list[dict[str, Any]]:
        """The prompt that was sent; none before it is answered."""
        facts = facts_of(self.db, self.number) if self.db is not None else None
        return messages_of(self.db, facts["prompt"]) if self.db is not None and facts else []


def answer(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """One answer in full."""
    row, column = place_of(study, given.item, given.column)
    view = study.view(given.asked)
    with stored(study.index) as db:
        seen = Seen(study, db, row, column)
        against = _against(study, column) if given.against is None else given.against
        other = None
        if db is not None and against is not None and against < study.index.width:
            beside = study.index.design.columns[against]
            theirs = Seen(study, db, row, beside).prompt
            other = {"column": column_document(beside), "prompt": theirs}
        return {
            "item": _item(study, view, row),
            "column": column_document(column),
            "neighbours": _neighbours(study, view, row, column.at),
            "siblings": siblings(study, view.scope, row, _MOST_SIBLINGS),
            "prompt": seen.prompt,
            "against": other,
            **_said(seen, view),
        }


def _item(study: ViewedStudy, view: GridView, row: int) -> dict[str, Any]:
    """An item in full."""
    text, fields = study.index.item_texts([row])[row], study.index.item_fields(row)
    return item_line(view, row) | {
        "id": study.index.ids[row],
        "text": text[:LONGEST],
        "fields": {name: str(value)[:_LONGEST_FIELD] for name, value in fields.items()},
    }


def _neighbours(study: ViewedStudy, view: GridView, row: int, column: int) -> dict[str, Any] | None:
    """The items above and below in the view, and the columns beside."""
    place = view.place_of(row)
    if place is None:
        return None
    near = {"up": place - 1, "down": place + 1}
    items = {
        way: study.index.ids[int(view.rows[at])] if 0 <= at < len(view.rows) else None
        for way, at in near.items()
    }
    right = column + 1 if column + 1 < study.index.width else None
    return items | {"left": column - 1 if column else None, "right": right}


def _against(study: ViewedStudy, column: Column) -> int | None:
    """The column that a prompt is compared with: of the original one, or of the next one if it is that."""
    prompts = study.index.design.prompts
    if len(prompts) < 2:
        return None
    wanted = prompts[1] if column.prompt == prompts[0] else prompts[0]

    def apart(one: Column) -> tuple[bool, bool, bool]:
        return one.model != column.model, one.decoding != column.decoding, one.repeat != column.repeat

    return min((one for one in study.index.design.columns if one.prompt == wanted), key=apart).at


def _said(seen: Seen, view: GridView) -> dict[str, Any]:
    """What the model answered, how that was read, and what people said of it."""
    study, scope = seen.study, view.scope
    names = study.index.design.evaluators
    modal, gold = (scope.numbers[name][seen.row] for name in ("modal", "gold"))
    readings = [{"evaluator": name} | seen.reading(at, modal) for at, name in enumerate(names)]
    reading = readings[scope.evaluator]
    right = None if gold is None or not reading["legend"] else reading["label"] == gold
    marks = study.book.by_item().get(study.index.ids[seen.row], ())
    result: dict[str, Any] = {
        "reading": reading,
        "readings": readings,
        "evaluator": names[scope.evaluator],
        "modal": modal,
        "gold": gold,
        "is": {"flip": reading["flip"], "right": right},
        "marks": [mark_document(study, mark) for mark in marks],
        "response": None,
    }
    facts = facts_of(seen.db, seen.number) if seen.db is not None else None
    if seen.db is not None and facts is not None:
        result["response"] = _response(seen, seen.db, facts)
        result["follow_ups"] = _follow_ups(seen.db, seen.number)
        if result["response"]["length"] <= _READ_AGAIN:
            result |= _read_again(seen, seen.db, readings, reading)
    return result


def _response(seen: Seen, db: Connection, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The response as it is stored, its texts cut where they are long."""
    text, thinking = (beginning(db, "responses", name, facts["id"]) for name in ("text", "thinking"))
    prices = (seen.study.document("progress.json") or {}).get("prices", {})
    return {name: facts[name] for name in _SHOWN} | {
        "text": text.text,
        "length": next(iter(seen.cells.values()))["length"] or 0,
        "rest": not text.whole,
        "thinking": thinking.text or None,
        "thinking_length": len(thinking.text) if thinking.whole else thinking.size,
        "reused_from": facts["reused"],
        "money": cost_of(facts, prices),
        "decoding": seen.study.index.design.decodings.get(seen.column.decoding, {}),
    }


def cost_of(facts: Mapping[str, Any], prices: Mapping[str, Any]) -> float | None:
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


def _follow_ups(db: Connection, number: int) -> list[dict[str, Any]]:
    """The further calls about the same answer."""
    result = []
    for name, further in follow_ups_of(db, number).items():
        facts = facts_of(db, further)
        prompt = messages_of(db, facts["prompt"]) if facts else []
        text = beginning(db, "responses", "text", further).text
        result.append({"name": name, "text": text, "prompt": prompt})
    return result


def _read_again(
    seen: Seen, db: Connection, readings: list[dict[str, Any]], reading: dict[str, Any]
) -> dict[str, Any]:
    """Why an answer has its labels: reasons, probabilities, tokens, and the characters that were read."""
    design, response = seen.study.index.design, whole_response(db, seen.number)
    variant = design.variants_by_id.get(seen.column.prompt)
    if response is None or variant is None:
        return {}
    further = follow_ups_of(db, seen.number)
    tokens = [
        {"text": token.text, "logprob": token.logprob, "top": [list(top) for top in token.top]}
        for token in response.tokens[:_MOST_TOKENS]
    ]
    result: dict[str, Any] = {"tokens": tokens, "tokens_total": len(response.tokens)}
    for known in readings:
        made, follow_up = evaluator_of(seen.study, known["evaluator"]), design.of.get(known["evaluator"], "")
        own = whole_response(db, further.get(follow_up, 0)) if follow_up else response
        if made is None or own is None:
            continue
        said = read(own, made, design.labels, variant, response if follow_up else None)
        known["reason"] = said.reason
        if known is not reading:
            continue
        reading["mass_coverage"] = said.mass_coverage
        if said.probabilities:
            shares = {code: said.probabilities.get(code, 0.0) for code in design.codes}
            result["probabilities"] = [{"label": code, "p": share} for code, share in shares.items()]
        if said.status in ("valid", "ambiguous") and not follow_up:
            reading |= _spans(own, made, design.labels, variant)
    return result


def _spans(response: Response, evaluator: Evaluator, labels: Any, variant: Any) -> dict[str, Any]:
    """The characters that were read, as JavaScript counts them; of log-probabilities the first token's."""
    reads, exact = getattr(evaluator, "reads", "text"), True
    if reads == "pair":
        return {}
    if reads == "tokens":
        first = next((token.text.strip() for token in response.tokens if token.text.strip()), "")
        start = response.text.find(first) if first else -1
        places = [(start, start + len(first))] if start >= 0 else []
    else:
        places, exact = spans_of(response, evaluator.reader(labels, variant), labels, variant)

    def units(place: int) -> int:
        return len(response.text[:place].encode("utf-16-le", "surrogatepass")) // 2

    spans = [{"from16": units(start), "to16": units(end)} for start, end in places]
    return {"spans": spans, "spans_exact": exact}


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


# --------------------------------------------------------------------------- marks


def mark_document(study: ViewedStudy, mark: Mark) -> dict[str, Any]:
    """A mark as the page gets it."""
    column = next((one.at for one in study.index.design.columns if mark.place == one.place), None)
    return {**asdict(mark), "column": column}


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
        mark |= dict(zip(("model", "prompt", "decoding", "repeat"), column.place, strict=True))
    return mark_document(study, study.book.add(mark, who))


def remove_mark(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """Take a mark back."""
    if study.book.remove(given.name) is None:
        raise UnknownName("mark", given.name, [], where="mark")
    return {}
