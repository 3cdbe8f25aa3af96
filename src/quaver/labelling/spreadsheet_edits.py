"""Columns added to a spreadsheet (.xlsx) that stays as it is otherwise.

Such a file is a ZIP archive of XML. The part that holds the sheet is read for the places of its rows and
cells, and the new cells are written between them; formats, formulas, pictures, charts and other sheets are
copied as they are. A new cell is a text or a number, never a formula.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape

from quaver.design.items.spreadsheet_files import letters
from quaver.errors import ItemError

Cell = str | float | None
"""A text, a number, or nothing."""

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""
_TAG = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")
_BOOK, _BOOK_RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_MOST_COLUMNS = 16_384


class Addition(NamedTuple):
    """What a spreadsheet gains.

    Attributes:
        sheet: The sheet of the table; None for the first one that holds something.
        heads: The names of the new columns.
        rows: The new cells by the number of their row, from 1.
    """

    sheet: str | None
    heads: Sequence[str]
    rows: Mapping[int, Sequence[Cell]]


def write_spreadsheet(source: Path, target: Path, addition: Addition) -> None:
    """Write a copy of a spreadsheet with new columns behind its last one.

    Raises:
        ItemError: The file is not what a spreadsheet writes.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            sheet, content = _edited(archive, addition)
            with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
                for member in archive.infolist():
                    out.writestr(member, content if member.filename == sheet else archive.read(member))
    except (zipfile.BadZipFile, expat.ExpatError, LookupError, ValueError) as error:
        raise ItemError(
            "no columns can be added to this spreadsheet",
            where=str(source),
            expected="a file that a spreadsheet saved as .xlsx",
            found=str(error)[:120],
            fix="save it again, or save the table as CSV",
        ) from None


@dataclass(slots=True)
class _Place:
    """A cell or a row in the text of its part: from its first byte to the one behind its last."""

    start: int
    number: int
    head: int
    """The byte behind the start tag."""
    end: int = 0
    filled: bool = False
    cells: list[_Place] = field(default_factory=list)


class _Sheet:
    """The rows and cells of a sheet."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.rows: list[_Place] = []
        self.prefix = ""
        self._open: list[_Place] = []
        parser = self._parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ValueError("a sheet in UTF-16, which no spreadsheet writes")
        parser.Parse(content, True)

    @property
    def width(self) -> int:
        """The last column that holds something."""
        return max((cell.number for row in self.rows for cell in row.cells if cell.filled), default=0)

    def _start(self, tag: str, found: dict[str, str]) -> None:
        prefix, _, kind = tag.rpartition(":")
        if kind == "sheetData":
            self.prefix = f"{prefix}:" if prefix else ""
        elif kind == "row" or (kind == "c" and self._open):
            places = self.rows if kind == "row" else self._open[0].cells
            number = places[-1].number + 1 if places else 1
            if "r" in found:
                number = int(found["r"]) if kind == "row" else _column(found["r"])
            index = self._parser.CurrentByteIndex
            places.append(_Place(index, number, _behind_tag(self._content, index)))
            self._open.append(places[-1])
        elif kind in ("v", "is") and len(self._open) > 1:
            self._open[-1].filled = True

    def _end(self, tag: str) -> None:
        if self._open and tag.rpartition(":")[2] in ("row", "c"):
            place, index = self._open.pop(), self._parser.CurrentByteIndex
            empty = self._content[place.head - 2 : place.head] == b"/>"
            place.end = place.head if empty else _behind_tag(self._content, index)


def _behind_tag(content: bytes, index: int) -> int:
    """The place behind a tag; a ``>`` may stand in an attribute."""
    match = _TAG.match(content, index)
    if not match:
        raise ValueError("a tag that does not end")
    return match.end()


def _column(reference: str) -> int:
    column = 0
    for letter in reference.rstrip("0123456789"):
        column = 26 * column + ord(letter) - 64
    return column


def _edited(archive: zipfile.ZipFile, addition: Addition) -> tuple[str, bytes]:
    """The part of the sheet that is asked for, or of the first that holds something, and its new content."""
    parts = _sheet_parts(archive)
    for name in [addition.sheet] if addition.sheet else parts:
        content = archive.read(parts[name])
        sheet = _Sheet(content)
        if addition.sheet or sheet.width:
            break
    else:
        raise ValueError("no sheet holds anything")
    pieces, behind = [], 0
    for start, end, text in sorted(_edits(content, sheet, addition), key=lambda edit: edit[:2]):
        pieces += [content[behind:start], text]
        behind = end
    return parts[name], b"".join([*pieces, content[behind:]])


def _sheet_parts(archive: zipfile.ZipFile) -> dict[str, str]:
    """The part of each sheet, by the sheet's name."""
    targets: dict[str, str] = {}
    keys: dict[str, str] = {}

    def started(tag: str, found: dict[str, str]) -> None:
        kind = tag.rpartition(":")[2]
        if kind == "Relationship":
            targets[found["Id"]] = posixpath.normpath(posixpath.join("/xl", found["Target"])).lstrip("/")
        elif kind == "sheet":
            keys[found["name"]] = next(value for key, value in found.items() if key.endswith(":id"))

    for part in (_BOOK_RELATIONS, _BOOK):
        parser = expat.ParserCreate()
        parser.StartElementHandler = started
        parser.Parse(archive.read(part), True)
    return {name: targets[key] for name, key in keys.items()}


def _edits(content: bytes, sheet: _Sheet, addition: Addition) -> list[tuple[int, int, bytes]]:
    """Replacements in the part of a sheet: from where, to where, by what."""
    rows, first = sheet.rows, sheet.width + 1
    header = next((row.number for row in rows if any(cell.filled for cell in row.cells)), 1)
    last = first + len(addition.heads) - 1
    if last > _MOST_COLUMNS:
        raise ValueError(f"its table ends in column {letters(first - 1)}, behind which no column is left")
    edits = _extent(content, last, max((row.number for row in rows), default=1))
    for row in rows:
        cells = addition.heads if row.number == header else addition.rows.get(row.number)
        if cells is None:
            continue
        later = [cell for cell in row.cells if cell.number >= first]  # empty ones, which have a format alone
        formatted = {cell.number: cell for cell in later}
        new = []
        for column, cell in enumerate(cells, first):
            there = formatted.get(column)
            place = f"{letters(column)}{row.number}"
            new.append(_cell(place, cell, sheet.prefix, _style(content, there or row)))
            if there:
                edits.append((there.start, there.end, b""))
        text = "".join(new).encode()
        if row.head == row.end:  # one tag, such as <row r="3"/>
            edits.append((row.head - 2, row.end, b">" + text + f"</{sheet.prefix}row>".encode()))
        else:
            index = later[0].start if later else row.cells[-1].end if row.cells else row.head
            edits.append((index, index, text))
    return edits


def _extent(content: bytes, column: int, row: int) -> list[tuple[int, int, bytes]]:
    """The extent that a sheet states, with another column: programs that read as they go believe it."""
    extent = rb"""<(?:\w+:)?dimension\b[^>]*\bref\s*=\s*["']([A-Z]+\d+)(?::([A-Z]+)(\d+))?"""
    stated = re.search(extent, content)
    if stated is None:
        return []
    column = max(column, _column(stated[2].decode()) if stated[2] else 1)
    corner = f":{letters(column)}{max(row, int(stated[3] or 1))}"
    return [(stated.end(1), stated.end(), corner.encode())]


def _style(content: bytes, place: _Place) -> str:
    """The format of a cell or a row, as it is written in the start tag."""
    match = re.search(rb"""\ss\s*=\s*("[^"]*"|'[^']*')""", content[place.start : place.head])
    return f" s={match[1].decode()}" if match else ""


def _cell(place: str, cell: Cell, p: str, style: str) -> str:
    if cell is None:
        return f'<{p}c r="{place}"{style}/>' if style else ""
    if not isinstance(cell, str):
        return f'<{p}c r="{place}"{style}><{p}v>{cell!r}</{p}v></{p}c>'
    written = escape(_UNPRINTABLE.sub("\ufffd", cell)).encode("ascii", "xmlcharrefreplace").decode()
    text = f'<{p}t xml:space="preserve">{written}</{p}t>'
    return f'<{p}c r="{place}"{style} t="inlineStr"><{p}is>{text}</{p}is></{p}c>'
