"""Recovery of a damaged store: what can still be read becomes a new store."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quaver.collect.store.checksum import add_checksums, checksum, checksum_of_prompt
from quaver.collect.store.read_only import journal
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import BATCH_COLUMNS, SUMMED
from quaver.collect.store.tallies import REFILL

Row = tuple[int, list[Any]]
"""A row's id and values; a column that is the id itself is None among the values."""

_LEAF = 0x0D
_HEAD = 100
"""Bytes of the first page before its header."""

_USUAL = 4096
"""Bytes of a page if the file's header is damaged."""

_JOURNAL_HEAD, _FRAME_HEAD = 32, 24
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def rows_in(path: Path, journal: Path) -> Iterator[Row | None]:
    """Every row in a database, page by page; None for a damaged one."""
    file = _File(path.read_bytes(), journal.read_bytes() if journal.exists() else b"")
    for number in range(1, file.pages + 1):
        yield from file.rows(number)


class _File:
    """A database's pages."""

    def __init__(self, content: bytes, journal: bytes) -> None:
        size = int.from_bytes(content[16:18], "big")
        size = 65536 if size == 1 else size
        self._size = size if 512 <= size <= 65536 and size & (size - 1) == 0 else _USUAL
        self._room = self._size - (content[20] if len(content) > 20 and content[20] < 64 else 0)
        self._content, self._newer = content, _committed(journal, self._size)
        self.pages = max([-(-len(content) // self._size), *self._newer])

    def page(self, number: int) -> bytes:
        """A page by number, from 1; shorter or empty at the end of the file."""
        start = (number - 1) * self._size
        return self._newer.get(number, self._content[start : start + self._size])

    def rows(self, number: int) -> Iterator[Row | None]:
        """The rows of a page; none if it holds something else."""
        page, start = self.page(number), _HEAD if number == 1 else 0
        if len(page) < start + 8 or page[start] != _LEAF:
            return
        count = int.from_bytes(page[start + 3 : start + 5], "big")
        if start + 8 + 2 * count > len(page):
            yield None
            return
        for cell in struct.unpack_from(f">{count}H", page, start + 8):
            try:
                yield self._row(page, cell)
            except (ValueError, IndexError, struct.error):
                yield None

    def _row(self, page: bytes, index: int) -> Row:
        length, index = _varint(page, index)
        number, index = _varint(page, index)
        number -= (number >> 63) << 64
        local = self._local(length)
        if index + local > len(page):
            raise ValueError("longer than its page")
        payload = page[index : index + local]
        if local < length:
            payload += self._overflow(
                int.from_bytes(page[index + local : index + local + 4], "big"), length - local
            )
        return number, _values(payload)

    def _local(self, length: int) -> int:
        """How many of a row's bytes are in its own page."""
        most, least = self._room - 35, (self._room - 12) * 32 // 255 - 23
        if length <= most:
            return length
        some = least + (length - least) % (self._room - 4)
        return some if some <= most else least

    def _overflow(self, number: int, length: int) -> bytes:
        parts: list[bytes] = []
        while length > 0:
            page = self.page(number)
            if not 0 < number <= self.pages or len(page) < self._room:
                raise ValueError("continues on a missing page")
            part = page[4 : min(4 + length, self._room)]
            parts.append(part)
            length -= len(part)
            number = int.from_bytes(page[:4], "big")
        return b"".join(parts)


def _committed(journal: bytes, size: int) -> dict[int, bytes]:
    """The newest committed content of each page in a write-ahead log."""
    result: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    salts, whole = journal[16:24], _FRAME_HEAD + size
    for start in range(_JOURNAL_HEAD, len(journal) - whole + 1, whole):
        number, pages = struct.unpack_from(">II", journal, start)
        if journal[start + 8 : start + 16] != salts or not number:
            break
        pending[number] = journal[start + _FRAME_HEAD : start + whole]
        if pages:  # ends a transaction
            result |= pending
            pending = {}
    return result


def _varint(content: bytes, index: int) -> tuple[int, int]:
    """A varint of one to nine bytes, and where it ends."""
    value = 0
    for _ in range(8):
        byte = content[index]
        index += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, index
    return value << 8 | content[index], index + 1


def _values(payload: bytes) -> list[Any]:
    """The values of a row."""
    end, index = _varint(payload, 0)
    if end > len(payload):
        raise ValueError("its header is longer than the row")
    values, start = [], end
    while index < end:
        kind, index = _varint(payload, index)
        value, start = _value(payload, kind, start)
        values.append(value)
    if start != len(payload):
        raise ValueError("its values are not as long as the row")
    return values


def _value(payload: bytes, kind: int, index: int) -> tuple[Any, int]:
    """A value of a type, and where it ends."""
    if kind in (0, 8, 9):
        return (None if kind == 0 else kind - 8), index
    length = _INTEGERS.get(kind, 8 if kind == 7 else (kind - 12) // 2)
    if kind in (10, 11) or index + length > len(payload):
        raise ValueError("not a type of SQLite")
    content = payload[index : index + length]
    value: Any = content
    if kind in _INTEGERS:
        value = int.from_bytes(content, "big", signed=True)
    elif kind == 7:
        value = struct.unpack(">d", content)[0]
    elif kind % 2:
        value = content.decode()
    return value, index + length


_RESPONSE = (
    *("id", "key", "prompt", "source", "seed", "text", "finish", "error", "thinking", "tokens"),
    *("prompt_tokens", "cached_tokens", "completion_tokens", "latency", "received", "raw"),
    *("thinking_tokens", "served_model", "fingerprint", "terms", "checksum"),
)
"""The columns in the order of a row's values."""

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
            case [None, bytes(), _, _, _, str(), "stop" | "length" | "content_filter" | "error", *_] if len(
                values
            ) == len(_RESPONSE):
                self._add_response(number, values)
            case [None, str(messages), int(kept)] if checksum_of_prompt(messages) == kept:
                self.prompts[number] = messages
            case [None, str(asked)] if asked.startswith("[{"):
                self._other("terms", number, asked)
            case [None, str(), str(), str(provenance), _, _] if provenance[:1] == "{":
                self._other("sources", number, *values[1:])
            case [None, int(), int(), int(), _]:  # a call, and so a response
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
        whole = [number, *values[1:]]
        self.highest = max(self.highest, number)
        if whole[-1] != checksum(*(whole[index] for index in _SUMMED)):
            self.unread += 1
            return
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


def put_back(store: Store, tables: Iterable[tuple[str, Iterable[Sequence[Any]]]]) -> None:
    """Write rows of a damaged store unchanged."""
    with store.translated(), store.transaction():
        for table, rows in tables:
            store.insert_many(f"INSERT OR REPLACE INTO {table} VALUES {{rows}}", rows)
        for statement in REFILL.split(";\n"):
            store.db.execute(statement)


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


def salvaged(path: Path, target: Path) -> Salvage:
    """Make a new store of what can be read of a damaged one."""
    salvage = Salvage()
    for row in rows_in(path, journal(path)):
        salvage.add(row)
    with closing(Store(target)) as store:
        put_back(store, _tables(salvage))
    return salvage


def _tables(salvage: Salvage) -> Iterator[tuple[str, Iterable[Sequence[Any]]]]:
    """The rows by table; prompts come first, since the tallies of responses need them."""
    keys = {row[1]: row for row in salvage.responses.values()}  # one response per key
    yield "prompts", ((n, messages, checksum_of_prompt(messages)) for n, messages in salvage.prompts.items())
    yield from ((table, rows.values()) for table, rows in salvage.others.items())
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
