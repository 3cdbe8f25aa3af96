"""A checksum a row: SQLite takes a byte that was flipped inside a value for the value."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from typing import Any

from pydantic_core import to_json

__all__ = ["add_checksums", "checksum", "checksum_of_prompt", "is_damaged"]


def checksum(*values: Any) -> int:
    """CRC-32 of the values of ``tables.SUMMED``: the same before they are stored and when they are read.

    SQLite gives a whole number back as a float or the other way round, by the column, and NaN as NULL.

    >>> checksum(1, 2.0, "yes", None) == checksum(1.0, 2, "yes", float("nan"))
    True
    >>> checksum(1, 2.0, "yes", None) == checksum(1, 2.0, "yes.", None)
    False
    """
    plain = [float(one) if isinstance(one, int) else one for one in values]
    return zlib.crc32(to_json(plain, inf_nan_mode="null"))


def checksum_of_prompt(messages: str) -> int:
    """CRC-32 of a prompt."""
    return zlib.crc32(messages.encode())


def add_checksums(db: sqlite3.Connection) -> None:
    """Let a connection's statements make checksums."""
    db.create_function("checksum", -1, checksum, deterministic=True)
    db.create_function("checksum_of_prompt", 1, checksum_of_prompt, deterministic=True)


def is_damaged(kept: int | None, values: Sequence[Any]) -> bool:
    """Whether a row is not what was stored; what an older Quaver stored without a checksum never is.

    Args:
        kept: The row's checksum.
        values: Those of ``tables.SUMMED``.
    """
    return kept is not None and kept != checksum(*values)
