"""Opening a store for reading, even in a read-only folder.

SQLite creates a file beside the database to coordinate readers and writers, and cannot read without it. In a
read-only folder the database is therefore opened as immutable; if its journal still holds answers, a copy is
read instead.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Container
from contextlib import closing
from pathlib import Path
from typing import Any

from quaver.collect.store.response_tables import CHECKED, add_checksums
from quaver.errors import StoreError


def may_write(path: Path) -> bool:
    """Whether a store may be written, or created if it is missing."""
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


def journal(path: Path) -> Path:
    """The write-ahead log of a database."""
    return path.with_name(path.name + "-wal")


def copied(path: Path) -> tempfile.TemporaryDirectory[str]:
    """A copy of a database and its journal, in a folder that is removed with the object."""
    folder = tempfile.TemporaryDirectory(prefix="quaver-")
    for file in (path, journal(path)):
        if file.exists():
            shutil.copyfile(file, Path(folder.name) / file.name)
    return folder


def read_only_uri(path: Path) -> str | None:
    """The URI that opens a database as immutable; None if its journal holds more."""
    beside = journal(path)
    if beside.exists() and beside.stat().st_size:
        return None
    return f"{path.resolve().as_uri()}?immutable=1"


def live_uri(path: Path) -> str | None:
    """The URI that reads a database while others write it; None if SQLite cannot without a change."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    if (db := _without_changing(uri)) is None:
        return None
    db.close()
    return uri


class _Reader(sqlite3.Connection):
    """A connection that keeps its copy alive."""

    copy: tempfile.TemporaryDirectory[str] | None = None


def open_to_read(path: Path, **how: Any) -> sqlite3.Connection:
    """A read-only connection to another study's store."""
    if (live := live_uri(path)) is not None:
        result: sqlite3.Connection = sqlite3.connect(live, uri=True, **how)
        return result
    if uri := read_only_uri(path):
        return _Reader(uri, uri=True, **how)
    copy = copied(path)
    reader = _Reader(Path(copy.name) / path.name, **how)
    reader.copy = copy
    return reader


def _without_changing(uri: str, **how: Any) -> sqlite3.Connection | None:
    """A connection that can read; None if SQLite would have to create a file."""
    db: sqlite3.Connection | None = None
    try:
        db = sqlite3.connect(uri, uri=True, **how)
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        if db is not None:
            db.close()
        return None
    return db


_LEFT_OUT = "[left out]"


def copy_store(source: Path, target: Path) -> None:
    """Copy a store, including what is still in its journal."""
    try:
        with closing(open_to_read(source)) as db:
            db.execute("VACUUM INTO ?", (str(target),))
        with closing(sqlite3.connect(target, isolation_level=None)) as db:
            # It says which annotation frame is current in the study's own folder.
            db.execute("DELETE FROM meta WHERE name = 'annotations'")
            # A copy asks nothing, so it cannot collect what is out.
            names = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for table in names & {"batches", "batch_requests", "batch_calls"}:
                db.execute(f"DELETE FROM {table}")
            db.execute("VACUUM")
    except sqlite3.Error as error:
        raise StoreError(
            "the stored responses cannot be copied", where=str(source), found=str(error)
        ) from error


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
