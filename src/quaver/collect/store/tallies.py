"""Running totals of the stored responses, kept by the database itself.

Every ``quaver status`` needs them, and summing a million responses takes seconds. The table ``tallies``
therefore has the totals, with a row for each source, served model and fingerprint. New responses are added
group by group (``count_new``), which takes a fifth of the time that a trigger would; triggers see to the
others.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator
from functools import lru_cache

from quaver.core.meter import TOKENS_A_CHARACTER

_SPEECHLESS = (
    "(trim(r.text, char(9, 10, 13, 32)) = '' OR r.text LIKE '<think>%' AND r.text NOT LIKE '%</think>%')"
)
_UNCOUNTED = "r.prompt_tokens IS NULL AND r.completion_tokens IS NULL AND r.finish != 'error'"

WRITTEN = """coalesce(r.completion_tokens, CASE WHEN json_valid(r.raw) THEN
    json_extract(r.raw, '$.completion_tokens_of_request') * 1.0
    / coalesce(json_extract(r.raw, '$.answers_of_request'), 1) END)"""
"""The completion tokens of a response: its share, if the server counts all answers of a request together."""

SUMS = {
    "calls": "1",
    "errors": "r.finish = 'error'",
    "prompt_tokens": "r.prompt_tokens",
    "cached_tokens": "r.cached_tokens",
    "completion_tokens": WRITTEN,
    "thinking_tokens": "r.thinking_tokens",
    "estimated_prompt": f"CASE WHEN {_UNCOUNTED} THEN {TOKENS_A_CHARACTER} * "
    "(SELECT length(messages) FROM prompts WHERE id = r.prompt) END",
    "estimated_completion": f"CASE WHEN {_UNCOUNTED} THEN {TOKENS_A_CHARACTER} * "
    "(length(r.text) + ifnull(length(r.thinking), 0)) END",
    "speechless": f"r.finish = 'length' AND {_SPEECHLESS}",
    "empty": f"r.finish = 'stop' AND {_SPEECHLESS}",
}
"""The columns of ``tallies``, and what each response ``r`` adds to them."""

KEY = ("source", "served_model", "fingerprint")


def _trigger(name: str, when: str, parts: Iterator[str]) -> str:
    """A trigger, on one line, since the tables' script is split where a line ends in ``;``."""
    body = " ".join(" ".join(part.split()) + ";" for part in parts)
    return f"CREATE TRIGGER IF NOT EXISTS {name} AFTER {when} ON responses BEGIN {body} END;"


def _adds(row: str) -> Iterator[str]:
    here = " AND ".join(f"{name} IS {row}.{name}" for name in KEY)
    names, values = ", ".join(KEY), ", ".join(f"{row}.{name}" for name in KEY)
    yield f"""INSERT INTO tallies ({names}, first, last) SELECT {values}, {row}.received, {row}.received
        WHERE NOT EXISTS (SELECT 1 FROM tallies WHERE {here})"""
    sums = ", ".join(f"{name} = {name} + ifnull({_of(row, sql)}, 0)" for name, sql in SUMS.items())
    yield f"""UPDATE tallies SET {sums}, first = min(first, {row}.received), last = max(last, {row}.received)
        WHERE {here}"""


def _takes_away(row: str) -> Iterator[str]:
    here = " AND ".join(f"{name} IS {row}.{name}" for name in KEY)
    sums = ", ".join(f"{name} = {name} - ifnull({_of(row, sql)}, 0)" for name, sql in SUMS.items())
    yield f"UPDATE tallies SET {sums} WHERE {here}"
    yield f"DELETE FROM tallies WHERE calls = 0 AND {here}"


def _of(row: str, sql: str) -> str:
    return sql.replace("r.", f"{row}.")


def _changes() -> Iterator[str]:
    yield from _takes_away("OLD")
    yield from _adds("NEW")


TALLIES = f"""
CREATE TABLE IF NOT EXISTS tallies (
    {", ".join(f"{name} {'INTEGER' if name == 'source' else 'TEXT'}" for name in KEY)},
    {", ".join(f"{name} REAL NOT NULL DEFAULT 0" for name in SUMS)}, first REAL, last REAL);
CREATE INDEX IF NOT EXISTS tally ON tallies ({", ".join(KEY)});
{_trigger("response_replaced", "UPDATE OF finish", _changes())}
{_trigger("response_removed", "DELETE", _takes_away("OLD"))}
"""
"""The table and its triggers. A response changes when an answer replaces an error, and only
copies delete any."""


def count_new(db: sqlite3.Connection, after: int, columns: Collection[str]) -> None:
    """Add new responses to the totals."""
    here = " AND ".join(f"{name} IS ?" for name in KEY)
    more = ", ".join(f"{name} = {name} + ?" for name in SUMS)
    update = f"UPDATE tallies SET {more}, first = min(first, ?), last = max(last, ?) WHERE {here}"
    all_of_them = (*KEY, *SUMS, "first", "last")
    insert = f"INSERT INTO tallies ({', '.join(all_of_them)}) VALUES ({', '.join('?' * len(all_of_them))})"
    for row in db.execute(_totals_of(frozenset(columns)), (after,)).fetchall():
        key, sums = row[: len(KEY)], row[len(KEY) :]
        if not db.execute(update, (*sums, *key)).rowcount:
            db.execute(insert, row)


_BY_KEY = ", ".join(f"r.{name}" for name in KEY)
_TOTALS = f"""SELECT {_BY_KEY}, {", ".join(f"total({sql})" for sql in SUMS.values())},
        min(r.received), max(r.received) FROM responses r"""


@lru_cache(maxsize=64)
def _totals_of(columns: frozenset[str]) -> str:
    """The query for the totals of new responses that have values in some columns only."""
    by_key = ", ".join(f"r.{name}" for name in KEY if name in columns)
    sql = f"{_TOTALS} WHERE r.id > ? GROUP BY {by_key}"
    return re.sub(r"\br\.(\w+)", lambda match: match[0] if match[1] in columns | {"id"} else "NULL", sql)


REFILL = f"""
DELETE FROM tallies;
INSERT INTO tallies ({", ".join(KEY)}, {", ".join(SUMS)}, first, last)
    {_TOTALS} GROUP BY {_BY_KEY};
"""
"""Recomputes the totals from all responses."""
