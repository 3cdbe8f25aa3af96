"""What of a damaged store SQLite can still read becomes a new store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from quaver.collect.store.checksum import add_checksums
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import SUMMED
from quaver.collect.store.tallies import REFILL

_TABLES = {
    "prompts": "checksum = checksum_of_prompt(messages)",
    "terms": "true",
    "sources": "true",
    "traffic": "true",
    "batches": "true",
    "batch_requests": "true",
    "batch_calls": "true",
    "meta": "name NOT IN ('study', 'annotations')",
    "responses": f"checksum = checksum({SUMMED})",
}
"""The tables that are not made anew anyway, and which of their rows are whole."""
_STEP = 10_000
"""So many rows are read at a time."""


class Salvage(NamedTuple):
    """What was saved of a damaged store.

    Attributes:
        responses: How many responses.
        lost: How many are not among them; ids have no gaps.
        batches: How many batches.
    """

    responses: int
    lost: int
    batches: int


def salvaged(path: Path, target: Path) -> Salvage:
    """Make a new store of the rows of a damaged one whose pages and checksums are whole."""
    with closing(sqlite3.connect(path)) as db, closing(Store(target)) as store:
        add_checksums(db)
        db.execute("PRAGMA writable_schema = ON")  # SQLite then reads a file that was cut off
        last = _last(db)
        with store.translated(), store.transaction():
            for table, whole in _TABLES.items():
                rows = _readable(db, f"SELECT * FROM {table} WHERE rowid BETWEEN ? AND ? AND {whole}", last)
                store.insert_many(f"INSERT OR REPLACE INTO {table} VALUES {{rows}}", rows)
            for statement in REFILL.split(";\n"):
                store.db.execute(statement)
        saved = store.value("SELECT count(*) FROM responses")
        highest = max(
            _number(db, "SELECT max(response) FROM calls"),
            store.value("SELECT ifnull(max(id), 0) FROM responses"),
        )
        return Salvage(saved, highest - saved, store.value("SELECT count(*) FROM batches"))


def _number(db: sqlite3.Connection, sql: str) -> int:
    """A query's number; 0 where there is none, or it cannot be read."""
    try:
        return int(db.execute(sql).fetchone()[0] or 0)
    except (sqlite3.Error, ValueError, TypeError):
        return 0


def _last(db: sqlite3.Connection) -> int:
    """An id beyond which no table has a row: where the ends of all are damaged, by the pages' number."""
    ends = [_number(db, f"SELECT max(rowid) FROM {table}") for table in (*_TABLES, "calls")]
    return max(ends) * 2 or 100 * _number(db, "PRAGMA page_count")


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


def lacking_prompts(store: Store) -> set[bytes]:
    """The keys of responses whose prompt is missing."""
    sql = "SELECT key FROM responses WHERE prompt IS NULL OR prompt NOT IN (SELECT id FROM prompts)"
    return {key for (key,) in store.rows(sql)}


def put_prompts(store: Store, prompts: Iterable[tuple[bytes, str]]) -> int:
    """Write missing prompts, given by the keys of their responses; returns their number."""
    with store.translated(), store.transaction():
        found = list(prompts)
        numbers = store.prompt_ids([messages for _, messages in found])
        pairs = ((number, key) for number, (key, _) in zip(numbers, found, strict=True))
        store.db.executemany("UPDATE responses SET prompt = ? WHERE key = ?", pairs)
    return len(found)


def leave_prompts_empty(store: Store) -> int:
    """Give responses with an unknown prompt an empty one; returns their number."""
    return put_prompts(store, ((key, "[]") for key in lacking_prompts(store)))


def is_whole(path: Path) -> bool:
    """Whether SQLite finds a store intact and every checksum holds."""
    try:
        with closing(sqlite3.connect(path)) as db:
            add_checksums(db)
            if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                return False
            sums = f"SELECT 1 FROM responses WHERE checksum != checksum({SUMMED}) LIMIT 1"
            prompts = "SELECT 1 FROM prompts WHERE checksum != checksum_of_prompt(messages) LIMIT 1"
            return db.execute(sums).fetchone() is None and db.execute(prompts).fetchone() is None
    except (sqlite3.Error, UnicodeError):
        return False
