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
from pathlib import Path
from typing import Any


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
