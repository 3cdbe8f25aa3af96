"""How much of an input is read: it is counted as it comes, before a reader sees it whole.

Study files, tables, bundles and servers' replies may come from anybody. A file of kilobytes may stand for
gigabytes, a reply may never end, and JSON takes a multiple of its size once it is parsed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import polars as pl

MOST_BYTES: Final = 512 * 2**20
"""Bytes of a file that is read whole, of the parts of a spreadsheet, and of the texts of a table."""

MOST_CELLS: Final = 10_000_000
"""Cells of a table, and values of a document."""

_CELLS_A_BYTE, _TEXT_A_BYTE = 20, 200
"""Cells, and bytes of text, of a larger table for each byte of its file."""

_VALUE_MARKS: Final = (b"[", b"{", b",", b":")
"""What stands beside each value of JSON."""


class TooLarge(OSError):
    """An input holds more than is read of its kind.

    It is an `OSError`, since whoever reads an input says in one error what the system says of it.
    """


class InputBudget:
    """What may still be read of an input.

    Args:
        most: How much.
        of: Of what.

    >>> budget = InputBudget(10, "bytes")
    >>> budget.spend(8)
    >>> budget.spend(3)
    Traceback (most recent call last):
    quaver.core.input_budget.TooLarge: more than 10 bytes
    """

    def __init__(self, most: int, of: str) -> None:
        self._most, self._left, self._of = most, most, of

    def spend(self, amount: int) -> None:
        """Take this much away; raises `TooLarge` where not as much is left."""
        self._left -= amount
        if self._left < 0:
            raise TooLarge(f"more than {self._most:,} {self._of}")


def read_file(path: Path, most: int | None = None) -> bytes:
    """The bytes of a file; raises `TooLarge` for more than ``most``, which is ``MOST_BYTES`` by default."""
    most = MOST_BYTES if most is None else most
    with path.open("rb") as file:
        content = file.read(most + 1)
    InputBudget(most, "bytes").spend(len(content))
    return content


def parsed_json(content: bytes, most_values: int = MOST_CELLS) -> Any:
    """The document in JSON; raises `TooLarge` for more values, and ValueError for what is no JSON."""
    check_values(content, most_values)
    return json.loads(content)


def check_values(content: bytes, most: int) -> None:
    """Refuse JSON of so many small values that it takes a multiple of its size."""
    InputBudget(most, "values").spend(sum(map(content.count, _VALUE_MARKS)))


def read_parquet(path: Path) -> pl.DataFrame:
    """A table, if it does not unpack to far more than its file; polars' errors are its own."""
    import polars as pl

    packed, lazy = path.stat().st_size, pl.scan_parquet(path, glob=False)
    cells = InputBudget(max(MOST_CELLS, _CELLS_A_BYTE * packed), "cells")
    cells.spend(lazy.select(pl.len()).collect().item() * len(lazy.collect_schema()))
    frame = lazy.collect()
    text = InputBudget(max(MOST_BYTES, _TEXT_A_BYTE * packed), "bytes of text")
    for column in frame.select(pl.col(pl.String)):
        text.spend(int(column.str.len_bytes().sum()))
    return frame
