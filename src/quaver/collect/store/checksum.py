"""A checksum for each row, since SQLite does not notice a flipped byte inside a value."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from pydantic_core import to_json

from quaver.core.records import Response

_LATENCY = Response._fields.index("latency")
_FLOATS = (float, type(None))
_COUNTS = [index for index, name in enumerate(Response._fields) if name.endswith("_tokens")]
_UNCOUNTED = (None,) * len(_COUNTS)
_counts = itemgetter(*_COUNTS)


def checksum(*values: Any) -> int:
    """CRC-32 of the values of ``SUMMED``, the same before they are stored and after they are read.

    SQLite may return an integer as a float or the reverse, and NaN as NULL.

    >>> checksum(1, 2.0, "yes", None) == checksum(1.0, 2, "yes", float("nan"))
    True
    >>> checksum(1, 2.0, "yes", None) == checksum(1, 2.0, "yes.", None)
    False
    """
    plain = [float(value) if isinstance(value, int) else value for value in values]
    return zlib.crc32(to_json(plain, inf_nan_mode="null", bytes_mode="hex"))


def checksum_of_new(seed: int, received: float, row: Sequence[Any]) -> int:
    """The same of a new response; faster where it has no count of tokens.

    >>> row = ("yes", "stop", *[None] * 6, 0.25, *[None] * 4)
    >>> checksum_of_new(7, 0.5, row) == checksum(7, 0.5, *row)
    True
    """
    if _counts(row) != _UNCOUNTED or type(row[_LATENCY]) not in _FLOATS:
        return checksum(seed, received, *row)
    return zlib.crc32(to_json((float(seed), received, *row), inf_nan_mode="null"))


def checksum_of_prompt(messages: str) -> int:
    """CRC-32 of a prompt."""
    return zlib.crc32(messages.encode())


def add_checksums(db: sqlite3.Connection) -> None:
    """Make the checksum functions available in a connection's SQL."""
    db.create_function("checksum", -1, checksum, deterministic=True)
    db.create_function("checksum_of_prompt", 1, checksum_of_prompt, deterministic=True)


def damaged(rows: Sequence[tuple[Any, ...]], kept: int, values: slice) -> list[tuple[Any, ...]]:
    """The rows that have changed since they were stored."""
    crc32 = zlib.crc32
    try:
        return [row for row in rows if row[kept] != crc32(to_json(row[values], inf_nan_mode="null"))]
    except ValueError:  # bytes where a text was stored
        return [row for row in rows if row[kept] != checksum(*row[values])]
