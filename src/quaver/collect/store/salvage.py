"""What of a damaged store SQLite can still read becomes a new store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from quaver.collect.store.checksum import add_checksums
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import SUMMED

_WHOLE_RESPONSE = f"checksum = checksum({SUMMED})"
_WHOLE_PROMPT = "checksum = checksum_of_prompt(messages)"
_TABLES = {
    "prompts": _WHOLE_PROMPT,
    **dict.fromkeys(("terms", "sources", "traffic", "batches", "batch_requests", "batch_calls"), "true"),
    "meta": "name NOT IN ('study', 'annotations')",
    "responses": _WHOLE_RESPONSE,
}
"""The tables that are not made anew anyway, and which of their rows are whole."""
_STEP = 10_000
"""So many rows are read at a time."""
_LOST_PROMPT = "prompt IS NULL OR prompt NOT IN (SELECT id FROM prompts)"


class Salvage(NamedTuple):
    """What was saved of a damaged store.

    Attributes:
        responses: How many responses.
        lost: How many are not among them; ids have no gaps.
        batches: How many batches.
        without_prompt: How many of the responses have lost their prompt.
    """

    responses: int
    lost: int
    batches: int
    without_prompt: int


def salvaged(path: Path, target: Path) -> Salvage:
    """Make a new store of the rows of a damaged one whose pages and checksums are whole."""
    with closing(sqlite3.connect(path)) as db, closing(Store(target)) as store:
        add_checksums(db)
        db.execute("PRAGMA writable_schema = ON")  # SQLite then reads a file that was cut off
        ends = [_number(db, f"SELECT max(rowid) FROM {table}") for table in (*_TABLES, "calls")]
        last = max(ends) * 2 or 100 * _number(db, "PRAGMA page_count")  # where the ends are damaged, too
        with store.translated(), store.transaction():
            for table, whole in _TABLES.items():
                rows = _readable(db, f"SELECT * FROM {table} WHERE rowid BETWEEN ? AND ? AND {whole}", last)
                store.insert_many(f"INSERT OR REPLACE INTO {table} VALUES {{rows}}", rows)
            bare = store.db.execute(f"SELECT count(*) FROM responses WHERE {_LOST_PROMPT}").fetchone()[0]
            if bare:
                empty = store.prompt_ids(["[]"])
                store.db.execute(f"UPDATE responses SET prompt = ? WHERE {_LOST_PROMPT}", empty)
        saved = _number(store.db, "SELECT count(*) FROM responses")
        highest = max(
            _number(db, "SELECT max(response) FROM calls"), _number(store.db, "SELECT max(id) FROM responses")
        )
        return Salvage(saved, highest - saved, _number(store.db, "SELECT count(*) FROM batches"), bare)


def _number(db: sqlite3.Connection, sql: str) -> int:
    """A query's number; 0 where there is none, or it cannot be read."""
    try:
        return int(db.execute(sql).fetchone()[0] or 0)
    except (sqlite3.Error, ValueError, TypeError):
        return 0


def _readable(db: sqlite3.Connection, sql: str, last: int) -> Iterator[tuple[Any, ...]]:
    """The rows of a query on a range of ids, without those on pages that SQLite cannot read."""
    parts = [(low, min(low + _STEP, last + 1)) for low in range(0, last + 1, _STEP)][::-1]
    while parts:
        low, end = parts.pop()
        try:
            yield from db.execute(sql, (low, end - 1)).fetchall()
        except sqlite3.Error:
            middle = (low + end) // 2
            parts += [(middle, end), (low, middle)] if end - low > 1 else []


def is_whole(path: Path) -> bool:
    """Whether SQLite finds a store intact and every checksum holds."""
    try:
        with closing(sqlite3.connect(path)) as db:
            add_checksums(db)
            if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                return False
            tables = {"responses": _WHOLE_RESPONSE, "prompts": _WHOLE_PROMPT}
            damaged = (f"SELECT 1 FROM {name} WHERE NOT {whole} LIMIT 1" for name, whole in tables.items())
            return all(db.execute(sql).fetchone() is None for sql in damaged)
    except (sqlite3.Error, UnicodeError):
        return False
