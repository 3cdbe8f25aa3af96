"""Checks of a store from elsewhere before it is trusted: its tables and the types of its cells.

A database can carry more than rows: triggers run on writes, and views compute anything on reads. Foreign ones
are dropped and Quaver's own are created.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import SCHEMA, VERSION
from quaver.core.records import Condition
from quaver.errors import StoreError

_MAY_HOLD = {
    "INTEGER": ("integer",),
    "REAL": ("real", "integer"),
    "TEXT": ("text",),
    "BLOB": ("blob",),
}
_FINISHES = ("stop", "length", "content_filter", "error")
_WITHOUT_TERMS = """SELECT 1 FROM responses r LEFT JOIN terms t ON t.id = r.terms
    WHERE r.terms IS NOT NULL AND (t.id IS NULL OR t.asked <> '' AND NOT json_valid(t.asked)) LIMIT 1"""


def make_sound(path: Path) -> None:
    """Reduce a database to its tables and Quaver's own views and triggers."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA trusted_schema = OFF")
            version = int(db.execute("PRAGMA user_version").fetchone()[0])
            for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
                if kind == "table" and (name not in _tables() or "VIRTUAL" in str(sql).upper().split()[:2]):
                    raise _strange(path, f"the table {name!r}")
                if kind in ("view", "trigger") and name.isidentifier():
                    db.execute(f'DROP {kind} "{name}"')
                elif kind in ("view", "trigger"):
                    raise _strange(path, f"a {kind} with an odd name")
            if version == VERSION:
                for statement in SCHEMA.split(";\n"):
                    db.execute(statement)
    except sqlite3.Error as error:
        raise _strange(path, str(error)) from error


def check_cells(store: Store, path: Path) -> None:
    """Check the type of every cell."""
    for table, columns in _tables().items():
        known = {str(row[1]) for row in store.rows(f'PRAGMA table_xinfo("{table}")') if row[6] == 0}
        for name, (kind, is_needed) in columns.items():
            if name not in known:
                raise _strange(path, f"no column {table}.{name}")
            kinds = [*_MAY_HOLD[kind], *([] if is_needed else ["null"])]
            marks = ", ".join("?" * len(kinds))
            wrong = f'SELECT typeof("{name}") FROM "{table}" WHERE typeof("{name}") NOT IN ({marks}) LIMIT 1'
            if wrong_rows := store.rows(wrong, kinds):
                raise _strange(path, f"{table}.{name} that is {wrong_rows[0][0]}")
    marks = ", ".join("?" * len(_FINISHES))
    if wrong_rows := store.rows(
        f"SELECT finish FROM responses WHERE finish NOT IN ({marks}) LIMIT 1", _FINISHES
    ):
        raise _strange(path, f"a response that ended with {str(wrong_rows[0][0])[:40]!r}")


def check_places(store: Store, path: Path, conditions: Sequence[Condition], items: Sequence[str]) -> None:
    """Check that a store's calls are those of a study."""
    columns = "position, model, variant, decoding, repeats, follow_up, parent"
    placed = store.rows(f"SELECT {columns} FROM conditions ORDER BY position")
    asked = [
        (position, c.model, c.variant, c.decoding, c.repeats, c.follow_up, c.parent)
        for position, c in enumerate(conditions)
    ]
    if [(*row[:5], row[5] or "", row[6]) for row in placed] != asked:
        raise _strange(path, "conditions that differ from the study's")
    if store.rows("SELECT position, id FROM items ORDER BY position") != list(enumerate(items)):
        raise _strange(path, "items that differ from the study's")
    sizes = (("condition", "a condition", len(asked)), ("item", "an item", len(items)))
    for column, what, size in sizes:
        outside = f'SELECT 1 FROM calls WHERE "{column}" NOT BETWEEN 0 AND ? OR "{column}" IS NULL LIMIT 1'
        if store.rows(outside, [size - 1]):
            raise _strange(path, f"a call of {what} that does not exist")
    if store.rows("SELECT 1 FROM calls WHERE repeat NOT BETWEEN 0 AND 2147483646 OR repeat IS NULL LIMIT 1"):
        raise _strange(path, "a call of a repeat that does not exist")
    if store.rows(_WITHOUT_TERMS):
        raise _strange(path, "a response under terms that are not there")


@cache
def _tables() -> Mapping[str, Mapping[str, tuple[str, bool]]]:
    """By table and column: the declared type, and whether it is NOT NULL."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: {row[1]: (row[2], bool(row[3])) for row in db.execute(f'PRAGMA table_info("{name}")')}
            for name in names
        }


def _strange(path: Path, found: str) -> StoreError:
    return StoreError(
        "these responses are not in the format in which Quaver stores them",
        where=path.name,
        expected="a bundle's own responses.db",
        found=found[:200],
        fix="download the bundle again",
    )
