"""Rows from spreadsheets (.xlsx, .ods): every cell as the text that the spreadsheet shows, or nearly so."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from quaver.core.input_budget import MOST_BYTES, MOST_CELLS
from quaver.core.number_format import count
from quaver.design.items import spreadsheet_engine
from quaver.errors import ItemError, UnknownName

MOST_SHEETS = 1_000
_SHOWN = 12
"""Sheets that an error names, and cells of the first row of each."""

_NAME = 60
"""Characters: longer cells of a second row are texts, not names of columns."""

_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a file begins that has a password or was written by an Excel from before 2007."""

_Numbered = tuple[int, list[str]]
"""The number of a row, and its cells."""

Placed = tuple[dict[str, str], str, str]
"""A row's cells by column, the file, and where in it the row stands."""


def read_spreadsheet(path: Path, sheet: str | None, choose: str) -> list[Placed]:
    """Read the table of one sheet.

    A number has no useless ``.0``, a date is ``2024-01-31``, and a truth value is ``TRUE``. An error such as
    ``#N/A`` is an empty cell, and a formula has its last result. Empty rows, and columns without a name or
    cells, are left out.
    """
    with path.open("rb") as file:
        if file.read(len(_OLD)) == _OLD:
            raise ItemError(
                "this file is protected by a password, or in Excel's format from before 2007",
                where=str(path),
                expected="a spreadsheet that opens without a password",
                fix="save it as .xlsx without a password",
            )
    with closing(_engine(path, sheet)) as lines:
        about = next(lines)
        name = _sheet(path, about, sheet, choose)
        grid: list[_Numbered] = [(number, cells) for number, cells, _ in lines]
    if len(grid) > 1 and stands_above(grid[0][1], grid[1][1]):
        del grid[0]
    file_name = f"{path.name} (sheet {name})" if len(about["sheets"]) > 1 else path.name
    return _rows(file_name, grid, about["merged"])


def typed_cells(path: Path, sheet: str | None, column: str) -> dict[str, bool | float]:
    """The truth values and numbers in a column of a table, by the text that `read_spreadsheet` gives."""
    typed: dict[str, bool | float] = {}
    with closing(_engine(path, sheet)) as lines:
        next(lines)
        names = next(filter(lambda names: column in names, ([*map(str.strip, row[1])] for row in lines)))
        index = names.index(column)
        for _, cells, kinds in lines:
            if kinds[index] != "t":
                typed[cells[index]] = cells[index] == "TRUE" if kinds[index] == "b" else float(cells[index])
    return typed


def sheets_of(path: Path) -> tuple[dict[str, list[str]], str]:
    """The sheets that may hold the table, each with its first row; which is read unless one is named."""
    with closing(_engine(path, None)) as lines:
        about = next(lines)
    return about["first"], about["read"]


def stands_above(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether a table's first row is a title, or names groups of the columns that the second row names.

    It leaves two columns or more open, and the second row has a different name for each.

    >>> stands_above(["Survey", "", ""], ["id", "text", "label"]), stands_above(["", ""], ["1", "a"])
    (True, False)
    """
    names = [name.strip() for name in second]
    are_names = all(name[:1].isalpha() and len(name) <= _NAME for name in names)
    is_open = sum(not above.strip() for above in first) > 1
    return is_open and are_names and len(first) == len(names) == len({*names})


def _engine(path: Path, sheet: str | None) -> Generator[Any, None, None]:
    """The engine's output for a file, from a process that may end where it gets no memory."""
    limits = map(str, (MOST_BYTES, MOST_CELLS, MOST_SHEETS))
    command = [sys.executable, "-P", spreadsheet_engine.__file__, str(path.absolute()), sheet or "", *limits]
    last: dict[str, str] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            for line in process.stdout or ():
                said = json.loads(line)
                if isinstance(said, dict) and said.keys() & {"end", "large", "damaged"}:
                    last = said
                else:
                    yield said
        finally:
            process.kill()
    if "damaged" in last:
        raise ItemError(
            "this is not a spreadsheet",
            where=str(path),
            expected="a file that a spreadsheet saved as .xlsx or .ods",
            found=last["damaged"],
            fix="save it again, or save the table as CSV in UTF-8",
        )
    if "end" not in last:
        raise ItemError(
            "this spreadsheet is too large",
            where=str(path),
            expected=f"at most {MOST_SHEETS:,} sheets, {MOST_CELLS:,} cells, {MOST_BYTES:,} bytes of cells",
            found=last.get("large", "more than fits into memory"),
            fix="delete what is far from the table, or save the table as CSV or Parquet",
        )


def _sheet(path: Path, about: dict[str, Any], sheet: str | None, choose: str) -> str:
    """The name of the sheet to read: the one that is named, or the one that plainly holds the table."""
    names = list(about["first"])
    if sheet is not None and not names:
        raise UnknownName("sheet", sheet, about["sheets"], where=path.name)
    if not about["read"]:
        first = names[0] if names[0].isidentifier() else f'"{names[0]}"'
        begin = [f"{name} ({', '.join(about['first'][name][:_SHOWN])[:80]})" for name in names[:_SHOWN]]
        raise ItemError(
            "several sheets of this file hold a table",
            where=path.name,
            expected="the name of the sheet with the texts",
            found="; ".join(begin) + ("; …" if len(names) > _SHOWN else ""),
            fix=f"say which one: {choose.format(value=first)}",
        )
    return str(about["read"])


def _rows(file: str, grid: Sequence[_Numbered], merged: Sequence[Sequence[int]]) -> list[Placed]:
    """The rows below the header."""
    if not grid:
        return []
    width = range(len(grid[0][1]))
    columns = [index for index in width if any(cells[index].strip() for _, cells in grid)]
    names = _names(file, grid, columns)
    # Only the first of merged cells holds the value.
    if area := next((area for area in merged if area[2] >= grid[0][0]), None):
        first, last = (f"{letters(column)}{row}" for row, column in (area[:2], area[2:]))
        raise ItemError(
            "cells of the table are merged",
            where=f"{file}: {first}:{last}",
            expected="a value in each cell",
            found="a value that stands for several cells",
            fix="undo the merge and write the value into each cell",
        )
    return [
        ({name: cells[index] for name, index in zip(names, columns, strict=True)}, file, f" row {number}")
        for number, cells in grid[1:]
    ]


def _names(file: str, grid: Sequence[_Numbered], columns: Sequence[int]) -> list[str]:
    """The columns' names: the first row that holds something."""
    first, header = grid[0]
    names = [header[index].strip() for index in columns]
    unnamed = [index for index, name in zip(columns, names, strict=True) if not name]
    if unnamed and unnamed != columns[:1]:  # a frame's index stands first, without a name
        column = letters(unnamed[0] + 1)
        raise ItemError(
            f"{count(len(unnamed), 'column')} with cells and without a name in the header",
            where=f"{file}: row {first}",
            expected="the columns' names in the first row of the table",
            found=", ".join(name for name in names if name)[:120],
            fix=f"give column {column} a name, or empty it; delete the rows above the columns' names",
        )
    check_names(names, f"{file}: row {first}")
    return names


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse columns of one name.

    Raises:
        ItemError: Two columns have it.
    """
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ItemError(
            f"two columns are named {twice!r}",
            where=where,
            expected="a different name for each column",
            fix="rename one of them in the file",
        )


def letters(column: int) -> str:
    """The name of a column: 1 is ``A``, 28 is ``AB``."""
    name = ""
    while column > 0:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name
