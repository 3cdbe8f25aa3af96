"""Copies of a store for bundles: whole, or without the items' texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Container
from contextlib import closing
from pathlib import Path
from typing import Any

from quaver.collect.store.read_only import open_to_read
from quaver.collect.store.response_tables import CHECKED, add_checksums
from quaver.errors import StoreError

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
