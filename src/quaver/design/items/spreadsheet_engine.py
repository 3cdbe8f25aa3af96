"""Reads one sheet in a process of its own: ``python spreadsheet_engine.py FILE SHEET BYTES CELLS SHEETS``.

A spreadsheet of kilobytes may stand for gigabytes, and the engine ends its process where it gets no memory.
So the process has a limit of memory and time, and counts what it hands on. It imports nothing of Quaver.

It writes JSON: a line about the file (its ``sheets``; those that may hold the table, the longest first, each
with its ``first`` row; the one that is ``read``, with its ``merged`` areas), then a line for each row that
holds something: its number, its cells' texts, and their kinds (``b`` a truth value, ``n`` a number, ``t``). A
last line says ``end``, ``large`` or ``damaged``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, time
from typing import Any

_SECONDS = 600
_CELL = 48
"""Bytes that a cell takes beside its text."""
_BESIDE = 10
"""How many times the rows of any other sheet that has a table which others, such as a codebook, explain."""


class _TooLarge(Exception):
    pass


def shown(cell: Any) -> str:
    """A cell as the spreadsheet shows it: no useless ``.0``, ``2024-01-31``, ``TRUE``."""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    return str(cell)


def _kind(cell: Any) -> str:
    if isinstance(cell, bool):
        return "b"
    return "n" if isinstance(cell, int | float) else "t"


def lines(path: str, wanted: str, most_bytes: int, most_cells: int, most_sheets: int) -> Iterator[Any]:
    """What is printed about a file, but for the last line."""
    from python_calamine import CalamineWorkbook, SheetVisibleEnum

    book = CalamineWorkbook.from_path(path)
    names = list(book.sheet_names)
    if len(names) > most_sheets:
        raise _TooLarge(f"{len(names):,} sheets")
    sheets = [wanted] if wanted in names else []
    read = wanted if sheets else ""
    if not wanted:
        kinds = {sheet.name: sheet.visible for sheet in book.sheets_metadata}
        heights = {name: book.get_sheet_by_name(name).height for name in names}
        sheets = [name for name in names if heights[name] > 1]  # a header and a row; a note has one cell
        sheets = sheets or [name for name in names if heights[name]]
        visible = [name for name in sheets if kinds[name] == SheetVisibleEnum.Visible]
        sheets = (visible if len(sheets) > 1 else sheets) or sheets or names[:1]
        sheets.sort(key=lambda name: -heights[name])
        if len(sheets) == 1 or heights[sheets[0]] >= _BESIDE * heights[sheets[1]]:
            read = sheets[0]
    about: dict[str, Any] = {"sheets": names, "first": {}, "read": read}
    for name in sheets:
        for row in book.get_sheet_by_name(name).to_python(nrows=1) or [[]]:
            about["first"][name] = [*map(shown, row)]
    if not read:
        yield about
        return
    sheet = book.get_sheet_by_name(read)
    rows, columns = (last + 1 for last in sheet.end or (-1, -1))
    if rows * columns > most_cells:
        raise _TooLarge(f"{rows:,} rows by {columns:,} columns")
    areas = sheet.merged_cell_ranges or ()  # of an .ods file, none are known
    yield {**about, "merged": [(a + 1, b + 1, c + 1, d + 1) for (a, b), (c, d) in areas]}
    left, spent = (sheet.start or (0, 0))[1], 0
    for number, row in enumerate(sheet.iter_rows(), start=1):
        texts = [shown(cell) for cell in row]
        if not any(text.strip() for text in texts):
            continue
        spent += sum(_CELL + len(text.encode("utf-8", "replace")) for text in texts)
        if spent > most_bytes:
            raise _TooLarge(f"more than {most_bytes:,} bytes for its cells and their texts")
        yield [number, [""] * left + texts, "t" * left + "".join(map(_kind, row))]


def main() -> None:
    """Write a sheet under a limit of memory and time."""
    path, wanted, *limits = sys.argv[1:]
    most_bytes, *others = map(int, limits)
    with suppress(ImportError, ValueError):  # not every system has such limits
        import resource

        for limit, most in ((resource.RLIMIT_DATA, 4 * most_bytes), (resource.RLIMIT_CPU, _SECONDS)):
            _, hard = resource.getrlimit(limit)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(limit, (most, most))
    last = {"end": ""}
    try:
        for line in lines(path, wanted, most_bytes, *others):
            sys.stdout.write(f"{json.dumps(line)}\n")
    except (_TooLarge, MemoryError) as error:
        last = {"large": str(error) or "more than fits into memory"}
    except BaseException as error:  # a panic of the engine is no Exception
        kind = "large" if re.search("overflow|exceeded", str(error)) else "damaged"
        last = {kind: " ".join(str(error).split())[:200] or type(error).__name__}
    sys.stdout.write(f"{json.dumps(last)}\n")


if __name__ == "__main__":
    main()
