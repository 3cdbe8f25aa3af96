"""The parts of a spreadsheet file, checked before an engine reads them: a small file can exhaust the memory.

An .xlsx or .ods file is a ZIP archive of XML. A part may be packed a thousand to one, and two cells at
opposite corners of a sheet make an engine that keeps every cell between them allocate gigabytes. So does one
text that stands in thousands of cells. The engine ends the process where it gets no memory, so it reads a
copy that holds only parts whose real size and extent, and the memory that their cells need, were counted.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from xml.parsers import expat

from quaver.core.input_budget import MOST_BYTES, MOST_CELLS, InputBudget, TooLarge
from quaver.errors import ItemError

MOST_ROWS, MOST_COLUMNS, MOST_SHEETS = 2**20, 2**14, 1_000
"""Rows and columns of a sheet, as spreadsheets have them at most, and sheets of a file."""

_ELEMENT, _FILLED, _BETWEEN, _LETTER, _WIDE = 64, 96, 32, 4, 8
"""Bytes for an element, a filled cell, a cell between such, and a letter within ASCII or not."""

_MOST_PARTS = 10_000
_LONGEST_NUMBER = 20
"""Digits of a text's number."""

_CHUNK = 2**20
_KEPT = (".xml", ".rels")
_TEXTS = "xl/sharedstrings.xml"
_ELSEWHERE = ("docProps/", "customXml/", "xl/drawings/", "xl/charts/", "xl/theme/")
"""Where parts lie that no table needs."""
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError),
    *(ValueError, LookupError, OverflowError, expat.ExpatError),
)
"""What reading a damaged archive raises."""

_NO_VALUES = frozenset(
    [
        *("table:style-name", "table:number-columns-repeated", "table:content-validation-name"),
        *("table:number-columns-spanned", "table:number-rows-spanned"),
    ]
)
"""What is said of a cell and kept by no engine."""

_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


@dataclass(slots=True)
class Extent:
    """What is known of a sheet before it is read.

    Attributes:
        rows: The last row in which a cell holds something; from 1.
        columns: The last such column.
        merged: Some of the areas that are merged to one cell, as ``A2:A4``.
        truths: The columns with cells that are true or false.
    """

    rows: int = 0
    columns: int = 0
    merged: list[str] = field(default_factory=list)
    truths: set[int] = field(default_factory=set)

    def reach(self, row: int, column: int, budget: InputBudget) -> None:
        """Note a cell that holds something."""
        if row <= self.rows and column <= self.columns:
            return
        before = self.rows * self.columns
        self.rows, self.columns = max(self.rows, row), max(self.columns, column)
        cells = self.rows * self.columns
        if cells > MOST_CELLS or self.rows > MOST_ROWS or self.columns > MOST_COLUMNS:
            raise TooLarge(f"{self.rows:,} rows by {self.columns:,} columns")
        budget.spend((cells - before) * _BETWEEN)


def _memory() -> InputBudget:
    """What an engine and the rows after it may need, as it is estimated here."""
    return InputBudget(MOST_BYTES, "bytes for its cells and their texts")


def _size(text: str) -> int:
    """Bytes that a text takes, in the engine and after it."""
    return len(text) * (_LETTER if text.isascii() else _WIDE)


@dataclass(frozen=True, slots=True)
class Parts:
    """A copy of the file with the checked parts, and the extent of each sheet by its name."""

    content: bytes
    sheets: Mapping[str, Extent]


def checked_parts(path: Path) -> Parts:
    """Check a file's parts."""
    with path.open("rb") as file:
        if file.read(8) == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
            raise ItemError(
                "this file is protected by a password, or in Excel's format from before 2007",
                where=str(path),
                expected="a spreadsheet that opens without a password",
                fix="save it as .xlsx without a password",
            )
    try:
        return _ods(path) if path.suffix.lower() == ".ods" else _xlsx(path)
    except TooLarge as error:
        raise ItemError(
            "this spreadsheet is too large",
            where=str(path),
            expected=f"at most {MOST_SHEETS:,} sheets, {MOST_CELLS:,} cells, {MOST_BYTES:,} bytes unpacked",
            found=str(error),
            fix="delete what is far from the table, or save the table as CSV or Parquet",
        ) from None
    except _DAMAGED as error:
        found = " ".join(str(error).split())[:200] or type(error).__name__
        raise ItemError(
            "this is not a spreadsheet",
            where=str(path),
            expected="a file that a spreadsheet saved as .xlsx or .ods",
            found=found,
            fix="save it again, or save the table as CSV in UTF-8",
        ) from None


def _xlsx(path: Path) -> Parts:
    budget = _memory()
    book = _Workbook(budget)
    content = _copied(path, book.watch, budget)
    return Parts(content, book.sheets())


def _ods(path: Path) -> Parts:
    sheets: dict[str, Extent] = {}
    budget = _memory()

    def watch(name: str, parser: expat.XMLParserType) -> None:
        if name == "content.xml":
            _watch_tables(parser, sheets, budget)

    return Parts(_copied(path, watch, budget), sheets)


def _copied(path: Path, watch: Callable[[str, expat.XMLParserType], None], budget: InputBudget) -> bytes:
    """A copy of the parts that are XML, each parsed from its first byte to its last."""
    copy, unpacked = io.BytesIO(), InputBudget(MOST_BYTES, "bytes unpacked")
    with (
        zipfile.ZipFile(path) as archive,
        zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out,
    ):
        members = archive.infolist()
        names = {member.filename.casefold() for member in members}
        if len(members) > _MOST_PARTS or len(names) < len(members):
            raise ValueError(f"{len(members)} parts, {len(names)} different names")
        for member in sorted(members, key=_comes_first, reverse=True):
            name = member.filename
            if name.startswith(_ELSEWHERE) or (name != "mimetype" and not name.endswith(_KEPT)):
                continue
            member.file_size = 2**62  # what it says of its size may be wrong: its bytes are counted
            parser = None if name == "mimetype" else _parser(name, watch)
            with archive.open(member) as source, out.open(name, "w") as target:
                while chunk := source.read(_CHUNK):
                    unpacked.spend(len(chunk))
                    target.write(chunk)
                    if parser:
                        parser.Parse(chunk, False)
            if parser:
                parser.Parse(b"", True)
    budget.spend(2 * copy.tell())  # the engine makes a copy of its own
    return copy.getvalue()


def _comes_first(member: zipfile.ZipInfo) -> bool:
    """Whether a part holds the texts that cells refer to by number."""
    return member.filename.casefold() == _TEXTS


def _parser(name: str, watch: Callable[[str, expat.XMLParserType], None]) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.buffer_text = True  # a number comes whole
    parser.StartDoctypeDeclHandler = _no_doctype
    watch(name, parser)
    return parser


def _no_doctype(*_: object) -> None:
    raise ValueError("a part with a document type, which no spreadsheet writes")


class _Workbook:
    """What the parts of an .xlsx file say: its sheets' names, their parts, and the cells in these."""

    def __init__(self, budget: InputBudget) -> None:
        self._budget = budget
        self._keys: dict[str, str] = {}
        self._parts: dict[str, str] = {}
        self._extents: dict[str, Extent] = {}
        self._longest = 0
        self._texts = array("Q")  # the size of each text that cells refer to by its number

    def watch(self, name: str, parser: expat.XMLParserType) -> None:
        """Follow the elements of a part, whatever it says it is."""
        extent = self._extents[PurePosixPath(name.casefold()).name] = Extent()
        row = column = spent = 0
        refers, number = False, ""
        budget, texts, held = self._budget, self._texts, name.casefold() == _TEXTS

        def start(tag: str, found: dict[str, str]) -> None:
            nonlocal row, column, refers, number, spent
            kind = _local(tag)
            if kind == "row":
                row, column = int(found.get("r", row + 1)), 0
            elif kind == "c":
                row, column = _place(found["r"]) if "r" in found else (row, column + 1)
                refers, number, spent = found.get("t") == "s", "", 0
                if found.get("t") == "b":
                    extent.truths.add(column)
                budget.spend(_FILLED)
            elif kind in ("v", "is"):
                number = ""
                extent.reach(row, column, budget)
            else:
                budget.spend(_ELEMENT + sum(map(len, found.values())))
                if kind == "si" and held:
                    texts.append(0)
                else:
                    self._note(kind, name, found, extent)

        def text(data: str) -> None:
            nonlocal number, spent
            budget.spend(_size(data))
            if held and texts:
                texts[-1] += _size(data)
                self._longest = max(self._longest, texts[-1])
            elif refers:  # a number may come in parts
                number = (number + data).lstrip()[: _LONGEST_NUMBER + 1]
                size = self._size_of(number.rstrip())
                budget.spend(max(0, size - spent))
                spent = max(spent, size)

        parser.StartElementHandler, parser.CharacterDataHandler = start, text

    def _size_of(self, number: str) -> int:
        """The size of the text that a cell refers to.

        An engine reads ``+0`` and ``0.0`` as well: whatever is no plain number counts as the longest of them.
        """
        if not (number.isascii() and number.isdigit()) or len(number) > _LONGEST_NUMBER:
            return self._longest if number else 0
        index = int(number)
        return self._texts[index] if index < len(self._texts) else 0

    def _note(self, kind: str, name: str, found: dict[str, str], extent: Extent) -> None:
        """Follow an element that is rare."""
        if kind == "mergeCell" and len(extent.merged) < _MOST_PARTS:
            extent.merged.append(found.get("ref", "")[:40])
        elif kind == "sheet" and "name" in found:
            keys = [value for key, value in found.items() if _local(key) == "id"]
            self._keys[found["name"]] = (keys or [""])[0]
            _check_sheets(self._keys)
        elif kind == "Relationship" and name.endswith("workbook.xml.rels"):
            self._parts[found.get("Id", "")] = PurePosixPath(found.get("Target", "").casefold()).name

    def sheets(self) -> dict[str, Extent]:
        """The extent of each sheet."""
        parts = {name: self._parts.get(key, "") for name, key in self._keys.items()}
        shared = [part for part in parts.values() if part]
        if len(set(shared)) < len(shared):
            raise ValueError("two sheets that are one part")
        return {name: self._extents.get(part, Extent()) for name, part in parts.items()}


def _check_sheets(names: Mapping[str, object]) -> None:
    if len(names) > MOST_SHEETS:
        raise TooLarge(f"more than {MOST_SHEETS:,} sheets")


def _local(tag: str) -> str:
    return tag.rpartition(":")[2]


def _place(reference: str) -> tuple[int, int]:
    """Row and column of ``B7``, from 1."""
    match = _REFERENCE.fullmatch(reference)
    if not match:
        raise ValueError(f"a cell at {reference[:40]!r}")
    column = 0
    for letter in match[1]:
        column = 26 * column + ord(letter) - 64
    return int(match[2]), column


def _watch_tables(parser: expat.XMLParserType, sheets: dict[str, Extent], budget: InputBudget) -> None:
    """Follow the cells of all sheets of an .ods file, where a row or a cell may stand for many."""
    extent, row, rows, column, cells = Extent(), 0, 1, 0, 1
    holds = False

    def start(tag: str, found: dict[str, str]) -> None:
        nonlocal extent, row, rows, column, cells, holds
        match tag:
            case "table:table":
                extent = sheets.setdefault(found.get("table:name", ""), Extent())
                _check_sheets(sheets)
                budget.spend(_ELEMENT)
                row = column = 0
                rows = cells = 1
                holds = False
            case "table:table-row":
                row, column = row + rows if row else 1, 0
                rows, cells = int(found.get("table:number-rows-repeated", 1)), 1
                holds = False
            case "table:table-cell" | "table:covered-table-cell":
                column = column + cells if column else 1
                cells = int(found.get("table:number-columns-repeated", 1))
                values = [value for name, value in found.items() if name not in _NO_VALUES]
                holds = bool(values)
                if "office:value-type" in found or "table:formula" in found:
                    extent.reach(row + rows - 1, column + cells - 1, budget)
                if holds:
                    size = _FILLED + sum(map(_size, values))
                    budget.spend(size * max(1, rows) * max(1, cells))
                if found.get("office:value-type") == "boolean":
                    extent.truths.update(range(column, column + cells))
                down = int(found.get("table:number-rows-spanned", 1))
                across = int(found.get("table:number-columns-spanned", 1))
                if down * across > 1 and len(extent.merged) < _MOST_PARTS:
                    last = f"{letters(column + across - 1)}{row + down - 1}"
                    extent.merged.append(f"{letters(column)}{row}:{last}")
            case "text:p":
                if column:
                    holds = True
                    extent.reach(row + rows - 1, column + cells - 1, budget)
            case "text:s":
                spend(_LETTER * max(1, int(found.get("text:c", 1))))
            case _:
                budget.spend(_ELEMENT)

    def spend(size: int) -> None:
        budget.spend(size * (max(1, rows) * max(1, cells) if holds else 1))

    parser.StartElementHandler = start
    parser.CharacterDataHandler = lambda data: spend(_size(data))


def letters(column: int) -> str:
    """The name of a column: 1 is ``A``, 28 is ``AB``."""
    name = ""
    while column > 0:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name
