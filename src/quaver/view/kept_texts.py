"""The texts of an index in one SQLite file: read one at a time, searched without any of them in memory."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from quaver.errors import StoreError

FILE = "texts.db"
_TABLES = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS ids (n INTEGER PRIMARY KEY, text BLOB UNIQUE);
    CREATE TABLE IF NOT EXISTS fields (n INTEGER PRIMARY KEY, text BLOB);
    CREATE TABLE IF NOT EXISTS shown (n INTEGER PRIMARY KEY, text BLOB);
    CREATE TABLE IF NOT EXISTS texts (n INTEGER PRIMARY KEY, text BLOB);
    CREATE TABLE IF NOT EXISTS answers (n INTEGER PRIMARY KEY, text BLOB);
    CREATE TABLE IF NOT EXISTS thinking (n INTEGER PRIMARY KEY, text BLOB);
"""
"""``ids``, and what is shown of the items: ``fields`` and ``shown``. The others are there to be searched."""

_AT_ONCE = 20_000
"""So many texts are searched before what was found is shown."""


def folded(text: str) -> str:
    """A text as it is searched: without the difference between capital and small letters."""
    return text.lower() if text.isascii() else text.casefold()


def _bytes(text: str) -> bytes:
    """A text as it is kept, halves of surrogate pairs and zeros included."""
    return text.encode("utf-8", "surrogatepass")


class TextWriter:
    """Adds texts to the tables of an index.

    Args:
        folder: The index.
    """

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / FILE, check_same_thread=False)
        self._db.executescript(_TABLES)

    def last(self, table: str) -> int:
        """The last number in a table; 0 where there is none."""
        return int(self._db.execute(f"SELECT ifnull(max(n), 0) FROM {table}").fetchone()[0])

    def add(self, table: str, texts: Iterable[str], first: int = 0) -> None:
        """Add some texts, numbered from the first on."""
        self._db.executemany(f"INSERT INTO {table} VALUES (?, ?)", enumerate(map(_bytes, texts), first))

    def commit(self) -> None:
        """Have other processes see what was added."""
        self._db.commit()

    def close(self) -> None:
        """Commit, and close the file."""
        self._db.commit()
        self._db.close()


class KeptTexts:
    """One table of an index's texts.

    Args:
        folder: The index.
        table: Its name.
    """

    def __init__(self, folder: Path, table: str) -> None:
        self.path, self._table = folder / FILE, table
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def __del__(self) -> None:
        if self._db is not None:
            self._db.close()

    def __len__(self) -> int:
        return int(self._rows("SELECT count(*) FROM {}")[0][0])

    def __getitem__(self, n: int) -> str:
        return str(self._rows("SELECT text FROM {} WHERE n = ?", n)[0][0].decode("utf-8", "surrogatepass"))

    def begin(self, n: int, length: int) -> str:
        """The first characters of a text."""
        some = self._rows("SELECT substr(text, 1, ?) FROM {} WHERE n = ?", 4 * length, n)[0][0]
        return str(some.decode("utf-8", "ignore")[:length])

    def find(self, text: str) -> int | None:
        """The number of a text; None where there is no such text."""
        found = self._rows("SELECT n FROM {} WHERE text = ?", _bytes(text))
        return int(found[0][0]) if found else None

    def in_order(self) -> Any:
        """The numbers of all texts in the order of the alphabet."""
        return np.array(self._rows("SELECT n FROM {} ORDER BY text"), np.int64).ravel()

    def places_in(self, other: KeptTexts) -> Any:
        """For each of these texts its number among others; -1 where it is not there."""
        result = np.full(len(self), -1, np.int64)
        sql = f"SELECT a.n, b.n FROM main.{self._table} a JOIN other.{other._table} b USING (text)"
        try:
            with closing(_opened(self.path)) as db:
                db.execute("ATTACH ? AS other", (_address(other.path),))
                pairs = np.array(db.execute(sql).fetchall(), np.int64).reshape(-1, 2)
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, error) from error
        result[pairs[:, 0]] = pairs[:, 1]
        return result

    def search(self, wanted: str) -> TextSearch:
        """A search for a part of texts, not yet begun."""
        return TextSearch(self.path, self._table, _bytes(wanted))

    def _rows(self, sql: str, *given: Any) -> list[Any]:
        with self._lock:
            if self._db is None:
                self._db = _opened(self.path)
            try:
                return self._db.execute(sql.format(self._table), given).fetchall()
            except sqlite3.DatabaseError as error:
                raise _damaged(self.path, error) from error


@dataclass
class TextSearch:
    """A search that goes on in the background, so that nobody has to wait for its end.

    Attributes:
        found: Which texts hold what is sought, by number, as far as they have been read.
        complete: Whether all has been read.
    """

    path: Path
    table: str
    wanted: bytes
    found: Any = field(default_factory=lambda: np.zeros(1, bool))
    complete: bool = False
    _thread: threading.Thread | None = None

    def wait(self, seconds: float) -> TextSearch:
        """Search for some time, or go on with a search that has begun."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        self._thread.join(seconds)
        return self

    def _run(self) -> None:
        sql = f"SELECT n FROM {self.table} WHERE n BETWEEN ? AND ? AND instr(text, ?)"
        try:
            with closing(_opened(self.path)) as db:
                (last,) = db.execute(f"SELECT ifnull(max(n), 0) FROM {self.table}").fetchone()
                self.found = np.zeros(last + 1, bool)
                for first in range(0, last + 1, _AT_ONCE):
                    some = db.execute(sql, (first, first + _AT_ONCE - 1, self.wanted)).fetchall()
                    self.found[[n for (n,) in some]] = True
        except sqlite3.DatabaseError:  # what was found so far is shown
            return
        finally:
            self.complete = True


def _opened(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(_address(path), uri=True, check_same_thread=False)
    except sqlite3.DatabaseError as error:
        raise _damaged(path, error) from error


def _address(path: Path) -> str:
    return f"{path.resolve().as_uri()}?mode=ro"


def _damaged(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    fix = "delete this folder; it is made again"
    return StoreError("the viewer's index cannot be read", where=str(path.parent), found=str(error), fix=fix)
