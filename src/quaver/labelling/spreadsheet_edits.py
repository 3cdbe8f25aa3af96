"""Columns and a sheet added to a spreadsheet that stays as it is otherwise.

An .xlsx or .ods file is a ZIP archive of XML. The part that holds the sheet is read for the places of its
rows and cells, and the new cells are written between them; formats, formulas, pictures, charts and other
sheets are copied as they are. A new cell is a text or a number, never a formula.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from quaver.design.items.spreadsheet_files import letters
from quaver.errors import ItemError

Cell = str | float | None
"""A text, a number, or nothing."""

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""


class Addition(NamedTuple):
    """What a spreadsheet gains.

    Attributes:
        sheet: The sheet of the table; None for the first one that holds something.
        heads: The names of the new columns.
        rows: The new cells by the number of their row, from 1.
        notes: The name and the rows of a new sheet; None for none.
    """

    sheet: str | None
    heads: Sequence[str]
    rows: Mapping[int, Sequence[Cell]]
    notes: tuple[str, Sequence[Sequence[Cell]]] | None = None


def write_spreadsheet(source: Path, target: Path, addition: Addition) -> None:
    """Write a copy of a spreadsheet with new columns behind its last one, and a new sheet.

    Raises:
        ItemError: The file is not what a spreadsheet writes.
    """
    edit = _edited_ods if source.suffix.lower() == ".ods" else _edited_xlsx
    try:
        with zipfile.ZipFile(source) as archive:
            changed = edit(archive, addition)
            with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
                for member in archive.infolist():
                    content = changed.pop(member.filename, None)
                    out.writestr(member, archive.read(member) if content is None else content)
                for name, content in changed.items():
                    out.writestr(name, content)
    except (zipfile.BadZipFile, expat.ExpatError, LookupError, ValueError) as error:
        raise ItemError(
            "no columns can be added to this spreadsheet",
            where=str(source),
            expected="a file that a spreadsheet saved as .xlsx or .ods",
            found=str(error)[:120],
            fix="save it again, or save the table as CSV",
        ) from None


@dataclass(slots=True)
class _Place:
    """A cell or a row in the text of its part: from its first byte to the one behind its last."""

    start: int
    number: int
    times: int = 1
    end: int = 0
    head: int = 0
    """The byte behind the start tag."""
    filled: bool = False
    cells: list[_Place] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether it is one tag, such as ``<row r="3"/>``."""
        return self.head == self.end


class _Scan:
    """The rows and cells of the sheets of one part."""

    def __init__(
        self, content: bytes, names: tuple[str, str, tuple[str, ...]], values: tuple[str, ...]
    ) -> None:
        self._content = content
        self._table, self._row, self._cell = names
        self._values = values
        self.tables: list[tuple[str, list[_Place]]] = []
        self.prefix = ""
        self.after_tables = 0
        self._open: list[_Place] = []
        parser = self._parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ValueError("a sheet in UTF-16, which no spreadsheet writes")
        parser.Parse(content, True)

    def _start(self, tag: str, found: dict[str, str]) -> None:
        prefix, _, kind = tag.rpartition(":")
        index = self._parser.CurrentByteIndex
        if kind == self._table:
            self.prefix = f"{prefix}:" if prefix else ""
            self.tables.append((found.get("table:name", ""), []))
        elif kind == self._row and self.tables:
            rows = self.tables[-1][1]
            number = int(found["r"]) if "r" in found else _behind(rows)
            self._begin(rows, index, number, int(found.get("table:number-rows-repeated", 1)))
        elif kind in self._cell and self._open:
            cells = self._open[0].cells
            number = _column(found["r"]) if "r" in found else _behind(cells)
            self._begin(cells, index, number, int(found.get("table:number-columns-repeated", 1)))
            if "office:value-type" in found or "table:formula" in found:
                self._open[-1].filled = True
        elif kind in self._values and len(self._open) > 1:
            self._open[-1].filled = True

    def _begin(self, places: list[_Place], index: int, number: int, times: int) -> None:
        place = _Place(index, number, times, head=_behind_tag(self._content, index))
        places.append(place)
        self._open.append(place)

    def _end(self, tag: str) -> None:
        kind = tag.rpartition(":")[2]
        index = self._parser.CurrentByteIndex
        if kind == self._table:  # where its end tag begins
            self.after_tables = index
        elif self._open and (kind == self._row or kind in self._cell):
            place = self._open.pop()
            empty = self._content[place.head - 2 : place.head] == b"/>"
            place.end = place.head if empty else _behind_tag(self._content, index)


def _behind(places: Sequence[_Place]) -> int:
    """The number of the next row or cell, which does not say it."""
    return places[-1].number + places[-1].times if places else 1


_TAG = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")


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


def _header(rows: Sequence[_Place]) -> int:
    """The number of the first row that holds something."""
    return next((row.number for row in rows if any(cell.filled for cell in row.cells)), 1)


def _width(rows: Sequence[_Place]) -> int:
    """The last column that holds something."""
    return max((cell.number + cell.times - 1 for row in rows for cell in row.cells if cell.filled), default=0)


def _written(text: str) -> str:
    """A text as XML in any encoding."""
    return _ascii(escape(_UNPRINTABLE.sub("\ufffd", text))).decode()


def _ascii(markup: str) -> bytes:
    return markup.encode("ascii", "xmlcharrefreplace")


# ------------------------------------------------------------------------ .xlsx

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_STRICT_MAIN = "http://purl.oclc.org/ooxml/spreadsheetml/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STRICT = "http://purl.oclc.org/ooxml/officeDocument/relationships"
_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"
_BOOK, _BOOK_RELATIONS, _TYPES = "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "[Content_Types].xml"
_MOST_COLUMNS = 16_384
_XLSX = ("sheetData", "row", ("c",))


def _edited_xlsx(archive: zipfile.ZipFile, addition: Addition) -> dict[str, bytes]:
    parts = _sheet_parts(archive)
    name, scan = _table_of(archive, parts, addition.sheet)
    rows = scan.tables[0][1] if scan.tables else []
    content = archive.read(parts[name])
    edits = _xlsx_edits(content, rows, scan.prefix, addition)
    changed = {parts[name]: _with(content, edits)}
    if addition.notes:
        changed |= _new_sheet(archive, parts, *addition.notes)
    return changed


def _table_of(archive: zipfile.ZipFile, parts: Mapping[str, str], wanted: str | None) -> tuple[str, _Scan]:
    """The sheet that is asked for, or the first that holds something."""
    for name in [wanted] if wanted else parts:
        scan = _Scan(archive.read(parts[name]), _XLSX, ("v", "is"))
        if wanted or (scan.tables and _width(scan.tables[0][1])):
            return name, scan
    raise ValueError("no sheet holds anything")


def _sheet_parts(archive: zipfile.ZipFile) -> dict[str, str]:
    """The part of each sheet, by the sheet's name."""
    targets: dict[str, str] = {}
    keys: dict[str, str] = {}

    def relation(tag: str, found: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "Relationship":
            target = posixpath.normpath(posixpath.join("/xl", found["Target"]))
            targets[found["Id"]] = target.lstrip("/")

    def sheet(tag: str, found: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "sheet":
            keys[found["name"]] = next(value for key, value in found.items() if key.endswith(":id"))

    for part, handler in ((_BOOK_RELATIONS, relation), (_BOOK, sheet)):
        parser = expat.ParserCreate()
        parser.StartElementHandler = handler
        parser.Parse(archive.read(part), True)
    return {name: targets[key] for name, key in keys.items()}


def _xlsx_edits(
    content: bytes, rows: Sequence[_Place], prefix: str, addition: Addition
) -> list[tuple[int, int, bytes]]:
    """Replacements in the part of a sheet: from where, to where, by what."""
    first, header = _width(rows) + 1, _header(rows)
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
            style = _attribute(content, there or row, b"s")
            new.append(_xlsx_cell(f"{letters(column)}{row.number}", cell, prefix, style))
            if there:
                edits.append((there.start, there.end, b""))
        index = later[0].start if later else _row_end(row)
        text = "".join(new).encode()
        if row.empty:
            edits.append((row.head - 2, row.end, b">" + text + f"</{prefix}row>".encode()))
        else:
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


def _attribute(content: bytes, place: _Place, name: bytes) -> str:
    """An attribute of a cell or a row, such as its format, as it is written in the start tag."""
    match = re.search(rb"\s" + name + rb"""\s*=\s*("[^"]*"|'[^']*')""", content[place.start : place.head])
    return f" {name.decode()}={match[1].decode()}" if match else ""


def _row_end(row: _Place) -> int:
    """The place behind a row's last cell."""
    return row.cells[-1].end if row.cells else row.head


def _xlsx_cell(place: str, cell: Cell, prefix: str, style: str) -> str:
    p = prefix
    if cell is None:
        return f'<{p}c r="{place}"{style}/>' if style else ""
    if not isinstance(cell, str):
        return f'<{p}c r="{place}"{style}><{p}v>{cell!r}</{p}v></{p}c>'
    text = f'<{p}t xml:space="preserve">{_written(cell)}</{p}t>'
    return f'<{p}c r="{place}"{style} t="inlineStr"><{p}is>{text}</{p}is></{p}c>'


def _new_sheet(
    archive: zipfile.ZipFile, parts: Mapping[str, str], title: str, rows: Sequence[Sequence[Cell]]
) -> dict[str, bytes]:
    """The part of a new sheet, and the parts that name it."""
    book = archive.read(_BOOK)
    strict = b"purl.oclc.org" in book
    main, relations = (_STRICT_MAIN, _STRICT) if strict else (_MAIN, _RELATIONS)
    number = max(int(found) for found in re.findall(rb'sheetId="(\d+)"', book)) + 1
    part, key = f"xl/worksheets/quaver{number}.xml", f"quaver{number}"
    sheet = f'<q:sheet xmlns:q="{main}" xmlns:r="{relations}" name={quoteattr(_free(title, parts))} '
    sheet += f'sheetId="{number}" r:id="{key}"/>'
    relation = f'<q:Relationship xmlns:q="{_PACKAGE}/relationships" Id="{key}" '
    relation += f'Type="{relations}/worksheet" Target="/{part}"/>'
    kind = f'<q:Override xmlns:q="{_PACKAGE}/content-types" PartName="/{part}" ContentType="{_SHEET_TYPE}"/>'
    lines = []
    for position, row in enumerate(rows, 1):
        cells = "".join(
            _xlsx_cell(f"{letters(index)}{position}", cell, "", "") for index, cell in enumerate(row, 1)
        )
        lines.append(f'<row r="{position}">{cells}</row>')
    whole = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<worksheet xmlns="{main}"><cols>'
    whole += '<col min="1" max="1" width="28" customWidth="1"/><col min="2" max="2" width="100" '
    whole += f'customWidth="1"/></cols><sheetData>{"".join(lines)}</sheetData></worksheet>'
    return {
        part: whole.encode(),
        _BOOK: _before_end(book, "sheets", sheet),
        _BOOK_RELATIONS: _before_end(archive.read(_BOOK_RELATIONS), "Relationships", relation),
        _TYPES: _before_end(archive.read(_TYPES), "Types", kind),
    }


def _free(title: str, taken: Mapping[str, object]) -> str:
    """A title that no sheet has."""
    known = {name.casefold() for name in taken}
    titles = (title if number == 1 else f"{title} {number}" for number in count(1))
    return next(one for one in titles if one.casefold() not in known)


def _before_end(content: bytes, tag: str, text: str) -> bytes:
    """A part with a last child in its only element of this name."""
    *_, last = re.finditer(rb"</(?:\w+:)?" + tag.encode() + rb"\s*>", content)
    return _with(content, [(last.start(), last.start(), _ascii(text))])


def _with(content: bytes, edits: Sequence[tuple[int, int, bytes]]) -> bytes:
    """A part with some places replaced."""
    parts, behind = [], 0
    for start, end, text in sorted(edits, key=lambda edit: edit[:2]):
        parts += [content[behind:start], text]
        behind = end
    return b"".join([*parts, content[behind:]])


# ------------------------------------------------------------------------- .ods

_CONTENT = "content.xml"
_ODS = ("table", "table-row", ("table-cell", "covered-table-cell"))


def _edited_ods(archive: zipfile.ZipFile, addition: Addition) -> dict[str, bytes]:
    content = archive.read(_CONTENT)
    scan = _Scan(content, _ODS, ("p",))
    tables = {name: rows for name, rows in scan.tables if addition.sheet in (None, name) and _width(rows)}
    if not tables:
        raise ValueError("no sheet holds anything")
    rows = next(iter(tables.values()))
    edits = _ods_edits(content, rows, addition)
    if addition.notes:
        title, notes = addition.notes
        title = _free(title, dict(scan.tables))
        lines = "".join(f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in notes)
        table = f"<table:table table:name={quoteattr(title)}>{lines}</table:table>"
        behind = _behind_tag(content, scan.after_tables)
        edits.append((behind, behind, _ascii(table)))
    return {_CONTENT: _with(content, edits)}


def _ods_edits(content: bytes, rows: Sequence[_Place], addition: Addition) -> list[tuple[int, int, bytes]]:
    """Replacements in the content: whole rows, and of a row that stands for many, those between them."""
    first, header = _width(rows) + 1, _header(rows)
    new = {**addition.rows, header: addition.heads}
    wanted = sorted(new)
    edits = []
    for row in rows:
        behind = row.number + row.times
        own = wanted[bisect_left(wanted, row.number) : bisect_left(wanted, behind)]
        parts, begun = [], row.number
        for number in own:
            parts += [_ods_same(content, row, number - begun), _ods_row(content, row, first, new[number])]
            begun = number + 1
        if own:
            parts.append(_ods_same(content, row, behind - begun))
            edits.append((row.start, row.end, b"".join(parts)))
    return edits


def _ods_same(content: bytes, row: _Place, times: int) -> bytes:
    """A row without new cells, which stands for so many rows."""
    return _ods_head(content, row, times) + content[row.head : row.end] if times else b""


def _ods_head(content: bytes, row: _Place, times: int) -> bytes:
    """A row's start tag, for so many rows."""
    head = re.sub(rb'\s+table:number-rows-repeated="\d+"', b"", content[row.start : row.head])
    repeated = rb' table:number-rows-repeated="%d"\1' % times
    return head if times == 1 else re.sub(rb"(/?>)$", repeated, head)


def _ods_row(content: bytes, row: _Place, first: int, cells: Sequence[Cell]) -> bytes:
    """A row with new cells from a column on, in the format of the empty ones that stand there."""
    head = _ods_head(content, row, 1)
    head = head[:-2] + b">" if row.empty else head
    behind = first + len(cells)
    parts = [_ods_part(content, cell, 1, first) for cell in row.cells]
    if (lacking := first - _behind(row.cells)) > 0:
        parts.append(f'<table:table-cell table:number-columns-repeated="{lacking}"/>'.encode())
    for column, cell in enumerate(cells, first):
        there = next((one for one in row.cells if one.number <= column < one.number + one.times), None)
        style = _attribute(content, there, b"table:style-name") if there else ""
        parts.append(_ods_cell(cell, style).encode())
    parts += [_ods_part(content, cell, behind, _behind(row.cells)) for cell in row.cells]
    return b"".join([head, *parts, b"</table:table-row>"])


def _ods_part(content: bytes, cell: _Place, first: int, behind: int) -> bytes:
    """What a cell, which may stand for many, holds of some columns."""
    text = content[cell.start : cell.end]
    times = min(behind, cell.number + cell.times) - max(first, cell.number)
    if times == cell.times:
        return text
    repeated = re.sub(rb'(number-columns-repeated=")\d+', rb"\g<1>%d" % times, text, count=1)
    return repeated if times > 0 else b""


def _ods_cell(cell: Cell, style: str = "") -> str:
    if cell is None:
        return f"<table:table-cell{style}/>"
    if not isinstance(cell, str):
        return f'<table:table-cell{style} office:value-type="float" office:value="{cell!r}"/>'
    lines = "".join(f"<text:p>{_SPACES.sub(_spaces, _written(line))}</text:p>" for line in cell.split("\n"))
    return f'<table:table-cell{style} office:value-type="string">{lines}</table:table-cell>'


_SPACES = re.compile("^ +| {2,}")


def _spaces(match: re.Match[str]) -> str:
    """Spaces that would be read as one, or as none at the beginning."""
    return f'<text:s text:c="{len(match[0])}"/>'
