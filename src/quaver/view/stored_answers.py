"""Stored answers read without ever holding more of a huge one than is shown."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from quaver.collect.store.read_only import open_to_read
from quaver.collect.store.response_tables import COLUMNS, response_of
from quaver.core.calls import Response
from quaver.view.snapshot import Design, Snapshot

LONGEST = 200_000
"""Characters of a text that a document holds at the most."""
_BYTES_A_CHARACTER = 4
_FACTS = """
    SELECT r.id, r.prompt, r.seed, r.finish, r.error, r.prompt_tokens, r.cached_tokens, r.completion_tokens,
           r.thinking_tokens, r.latency, r.received, r.served_model, lower(hex(r.key)) AS key,
           s.reused AS reused_from, t.asked
    FROM responses r LEFT JOIN sources s ON s.id = r.source LEFT JOIN terms t ON t.id = r.terms
    WHERE r.id = ?"""
_FURTHER = """
    WITH RECURSIVE further (depth, follow_up, response) AS (VALUES (0, '', ?) UNION ALL
        SELECT depth + 1, c.follow_up, a.response FROM further f JOIN conditions c ON c.parent IS NOT NULL
        JOIN calls a ON a.condition = c.position AND a.parent = f.response)
    SELECT follow_up, response FROM further WHERE depth ORDER BY depth, follow_up"""
_HOLDING = """
    SELECT a.condition, a.item, a.repeat FROM calls a JOIN responses r ON r.id = a.response
    WHERE holds(CAST(r.text AS BLOB))"""


@contextmanager
def stored(design: Design) -> Iterator[sqlite3.Connection | None]:
    """The store of a study, only read; None where there is none."""
    path = Path(design.store) if design.store else None
    if path is None or not path.exists():
        yield None
        return
    with closing(open_to_read(path, check_same_thread=False)) as db:
        db.row_factory = sqlite3.Row
        yield db


def facts_of(db: sqlite3.Connection, number: int) -> dict[str, Any] | None:
    """What is stored beside a response's texts."""
    row = db.execute(_FACTS, (number,)).fetchone()
    return None if row is None else dict(row)


def follow_ups_of(db: sqlite3.Connection, number: int) -> dict[str, int]:
    """The numbers of the responses to further calls about an answer, by the names of these."""
    return {str(row[0]): int(row[1]) for row in db.execute(_FURTHER, (number,))}


def beginning(db: sqlite3.Connection, table: str, column: str, number: int, longest: int = LONGEST) -> str:
    """The first characters of a text; empty where there is none."""
    kind = db.execute(f"SELECT typeof({column}) FROM {table} WHERE id = ?", (number,)).fetchone()
    if kind is None or kind[0] == "null":
        return ""
    with db.blobopen(table, column, number, readonly=True) as blob:
        some = blob.read(min(len(blob), _BYTES_A_CHARACTER * longest))
        return some.decode("utf-8", "ignore" if len(some) < len(blob) else "replace")[:longest]


def excerpts(snapshot: Snapshot, places: Sequence[tuple[int, int]], longest: int) -> list[str | None]:
    """The beginnings of the answers at some rows and columns; None where there is none."""
    with stored(snapshot.design) as db:
        if db is None:
            return [None] * len(places)
        known = responses_to(db, snapshot.design, {row for row, _ in places})
        numbers = list(map(known.get, places))
        return [None if some is None else text_of_parts(db, some, longest) for some in numbers]


def text_of_parts(db: sqlite3.Connection, numbers: Sequence[int], longest: int = LONGEST) -> str:
    """The beginning of an answer; of answers about a text's parts, of each with its number."""
    texts = [beginning(db, "responses", "text", number, longest) for number in numbers]
    if len(texts) == 1:
        return texts[0]
    return "\n".join(f"#{part} {text}" for part, text in enumerate(texts, start=1))[:longest]


def messages_of(db: sqlite3.Connection, number: int) -> list[dict[str, Any]]:
    """The messages of a prompt as they were sent, long ones cut."""
    text = beginning(db, "prompts", "messages", number, 20 * LONGEST)
    try:
        messages = json.loads(text) if text else []
    except ValueError:  # it is longer than this
        messages = [("user", text)]
    return [
        {"role": role, "content": text[:LONGEST], "length": len(text), "cut": len(text) > LONGEST}
        for role, text in messages
    ]


def whole_response(db: sqlite3.Connection, number: int) -> Response | None:
    """A response as evaluators read it."""
    row = db.execute(f"SELECT {COLUMNS} FROM responses WHERE id = ?", (number,)).fetchone()
    return None if row is None else response_of(tuple(row))


def responses_to(
    db: sqlite3.Connection, design: Design, rows: Iterable[int]
) -> dict[tuple[int, int], list[int]]:
    """The numbers of the responses to some items, by row and column; of a text in parts one for each."""
    sql = """SELECT condition, item, repeat, response FROM calls
        WHERE item IN (SELECT value FROM json_each(?)) AND response IS NOT NULL ORDER BY item"""
    asked = [at for row in rows for at in design.asked_about(row)]
    found = dict[tuple[int, int], list[int]]()
    for condition, item, repeat, response in db.execute(sql, (json.dumps(asked),)):
        for cell in design.cells(condition, item, repeat):
            found.setdefault(cell, []).append(response)
    return found


def answers_with(snapshot: Snapshot, holds: Callable[[str], bool]) -> pl.Series:
    """The answers of whose text something holds, numbered row by row."""
    cells = list[int]()
    with stored(snapshot.design) as db:
        if db is not None:
            # As bytes, since a damaged text is none that SQLite hands over.
            db.create_function("holds", 1, lambda text: holds((text or b"").decode("utf-8", "replace")))
            found = (cell for call in db.execute(_HOLDING) for cell in snapshot.design.cells(*call))
            cells = [row * snapshot.width + column for row, column in found]
    return pl.Series([*dict.fromkeys(cells)], dtype=pl.Int64)
