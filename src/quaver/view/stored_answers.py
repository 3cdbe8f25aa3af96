"""Stored answers read without ever holding more of a huge one than is shown."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from quaver.collect.store.read_only import open_to_read
from quaver.collect.store.response_tables import COLUMNS, response_of
from quaver.core.records import Response
from quaver.view.study_index import Index

LONGEST = 200_000
"""Characters of a text that a document holds at the most."""
_BYTES_A_CHARACTER = 4
_AT_ONCE = 50_000
_FACTS = """
    SELECT r.id, r.prompt, r.seed, r.finish, r.error, r.prompt_tokens, r.cached_tokens, r.completion_tokens,
           r.thinking_tokens, r.latency, r.received, r.served_model, lower(hex(r.key)) AS key,
           s.reused AS reused_from, t.asked
    FROM responses r LEFT JOIN sources s ON s.id = r.source LEFT JOIN terms t ON t.id = r.terms
    WHERE r.id = ?"""
_FURTHER = """
    SELECT c.follow_up, a.response FROM conditions c JOIN calls a ON a.condition = c.position
    WHERE c.parent IS NOT NULL AND a.parent = ? ORDER BY c.follow_up"""


@contextmanager
def stored(index: Index) -> Iterator[sqlite3.Connection | None]:
    """The store of an index, only read; None where there is none."""
    path = Path(index.design.store) if index.design.store else None
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


def excerpts(index: Index, numbers: Sequence[int | None], longest: int) -> list[str | None]:
    """The beginnings of some answers; None where there is none."""
    with stored(index) as db:
        if db is None:
            return [None] * len(numbers)
        return [beginning(db, "responses", "text", one, longest) if one else None for one in numbers]


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


def holding(index: Index, holds: pl.Expr) -> pl.Series:
    """The numbers of the responses of whose ``text`` something holds."""
    found = [pl.Series(dtype=pl.UInt32)]
    with stored(index) as db:
        rows = (
            db.execute("SELECT id, CAST(ifnull(text, '') AS BLOB) FROM responses") if db is not None else None
        )
        while rows is not None and (some := rows.fetchmany(_AT_ONCE)):
            texts = [text.decode("utf-8", "replace") for _, text in some]
            numbers = pl.Series([row[0] for row in some], dtype=pl.UInt32)
            found.append(numbers.filter(pl.DataFrame({"text": texts}).select(holds).to_series()))
    return pl.concat(found)
