"""The SQLite file of a store: opening, reading, transactions."""

from __future__ import annotations

import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from quaver.collect.store.read_only import copied, live_uri, may_write, read_only_uri
from quaver.collect.store.response_tables import SCHEMA, VERSION, add_checksums
from quaver.collect.store.store_lock import REPAIR, is_full, what_to_do
from quaver.errors import StoreError

UNFIT: Final = (
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    ArithmeticError,
    AttributeError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Raised when a value does not fit into a row; the file itself is unharmed."""

_ROWS = (2500, 500, 50, 5, 1)
"""Rows per INSERT statement; few sizes, since SQLite keeps statements that it has read. Python's lock is free
while one is carried out, and has to be waited for after it."""


def other_version(path: Path, version: int) -> StoreError:
    """The error about a store that another version of Quaver wrote."""
    return StoreError(
        "another version of Quaver stored these responses",
        where=str(path),
        expected=f"format {VERSION}",
        found=f"format {version}",
        fix="use the version of Quaver that stored them",
    )


@cache
def _tables() -> frozenset[tuple[str, str, str | None]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        return frozenset(db.execute("SELECT type, name, sql FROM sqlite_master"))


def is_without_tables(db: sqlite3.Connection, path: Path, schema: str = "main") -> bool:
    """Whether a process was killed before it had created a store's tables."""
    version = int(db.execute(f"PRAGMA {schema}.user_version").fetchone()[0])
    if version == VERSION:
        # Check that tables, indexes, views and triggers are those that Quaver creates
        tables = frozenset(db.execute(f"SELECT type, name, sql FROM {schema}.sqlite_master"))
        other = sorted({str(name) for _, name, _ in tables ^ _tables()})
        if other:
            raise StoreError(
                "the tables of these responses are damaged",
                where=str(path),
                expected="the tables that Quaver creates",
                found="other definitions of " + ", ".join(other[:5]),
                fix=REPAIR,
            )
        return False
    if version or db.execute(f"SELECT 1 FROM {schema}.sqlite_master").fetchone():
        raise other_version(path, version)
    return True


class Database:
    """An SQLite file of responses.

    Args:
        path: The file; created if it is missing.
        only_read: Whether to leave the file as it is, even though it may be written. Another process may
            write it meanwhile.

    Attributes:
        read_only: Whether the file may not be written. Changes, if any, go to a copy.

    Raises:
        StoreError: It is not a store, a newer Quaver wrote it, or it cannot be read.
    """

    def __init__(self, path: Path, *, only_read: bool = False) -> None:
        self._path = path
        self._reading = threading.Lock()
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self.read_only = only_read or (path.is_file() and not may_write(path))
        with self.translated():
            self._uri = path.absolute().as_uri()
            if self.read_only:
                live = live_uri(path) if only_read else None
                self._uri = live or read_only_uri(path) or self._copied()
            self._open()

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def _open(self) -> None:
        self.db = self._connect()
        self.db.execute("PRAGMA busy_timeout = 10000")
        self._make_tables()
        self.db.execute("PRAGMA synchronous = FULL")
        self._look_up = self._connect(check_same_thread=False)

    def _connect(self, *, check_same_thread: bool = True) -> sqlite3.Connection:
        db = sqlite3.connect(self._uri, uri=True, isolation_level=None, check_same_thread=check_same_thread)
        add_checksums(db)
        return db

    def _copied(self) -> str:
        self._copy = copied(self._path)
        return (Path(self._copy.name) / self._path.name).as_uri()

    @property
    def on_copy(self) -> bool:
        """Whether this works on a copy of a read-only file."""
        return self._copy is not None

    def work_on_copy(self) -> None:
        """Switch to a copy of a read-only file; closing removes the copy."""
        with self.translated():
            if self._copy is None:
                self._look_up.close()
                self.db.close()
                self._uri = self._copied()
                self._open()

    def _make_tables(self) -> None:
        """Create the tables in a new file."""
        if not is_without_tables(self.db, self._path):
            return
        self.db.execute("PRAGMA journal_mode = WAL")
        with self.transaction():
            for statement in SCHEMA.split(";\n"):
                self.db.execute(statement)
            self.db.execute(f"PRAGMA user_version = {VERSION}")

    def close(self) -> None:
        """Close the file."""
        self._look_up.close()
        self.db.close()
        if self._copy is not None:
            self._copy.cleanup()

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The result of a query that changes nothing."""
        with self.translated():
            return self.db.execute(sql, parameters).fetchall()

    def value(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """The first value of a query's first row; None where it has no row."""
        with self.translated():
            row = self.db.execute(sql, parameters).fetchone()
        return row and row[0]

    def note(self, name: str, value: str) -> None:
        """Store a short text under a name, unless the store is read-only."""
        if self.read_only and not self.on_copy:
            return
        with self.translated():
            self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def noted(self, name: str) -> str | None:
        """The text that was stored under a name."""
        return self.value("SELECT value FROM meta WHERE name = ?", (name,))  # type: ignore[no-any-return]

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Read a consistent snapshot within the block, even while another process writes."""
        with self.translated():
            self.db.execute("BEGIN")
            try:
                yield
            finally:
                self.db.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A separate connection, usable from any thread, for results that are read row by row."""
        with self.translated(), closing(self._connect(check_same_thread=False)) as reader:
            yield reader

    def write_at_once(self, write: Callable[[], object]) -> None:
        """Write in one transaction; a value that does not fit is raised as it is."""
        try:
            with self.transaction():
                write()
        except UNFIT:
            raise
        except sqlite3.Error as error:
            raise self._error(error) from error

    def insert_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows in place of ``{rows}``, many per statement.

        Python's lock is released once per statement; one statement per row would make writing and asking
        spend most of their time waiting for each other.
        """
        unread = iter(rows)
        while part := list(islice(unread, _ROWS[0])):
            self._insert_flat(sql, list(chain.from_iterable(part)), len(part[0]))

    def insert_columns(self, sql: str, columns: Sequence[Sequence[Any]]) -> None:
        """Insert rows whose values are given column by column."""
        width = len(columns)
        flat: list[Any] = [None] * (width * len(columns[0]))
        for index, values in enumerate(columns):
            flat[index::width] = values
        self._insert_flat(sql, flat, width)

    def _insert_flat(self, sql: str, values: list[Any], width: int) -> None:
        """Insert rows whose values follow each other."""
        begin, marks = 0, f"({','.join('?' * width)})"
        most = self.db.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
        for rows in _ROWS:
            step = rows * width
            while step <= min(most, len(values) - begin):
                self.db.execute(sql.format(rows=",".join([marks] * rows)), values[begin : begin + step])
                begin += step

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write what the block writes, all or none."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.db.execute("COMMIT")
        except BaseException:
            if self.db.in_transaction:  # SQLite has rolled back by itself where the disk is full
                self.db.execute("ROLLBACK")
            raise

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn what SQLite raises within the block into a `StoreError`."""
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # of names or texts that are damaged
            raise self._error(error) from error

    def _error(self, error: Exception) -> StoreError:
        fix = "free some space and run again" if is_full(error, self._path.parent) else what_to_do(error)
        return StoreError(
            "responses.db cannot be read or written", where=str(self._path), found=str(error), fix=fix
        )
