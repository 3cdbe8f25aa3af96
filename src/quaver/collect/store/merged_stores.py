"""Answers of another store of the same study, taken in by key: how shards become one store.

What is there already is left alone, so a merge can be killed, repeated, and repeated with a store that was
collected anew. A key counts once; an answer replaces an error, as everywhere.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from quaver.collect.store.checksum import add_checksums
from quaver.collect.store.database import is_without_tables
from quaver.collect.store.read_only import copied, live_uri, open_to_read, read_only_uri
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import CHECKED, INSERT, STORED, SUMMED, facts_of
from quaver.collect.store.store_lock import REPAIR
from quaver.core.meter import Traffic
from quaver.errors import StoreError

_ROWS = 20_000
"""Responses that are copied together."""

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_NEW = """
INSERT INTO temp.part_new (id) SELECT r.id FROM part.responses r
    LEFT JOIN part.calls c ON c.response = r.id LEFT JOIN part.responses q ON q.id = c.parent
    LEFT JOIN main.responses known ON known.key = r.key
    LEFT JOIN main.responses quoted ON quoted.key = q.key
    WHERE (known.id IS NULL OR known.finish = 'error' AND r.finish != 'error')
      AND (quoted.id IS NULL OR quoted.finish = 'error' OR quoted.text = q.text)
    ORDER BY c.parent IS NOT NULL, c.condition, c.item, c.repeat, r.key
"""
"""The responses to take in, in the order of the study's calls; a follow-up only if the answer that it quotes
is the one that counts."""

_SOME = "(SELECT id, place FROM temp.part_new WHERE place > ? AND place <= ?)"
_PROMPTS = f"""
INSERT INTO temp.part_prompts SELECT r.prompt, NULL FROM {_SOME} f
    JOIN part.responses r ON r.id = f.id WHERE r.prompt IS NOT NULL GROUP BY 1 ORDER BY min(f.place)
"""
_NUMBERED = "UPDATE temp.part_prompts SET own = rowid + (SELECT ifnull(max(id), 0) FROM main.prompts)"
_COPIED = """
INSERT INTO main.prompts SELECT n.own, p.messages, p.checksum
    FROM temp.part_prompts n JOIN part.prompts p ON p.id = n.theirs
"""
_SUMMED = ", ".join(f"r.{name}" for name in SUMMED.split(", "))
_RESPONSES = INSERT.format(
    columns=STORED,
    rows=f"""SELECT r.key, n.own, s.own, t.id, r.checksum, {_SUMMED}
    FROM {_SOME} f JOIN part.responses r ON r.id = f.id
    LEFT JOIN temp.part_prompts n ON n.theirs = r.prompt
    LEFT JOIN temp.part_sources s ON s.theirs = r.source
    LEFT JOIN part.terms u ON u.id = r.terms LEFT JOIN main.terms t ON t.asked = u.asked
    WHERE true ORDER BY f.place""",
)
_UNPLACED = """
DELETE FROM main.meta WHERE name = 'study'
    AND EXISTS (SELECT 1 FROM temp.part_new n WHERE n.id NOT IN (SELECT response FROM part.calls))
"""
"""Answers whose calls the other store did not know find them by key, once the calls are placed again."""

_CALLS = f"""
INSERT OR REPLACE INTO main.calls (response, condition, item, repeat, parent)
    SELECT own.id, c.condition, c.item, c.repeat, (SELECT id FROM main.responses WHERE key = q.key)
    FROM {_SOME} f JOIN part.calls c ON c.response = f.id JOIN part.responses r ON r.id = f.id
    JOIN main.responses own ON own.key = r.key LEFT JOIN part.responses q ON q.id = c.parent
"""


def take_from(store: Store, name: str, path: Path) -> int:
    """Copy what another store of the same study has and this one lacks.

    Both must have the calls of the same design in place.

    Returns:
        How many responses were copied.
    """
    with store.translated(), _attached(store, path):
        if is_without_tables(store.db, path, "part"):
            return 0
        _map_sources(store)
        store.db.execute(_NEW)
        new = int(store.db.execute("SELECT count(*) FROM temp.part_new").fetchone()[0])
        for start in range(0, new, _ROWS):
            _take_rows(store, start, start + _ROWS)
        store.db.execute(_UNPLACED)
        _take_traffic(store, name)
    return new


@contextmanager
def _attached(store: Store, path: Path) -> Iterator[None]:
    """Attach another database, only to be read, as ``part``."""
    copy = None
    uri = live_uri(path) or read_only_uri(path)
    if uri is None:
        copy = copied(path)
        uri = (Path(copy.name) / path.name).as_uri()
    store.db.execute("ATTACH ? AS part", (uri,))
    try:
        store.db.execute("CREATE TEMP TABLE part_new (place INTEGER PRIMARY KEY, id INTEGER)")
        store.db.execute("CREATE TEMP TABLE part_prompts (theirs INTEGER UNIQUE, own INTEGER)")
        store.db.execute("CREATE TEMP TABLE part_sources (theirs INTEGER PRIMARY KEY, own INTEGER)")
        yield
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
            raise
        raise StoreError(
            "the answers of a part of this study cannot be read",
            where=str(path),
            found=str(error),
            fix=f"{REPAIR}; or run the part anew",
        ) from error
    finally:
        for table in ("part_new", "part_prompts", "part_sources"):
            store.db.execute(f"DROP TABLE IF EXISTS temp.{table}")
        store.db.execute("DETACH part")
        if copy is not None:
            copy.cleanup()


def _map_sources(store: Store) -> None:
    sql = "SELECT id, model, identity, provenance, reused FROM part.sources ORDER BY id"
    for number, model, identity, provenance, reused in store.db.execute(sql).fetchall():
        own = store.register(model, identity, facts_of(provenance), reused)
        store.db.execute("INSERT INTO temp.part_sources VALUES (?, ?)", (number, own))


def _take_rows(store: Store, *some: int) -> None:
    """Copy some of the new responses with all that belongs to them, all or none."""
    with store.transaction():
        store.db.execute("DELETE FROM temp.part_prompts")
        store.db.execute(_PROMPTS, some)
        store.db.execute(_NUMBERED)
        store.db.execute(_COPIED)
        store.db.execute("INSERT OR IGNORE INTO main.terms (asked) SELECT asked FROM part.terms")
        with store.counting():
            store.db.execute(_RESPONSES, some)
        store.db.execute(_CALLS, some)


def _take_traffic(store: Store, name: str) -> None:
    """Keep the traffic of another store that became no answer; never less than was seen of it before."""
    names = Traffic._fields
    sums = ", ".join(f"total(t.{one})" for one in names)
    most = ", ".join(f"{one} = max({one}, excluded.{one})" for one in names)
    with store.transaction():
        store.db.execute(
            f"""INSERT INTO main.traffic (source, part, {", ".join(names)})
            SELECT s.own, ?, {sums} FROM part.traffic t JOIN temp.part_sources s ON s.theirs = t.source
            WHERE true GROUP BY s.own ON CONFLICT (source, part) DO UPDATE SET {most}""",
            (name,),
        )


_LEFT_OUT = "[left out]"


def copy_store(source: Path, target: Path, *, only_placed: bool = False) -> None:
    """Copy a store, including what is still in its journal."""
    try:
        with closing(open_to_read(source)) as db:
            db.execute("VACUUM INTO ?", (str(target),))
        with closing(sqlite3.connect(target, isolation_level=None)) as db:
            # It says which annotation frame is current in the study's own folder.
            db.execute("DELETE FROM meta WHERE name = 'annotations'")
            _without_batches(db)
            if only_placed:
                _without_unplaced(db)
            db.execute("VACUUM")
    except sqlite3.Error as error:
        raise StoreError(
            "the stored responses cannot be copied", where=str(source), found=str(error)
        ) from error


def _without_batches(db: sqlite3.Connection) -> None:
    """A copy asks nothing, so it cannot collect what is out."""
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in names & {"batches", "batch_requests", "batch_calls"}:
        db.execute(f"DELETE FROM {table}")


def _without_unplaced(db: sqlite3.Connection) -> dict[str, list[str]]:
    """Leave out responses that belong to no call, and their prompts; the columns of each table."""
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {table: [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')] for table in tables}
    users = [table for table in tables if "response" in columns[table]]
    used = " UNION ".join(f'SELECT response FROM "{table}"' for table in users)
    db.execute(f"DELETE FROM responses WHERE id NOT IN ({used})")
    db.execute("DELETE FROM prompts WHERE id NOT IN (SELECT prompt FROM responses)")
    return columns


def copy_store_without(source: Path, target: Path, texts: Container[str]) -> list[dict[str, Any]]:
    """Copy a store without the items' texts: no prompts, no raw replies, no answers that contain a text.

    Responses that belong to no call of the current study are left out, since their items are unknown.

    Returns:
        The calls whose answers were withheld, by ``model``, ``variant``, ``decoding``, ``item``, ``repeat``.
    """
    copy_store(source, target)
    try:
        with closing(sqlite3.connect(target, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = DELETE")
            withheld = _strip(db, texts)
            db.execute("VACUUM")
    except sqlite3.Error as error:
        raise StoreError(
            "the stored responses cannot be copied", where=str(source), found=str(error)
        ) from error
    return withheld


def _strip(db: sqlite3.Connection, texts: Container[str]) -> list[dict[str, Any]]:
    holds = lambda text: int(isinstance(text, str) and text in texts)  # noqa: E731 - SQLite calls it
    db.create_function("holds", 1, holds, deterministic=True)
    columns = _without_unplaced(db)
    db.execute("UPDATE prompts SET messages = ''")
    db.execute("UPDATE responses SET raw = NULL")
    rows = db.execute(
        """SELECT c.model, c.variant, c.decoding, i.id AS item, a.repeat, r.id AS response
        FROM calls a JOIN responses r ON r.id = a.response JOIN conditions c ON c.position = a.condition
        JOIN items i ON i.position = a.item
        WHERE holds(r.text) OR holds(r.thinking) OR holds(r.error) ORDER BY a.condition, a.item, a.repeat"""
    ).fetchall()
    for row in rows:
        db.execute(
            "UPDATE responses SET text = '', tokens = NULL, thinking = NULL, error = NULL WHERE id = ?",
            row[-1:],
        )
    for table, names in columns.items():
        for column in names:
            db.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE holds("{column}")', (_LEFT_OUT,))
    add_checksums(db)
    db.executescript(CHECKED)
    places = (tuple(row)[:-1] for row in rows)  # a call and its follow-up are one place
    parts = ("model", "variant", "decoding", "item", "repeat")
    return [dict(zip(parts, place, strict=True)) for place in dict.fromkeys(places)]
