"""Rows from spreadsheets (.xlsx, .ods): every cell as the text that the spreadsheet shows, or nearly so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import fastexcel

from quaver.core.number_format import count
from quaver.design.items.spreadsheet_parts import Extent, Parts, checked_parts, letters
from quaver.design.items.text_lines import Row
from quaver.errors import ItemError, QuaverError, UnknownName

Cells = Sequence[str | None]

_SHOWN = 12
"""Sheets that an error names."""

_MIDNIGHT = re.compile(r"(\d{4,}-\d\d-\d\d) 00:00:00")
_NO_DAY = re.compile(r"(?:1899-12-3[01]|1904-01-01) (\d\d:\d\d:\d\d)")
"""A time without a date, which a spreadsheet stores as one of its first day."""


def read_spreadsheet(path: Path, sheet: str | None, choose: str) -> list[Row]:
    """Read the table of one sheet.

    A number has no useless ``.0``, a date is ``2024-01-31``, and a truth value is ``TRUE``. An error such as
    ``#N/A`` is an empty cell, and a formula has its last result. Empty rows, and columns without a name or
    cells, are left out.
    """
    parts = checked_parts(path)
    try:
        reader = fastexcel.read_excel(parts.content)
        name = _sheet(path, reader, parts, sheet, choose)
        loaded = reader.load_sheet(name, header_row=None, skip_rows=0, dtypes="string")
        grid = loaded.to_polars().rows() if loaded.width else []
    except (QuaverError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is no Exception
        found = " ".join(str(error).split())[:200]
        raise ItemError("this spreadsheet cannot be read", where=str(path), found=found) from None
    extent = parts.sheets.get(name, Extent())
    return _rows(f"{path.name} (sheet {name})" if len(parts.sheets) > 1 else path.name, grid, extent)


def _sheet(path: Path, reader: fastexcel.ExcelReader, parts: Parts, sheet: str | None, choose: str) -> str:
    """The name of the sheet to read: the one that is named, or the only visible one that holds something."""
    names = list(reader.sheet_names)
    if sheet is not None:
        if sheet not in names:
            raise UnknownName("sheet", sheet, names, where=path.name)
        return sheet
    filled = [name for name in names if parts.sheets.get(name, Extent()).rows]
    if len(filled) > 1:
        heads = {name: reader.load_sheet(name, n_rows=0, dtypes="string") for name in filled}
        shown = [name for name, head in heads.items() if head.visible == "visible"]
        filled = shown or filled
    if len(filled) > 1:
        raise ItemError(
            "several sheets of this file hold something",
            where=path.name,
            expected="the name of the sheet with the table",
            found=", ".join(filled[:_SHOWN]) + (", …" if len(filled) > _SHOWN else ""),
            fix=f"say which one: {choose.format(value=_written(filled[0]))}",
        )
    return (filled or names)[0]


def _written(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'


def _rows(file: str, grid: Sequence[Cells], extent: Extent) -> list[Row]:
    """The rows below the header."""
    filled = [number for number, cells in enumerate(grid) if any(map(_holds, cells))]
    if not filled:
        return []
    header, *below = filled
    columns = [
        index for index in range(len(grid[0])) if any(_holds(grid[number][index]) for number in filled)
    ]
    names = _names(file, grid, filled, columns)
    _check_merged(file, extent, header + 1)
    readers = [_truth if _holds_truths(extent, grid, below, index) else _shown for index in columns]
    return [
        Row(
            [
                (name, read(cell) if (cell := grid[number][index]) is not None else "")
                for name, index, read in zip(names, columns, readers, strict=True)
            ],
            file,
            f" row {number + 1}",
        )
        for number in below
    ]


def _names(file: str, grid: Sequence[Cells], filled: Sequence[int], columns: Sequence[int]) -> list[str]:
    """The columns' names: the first row that holds something."""
    header = grid[filled[0]]
    names = [(header[index] or "").strip() for index in columns]
    unnamed = [index for index, name in zip(columns, names, strict=True) if not name]
    if unnamed and unnamed != columns[:1]:  # a frame's index stands first, without a name
        whole = next((n for n in filled[1:6] if all(grid[n][index] for index in columns)), None)
        fix = f"give column {letters(unnamed[0] + 1)} a name, or empty it"
        if whole is not None and len(unnamed) * 2 >= len(columns):
            title = ", ".join(str(grid[whole][index])[:30] for index in columns[:6])
            fix = f"row {whole + 1} looks like the header ({title}): delete the rows above it"
        raise ItemError(
            f"{count(len(unnamed), 'column')} with cells and without a name in the header",
            where=f"{file}: row {filled[0] + 1}",
            expected="the columns' names in the first row of the table",
            found=", ".join(name for name in names if name)[:120],
            fix=fix,
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ItemError(
            f"two columns are named {twice!r}",
            where=f"{file}: row {filled[0] + 1}",
            expected="a different name for each column",
            fix="rename one of them in the file",
        )
    return names


def _check_merged(file: str, extent: Extent, header: int) -> None:
    """Refuse merged cells inside the table: only the first of them holds the value."""
    for area in extent.merged:
        numbers = [int(number) for number in re.findall(r"\d+", area)]
        if numbers and max(numbers) >= header:
            raise ItemError(
                "cells of the table are merged",
                where=f"{file}: {area}",
                expected="a value in each cell",
                found="a value that stands for several cells",
                fix="undo the merge and write the value into each cell",
            )


def _holds(cell: str | None) -> bool:
    return cell is not None and not cell.isspace() and cell != ""


def _holds_truths(extent: Extent, grid: Sequence[Cells], below: Sequence[int], index: int) -> bool:
    return index + 1 in extent.truths and all(
        grid[number][index] in ("true", "false", None) for number in below
    )


def _truth(cell: str) -> str:
    return cell.upper()


def _shown(cell: str) -> str:
    """A cell as the spreadsheet shows it: a date without a time, a time without a date."""
    if match := _MIDNIGHT.fullmatch(cell) or _NO_DAY.fullmatch(cell):
        return match[1]
    return cell
