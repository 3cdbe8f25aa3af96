"""Rows read directly from the pages of an SQLite file, even if pages that lead to them are damaged.

SQLite descends from a table's first page and stops at a damaged one. This reader looks at every page on its
own: a page says that it holds rows, and each row gives its length and types
(https://www.sqlite.org/fileformat2.html). Which table a row belongs to follows from its values.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
    """Every row in a database, page by page; None for a damaged one.

    Args:
        path: The database.
        journal: Its write-ahead log, which may be missing; its pages replace those of the database.
    """
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

    def _row(self, page: bytes, at: int) -> Row:
        length, at = _varint(page, at)
        number, at = _varint(page, at)
        number -= (number >> 63) << 64
        local = self._local(length)
        if at + local > len(page):
            raise ValueError("longer than its page")
        payload = page[at : at + local]
        if local < length:
            payload += self._overflow(
                int.from_bytes(page[at + local : at + local + 4], "big"), length - local
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
    found: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    salts, whole = journal[16:24], _FRAME_HEAD + size
    for start in range(_JOURNAL_HEAD, len(journal) - whole + 1, whole):
        number, pages = struct.unpack_from(">II", journal, start)
        if journal[start + 8 : start + 16] != salts or not number:
            break
        pending[number] = journal[start + _FRAME_HEAD : start + whole]
        if pages:  # ends a transaction
            found |= pending
            pending = {}
    return found


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A varint of one to nine bytes, and where it ends."""
    value = 0
    for _ in range(8):
        byte = content[at]
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | content[at], at + 1


def _values(payload: bytes) -> list[Any]:
    """The values of a row."""
    end, at = _varint(payload, 0)
    if end > len(payload):
        raise ValueError("its header is longer than the row")
    values, start = [], end
    while at < end:
        kind, at = _varint(payload, at)
        value, start = _value(payload, kind, start)
        values.append(value)
    if start != len(payload):
        raise ValueError("its values are not as long as the row")
    return values


def _value(payload: bytes, kind: int, at: int) -> tuple[Any, int]:
    """A value of a type, and where it ends."""
    if kind in (0, 8, 9):
        return (None if kind == 0 else kind - 8), at
    length = _INTEGERS.get(kind, 8 if kind == 7 else (kind - 12) // 2)
    if kind in (10, 11) or at + length > len(payload):
        raise ValueError("not a type of SQLite")
    content = payload[at : at + length]
    value: Any = content
    if kind in _INTEGERS:
        value = int.from_bytes(content, "big", signed=True)
    elif kind == 7:
        value = struct.unpack(">d", content)[0]
    elif kind % 2:
        value = content.decode()
    return value, at + length
