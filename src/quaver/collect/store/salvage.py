"""Recovery of a damaged store: what can still be read becomes a new store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quaver.collect.store.batch_tables import BATCH_COLUMNS
from quaver.collect.store.checksum import add_checksums, checksum, checksum_of_prompt
from quaver.collect.store.page_reader import Row, rows_in
from quaver.collect.store.read_only import journal
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import SUMMED
from quaver.collect.store.tallies import REFILL

_RESPONSE = (
    *("id", "key", "prompt", "source", "seed", "text", "finish", "error", "thinking", "tokens"),
    *("prompt_tokens", "cached_tokens", "completion_tokens", "latency", "received", "raw"),
    *("thinking_tokens", "served_model", "fingerprint", "terms", "checksum"),
)
"""The columns in the order of a row's values; older rows have fewer."""

_FEWEST = _RESPONSE.index("raw") + 1
_SUMMED = [_RESPONSE.index(name) for name in SUMMED.split(", ")]
_FINISH = _RESPONSE.index("finish")
_BATCH, _REQUEST = 1 + len(BATCH_COLUMNS.split(", ")), 7
"""Values of a row of ``batches``, and of ``batch_requests`` and ``batch_calls``."""
_FORGOTTEN = ("study", "annotations")
"""Notes about what is rebuilt anyway."""


@dataclass(slots=True)
class Salvage:
    """The rows that can still be read, by table.

    Attributes:
        responses: Column values by id.
        prompts: Messages by id.
        others: Rows of the small tables, by table and key.
        highest: The highest response id that any row mentions.
        unread: The number of damaged rows.
    """

    responses: dict[int, list[Any]] = field(default_factory=dict)
    prompts: dict[int, str] = field(default_factory=dict)
    others: dict[str, dict[Any, tuple[Any, ...]]] = field(default_factory=dict)
    highest: int = 0
    unread: int = 0

    @property
    def lost(self) -> int:
        """How many responses are lost; ids have no gaps."""
        return self.highest - len(self.responses)

    def add(self, row: Row | None) -> None:
        """Add a row to its table; rows of other tables are rebuilt anyway."""
        if row is None:
            self.unread += 1
            return
        number, values = row
        match values:
            case [None, bytes(), _, _, _, str(), "stop" | "length" | "content_filter" | "error", *_] if (
                len(values) >= _FEWEST
            ):
                self._add_response(number, values)
            case [None, str(messages)] | [None, str(messages), None] if _is_prompt(messages):
                self.prompts.setdefault(number, messages)
            case [None, str(messages), int(kept)] if checksum_of_prompt(messages) == kept:
                self.prompts[number] = messages
            case [None, str(asked)] if asked.startswith("[{"):
                self._other("terms", number, asked)
            case [None, str(), str(), str(provenance), _, *_] if len(values) <= 6 and provenance[:1] == "{":
                self._other("sources", number, *values[1:], *[None] * (6 - len(values)))
            case [None, int(), int(), int(), *_] if len(values) in (4, 5):  # a call, and so a response
                self.highest = max(self.highest, number)
            case [None, *counts] if len(values) == 9 and all(isinstance(n, int | float) for n in counts):
                self._other("traffic", number, *counts)
            case [None, str(), str(), _, str(), str(), *_] if len(values) == _BATCH:
                self._batch(number, values)
            case [int(number_of), str(name), int(), *_, outcome] if len(values) == _REQUEST:
                known = self.others.setdefault("batch_requests", {})
                if outcome is not None or (number_of, name) not in known:
                    known[number_of, name] = tuple(values)
            case [int(number_of), str(name), bytes(key), *_] if len(values) == _REQUEST:
                self.others.setdefault("batch_calls", {})[number_of, name, key] = tuple(values)
            case [str(name), str() | int() as value] if name not in _FORGOTTEN:
                self._other("meta", name, value)

    def _add_response(self, number: int, values: Sequence[Any]) -> None:
        whole = [number, *values[1:], *[None] * (len(_RESPONSE) - len(values))]
        self.highest = max(self.highest, number)
        summed = checksum(*(whole[at] for at in _SUMMED))
        if whole[-1] not in (None, summed):
            self.unread += 1
            return
        whole[-1] = summed
        known = self.responses.get(number)
        if known is None or known[_FINISH] == "error":  # an unused page may still hold the error
            self.responses[number] = whole

    def _batch(self, number: int, values: Sequence[Any]) -> None:
        """Add a batch; of several states of one, an unused page may hold the earlier."""
        known = self.others.setdefault("batches", {})
        if number not in known or _reached(values) >= _reached(known[number]):
            known[number] = (number, *values[1:])

    def _other(self, table: str, key: Any, *values: Any) -> None:
        self.others.setdefault(table, {})[key] = (key, *values)


def _reached(values: Sequence[Any]) -> tuple[bool, ...]:
    """How far a batch had come."""
    steps = ("closed", "remote", "sent", "upload")
    return tuple(values[1 + BATCH_COLUMNS.split(", ").index(step)] is not None for step in steps)


def _is_prompt(messages: str) -> bool:
    return messages in ("", "[]") or messages.startswith('[["')


class Rebuilt(Store):
    """A store made of the rows of a damaged one."""

    def put_back(self, tables: Iterable[tuple[str, Iterable[Sequence[Any]]]]) -> None:
        """Write rows of a damaged store unchanged.

        Args:
            tables: Rows by table, with values in the order of its columns.
        """
        with self._translated(), self._transaction():
            for table, rows in tables:
                self._insert_many(f"INSERT OR REPLACE INTO {table} VALUES {{rows}}", rows)
            for statement in REFILL.split(";\n"):
                self._db.execute(statement)

    def lacking_prompts(self) -> set[bytes]:
        """The keys of responses whose prompt is missing."""
        sql = "SELECT key FROM responses WHERE prompt IS NULL OR prompt NOT IN (SELECT id FROM prompts)"
        return {key for (key,) in self.rows(sql)}

    def put_prompts(self, prompts: Iterable[tuple[bytes, str]]) -> int:
        """Write missing prompts, given by the keys of their responses; returns their number."""
        with self._translated(), self._transaction():
            found = list(prompts)
            numbers = self._prompt_ids([messages for _, messages in found])
            pairs = ((number, key) for number, (key, _) in zip(numbers, found, strict=True))
            self._db.executemany("UPDATE responses SET prompt = ? WHERE key = ?", pairs)
        return len(found)

    def leave_prompts_empty(self) -> int:
        """Give responses with an unknown prompt an empty one; returns their number."""
        return self.put_prompts((key, "[]") for key in self.lacking_prompts())


def salvaged(path: Path, target: Path) -> Salvage:
    """Make a new store of what can be read of a damaged one.

    Args:
        path: The damaged store.
        target: The new store, which must not exist. The study's calls have to be placed in it afterwards.

    Raises:
        StoreError: The new store cannot be written.
    """
    found = Salvage()
    for row in rows_in(path, journal(path)):
        found.add(row)
    with closing(Rebuilt(target)) as store:
        store.put_back(_tables(found))
    return found


def _tables(found: Salvage) -> Iterator[tuple[str, Iterable[Sequence[Any]]]]:
    """The rows by table; prompts come first, since the tallies of responses need them."""
    keys = {row[1]: row for row in found.responses.values()}  # one response per key
    yield "prompts", ((n, messages, checksum_of_prompt(messages)) for n, messages in found.prompts.items())
    yield from ((table, rows.values()) for table, rows in found.others.items())
    yield "responses", sorted(keys.values())


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
