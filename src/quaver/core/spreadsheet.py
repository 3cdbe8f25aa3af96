"""CSV in which no spreadsheet finds a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import IO

import polars as pl

_NUMBER = r"^([+-]|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)$"
"""What begins like a formula and is none: a number, or a sign alone."""
_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
"""The beginning of a formula, also in programs that skip white space or accept full-width signs."""
_BEGUN, _WHOLE = re.compile(_FORMULA), re.compile(_NUMBER.strip("^$"))


def safe_cell(value: object) -> str:
    """A cell that a spreadsheet reads as text: an apostrophe precedes what would be a formula.

    >>> safe_cell("=1+1"), safe_cell("-0.25"), safe_cell(None)
    ("'=1+1", '-0.25', '')
    >>> safe_cell("-")
    '-'
    """
    text = "" if value is None else repr(value) if isinstance(value, float) else str(value)
    if _BEGUN.match(text) and not _WHOLE.fullmatch(text):
        return "'" + text
    return text


def plain_cell(text: str) -> str:
    """A cell as it was before `safe_cell` made it safe.

    >>> plain_cell("'=1+1"), plain_cell("'s Hertogenbosch")
    ('=1+1', "'s Hertogenbosch")
    """
    return text[1:] if text.startswith("'") and safe_cell(text[1:]) == text else text


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV in which a spreadsheet finds no formula, lines ending as spreadsheets write them."""
    file = io.StringIO(newline="")
    csv.writer(file).writerows(map(safe_cell, row) for row in rows)
    return file.getvalue()


def write_csv(frame: pl.DataFrame, file: IO[bytes], *, header: bool = True) -> None:
    """Write a table in which a spreadsheet finds no formula."""
    text = pl.col(pl.String)
    dangerous = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
    safe = frame.with_columns(pl.when(dangerous).then(pl.lit("'") + text).otherwise(text).name.keep())
    safe.rename(safe_cell).write_csv(file, include_header=header, datetime_format="%Y-%m-%dT%H:%M:%S%.3fZ")
