"""Columns added to a spreadsheet (.xlsx) that stays as it is otherwise.

Such a file is a ZIP archive of XML. In the part that holds the sheet, new cells are written at the end of
their rows; formats, formulas, pictures, charts and other sheets are copied as they are. A new cell is a text,
a number or a truth value, never a formula.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from quaver.design.items.spreadsheet_files import letters
from quaver.errors import ItemError

Cell = str | float | None
"""A text, a number, a truth value, or nothing."""

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""

_ELEMENT = (
    r"""<(?P<prefix>(?:\w+:)?){0}(?=[\s/>])(?P<attributes>(?:[^"'>]|"[^"]*"|'[^']*')*?)"""
    r"""(?:/>|>(?P<inside>.*?)</(?P=prefix){0}>)"""
)
_ROW, _CELL = (re.compile(_ELEMENT.format(name), re.DOTALL) for name in ("row", "c"))
_PLACE = re.compile(r"""\sr\s*=\s*["']([A-Z]*)(\d+)""")
_FORMAT = re.compile(r"""\ss\s*=\s*["'](\w+)["']""")
_VALUE = re.compile(r"<(?:\w+:)?(?:v|is)\b")
_EXTENT = re.compile(r"""(<(?:\w+:)?dimension\b[^>]*\bref\s*=\s*["'][A-Z]+\d+)(?::([A-Z]+)(\d+))?""")
_BOOK, _BOOK_RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_MOST_COLUMNS = 16_384


def write_spreadsheet(
    source: Path, target: Path, sheet: str, heads: Sequence[str], rows: Mapping[int, Sequence[Cell]]
) -> None:
    """Write a copy of a spreadsheet with new columns behind its last one.

    Args:
        source: The spreadsheet.
        target: The copy.
        sheet: The sheet of the table.
        heads: The names of the new columns.
        rows: The new cells by the number of their row, from 1.

    Raises:
        ItemError: The file is not what a spreadsheet writes.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            part, content = _table_part(archive, sheet)
            edited = _with_columns(content, heads, rows).encode()
            with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
                for member in archive.infolist():
                    out.writestr(member, edited if member.filename == part else archive.read(member))
    except (zipfile.BadZipFile, ElementTree.ParseError, LookupError, ValueError) as error:
        raise ItemError(
            "no columns can be added to this spreadsheet",
            where=str(source),
            expected="a file that a spreadsheet saved as .xlsx",
            found=str(error)[:120],
            fix="save it again, or save the table as CSV",
        ) from None


def _table_part(archive: zipfile.ZipFile, sheet: str) -> tuple[str, str]:
    """The part of a sheet, and its content."""
    targets: dict[str, str] = {}
    for relation in ElementTree.fromstring(archive.read(_BOOK_RELATIONS)):
        target = posixpath.normpath(posixpath.join("/xl", relation.attrib["Target"]))
        targets[relation.attrib["Id"]] = target.lstrip("/")
    for entry in ElementTree.fromstring(archive.read(_BOOK)).iterfind("{*}sheets/{*}sheet"):
        if entry.attrib["name"] == sheet:
            (key,) = (value for name, value in entry.attrib.items() if name.endswith("}id"))
            return targets[key], archive.read(targets[key]).decode()
    raise ValueError(f"no sheet is called {sheet!r}")


def _numbered(element: re.Pattern[str], text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """The rows of a sheet, or the cells of a row, each with its number, which some programs leave out."""
    number = 0
    for match in element.finditer(text):
        place = _PLACE.search(match["attributes"])
        number += 1
        if place is not None:
            number = _column(place[1]) if place[1] else int(place[2])
        yield number, match


def _column(name: str) -> int:
    number = 0
    for letter in name:
        number = 26 * number + ord(letter) - 64
    return number


def _with_columns(content: str, heads: Sequence[str], rows: Mapping[int, Sequence[Cell]]) -> str:
    """The content of a sheet with the new cells."""
    width, sizes = 0, dict[int, int]()
    for height, row in _numbered(_ROW, content):
        there = _numbered(_CELL, row["inside"] or "")
        filled = [number for number, cell in there if _VALUE.search(cell["inside"] or "")]
        if filled:
            sizes[height] = len(filled)
            width = max(width, *filled)
    first, second = [*sizes, *sizes][:2]
    header = second if sizes[second] > sizes[first] + 1 else first  # a title or groups stand above the names
    if width + len(heads) > _MOST_COLUMNS:
        raise ValueError(f"its table ends in column {letters(width)}, behind which no column is left")
    pieces, behind = [], 0
    for number, row in _numbered(_ROW, content):
        cells = heads if number == header else rows.get(number)
        if cells is not None:
            pieces += [content[behind : row.start()], _longer_row(row, number, width + 1, cells)]
            behind = row.end()
    edited = "".join([*pieces, content[behind:]])
    return _EXTENT.sub(lambda stated: _wider(stated, width + len(heads), height), edited, count=1)


def _longer_row(row: re.Match[str], number: int, first: int, cells: Sequence[Cell]) -> str:
    """A row with new cells from a column on; empty cells that are there give them their format."""
    prefix, inside = row["prefix"], row["inside"] or ""
    later = {column: cell for column, cell in _numbered(_CELL, inside) if column >= first}
    kept = inside[: min(cell.start() for cell in later.values())] if later else inside
    new = []
    for column, cell in enumerate(cells, first):
        there = later.pop(column, row)
        new.append(_new_cell(f"{letters(column)}{number}", cell, prefix, _FORMAT.search(there["attributes"])))
    behind = [cell[0] for cell in later.values()]
    return f"<{prefix}row{row['attributes']}>{kept}{''.join([*new, *behind])}</{prefix}row>"


def _new_cell(place: str, cell: Cell, prefix: str, form: re.Match[str] | None) -> str:
    """A cell as a sheet holds it; none for an empty one without a format."""
    start = f'<{prefix}c r="{place}"' + (f' s="{form[1]}"' if form else "")
    if cell is None:
        return f"{start}/>" if form else ""
    if isinstance(cell, bool):
        return f'{start} t="b"><{prefix}v>{int(cell)}</{prefix}v></{prefix}c>'
    if not isinstance(cell, str):
        return f"{start}><{prefix}v>{cell!r}</{prefix}v></{prefix}c>"
    # Line ends and the like as references, since reading would change them.
    text = escape(_UNPRINTABLE.sub("\ufffd", cell)).encode("ascii", "xmlcharrefreplace").decode()
    inside = f'<{prefix}is><{prefix}t xml:space="preserve">{text}</{prefix}t></{prefix}is>'
    return f'{start} t="inlineStr">{inside}</{prefix}c>'


def _wider(stated: re.Match[str], column: int, row: int) -> str:
    """The extent that a sheet states, with the new columns: programs that read as they go believe it."""
    column = max(column, _column(stated[2] or ""))
    row = max(row, int(stated[3] or 1))
    return f"{stated[1]}:{letters(column)}{row}"
