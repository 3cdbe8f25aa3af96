"""The prompt as it was sent for one answer, and what differs from another one."""

from __future__ import annotations

import sqlite3
from typing import Any

from quaver.view.answer_reading import LONGEST, facts_of, messages_of, number_of, stored
from quaver.view.grid_documents import column_document
from quaver.view.index_design import Column
from quaver.view.prompt_diff import diffed
from quaver.view.viewed_study import ViewedStudy


def sent(
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
    return messages_of(db, facts["prompt"], LONGEST) if facts and facts["prompt"] else []


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
