"""Rows from files: CSV, TSV, spreadsheets, JSON, Parquet, SPSS, Stata, lines; errors name the line."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.core.input_budget import TooLarge, read_file, read_parquet
from quaver.core.meter import little_garbage
from quaver.core.number_format import count, text_of
from quaver.design.items.record_files import PACKED, records_in, table_records, unpacked
from quaver.design.items.spreadsheet_files import check_names, read_spreadsheet, stands_above
from quaver.design.items.statistics_files import STATISTICS, read_statistics
from quaver.errors import ItemError, SpecError, nearest


class Row(dict[str, Any]):
    """A row's cells by column, and its place: ``items.csv:12``."""

    __slots__ = ("_file", "_place")

    def __init__(self, cells: Iterable[tuple[str, Any]], file: str, place: int | str) -> None:
        super().__init__(cells)
        self._file, self._place = file, place

    @property
    def where(self) -> str:
        """The file and the line, or the number of the row."""
        return f"{self._file}:{self._place}"

    @property
    def number(self) -> int:
        """The number of its row or line in the file, from 1; of a record of several lines, of its last."""
        return int(str(self._place).removeprefix(" row "))

    def text(self, column: str | None) -> str:
        """A cell's text without white space around it; empty for an empty cell."""
        cell = None if column is None else self.get(column)
        if isinstance(cell, str) and cell.isascii():  # nearly every cell, and a table may have millions
            return cell.strip()
        return text_of(cell, f"{self.where}: {column}")


def column_texts(rows: Iterable[Row], column: str) -> list[str]:
    """A column's cells as `Row.text` gives them; what many rows hold is read once."""
    known: dict[Any, str] = {}
    texts = []
    for row in rows:
        cell = row.get(column)
        text = known.get(cell) if isinstance(cell, str) else None
        if text is None:
            text = row.text(column)
            if isinstance(cell, str):
                known[cell] = text
        texts.append(text)
    return texts


_Reader = Callable[[Path, dict[str, Any]], list[Row]]

csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # a text may exceed the default of 128 kB
SPREADSHEETS = (".xlsx", ".xlsm", ".ods")
_LIKE_SPREADSHEETS = (".xls", ".xlsb", ".numbers", ".gsheet")
_SHORT = 40
"""Characters of a cell of a CSV file that is stored once, however often it occurs."""


def read_rows(
    path: Path,
    encoding: str = "utf-8",
    separator: str | None = None,
    *,
    sheet: str | None = None,
    quote: str | None = None,
    hint: str = "`{name}: {value}` under items",
) -> list[Row]:
    """Read a file of items or another table.

    With the ``quote`` "none", quotation marks are text like any other.

    Returns:
        One mapping a row; rows of empty cells, as spreadsheets leave them, are skipped, and so are the
        further headers that a survey program writes below the first.
    """
    ending = path.suffix.lower()
    if sheet is not None and ending not in (*SPREADSHEETS, *PACKED):
        raise SpecError(
            "only a spreadsheet has sheets",
            where="sheet",
            expected=f"a source that ends in {' or '.join(SPREADSHEETS)}",
            found=path.name,
            fix="leave `sheet` out",
        )
    if os.path.isdir(path):  # no error for a name that cannot be one
        return _folder(path, encoding, hint)
    if (reader := FORMATS.get(ending)) is None:
        raise ItemError(
            f"files that end in {path.suffix!r} are not read",
            where=str(path),
            expected=f"one of {', '.join(FORMATS)}",
            fix="save it as .xlsx" if ending in _LIKE_SPREADSHEETS else "save the table as CSV in UTF-8",
        )
    with _translated(path, encoding, hint), little_garbage():
        how = {
            "encoding": "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding,
            "separator": separator,
        }
        rows = reader(path, {**how, "sheet": sheet, "quote": quote, "hint": hint})
        return rows[further_headers(rows[:2]) :]


def _folder(path: Path, encoding: str, hint: str) -> list[Row]:
    """The texts of a folder, each in a file of its own, with brat's annotations beside them."""
    rows = list[Row]()
    for file in sorted(path.glob("*.txt")):
        with _translated(file, encoding, hint):
            text, marked = read_file(file).decode(encoding), None
            if (annotated := file.with_suffix(".ann")).is_file():
                marked = read_file(annotated).decode(encoding).strip() or "[]"
        cells = {"id": file.stem, "text": text, "marked": marked}
        rows.append(Row(cells.items(), f"{path.name}/{file.name}", f" row {len(rows) + 1}"))
    if not rows:
        expected = "a file of items, or a folder with texts in .txt files"
        raise ItemError("this folder has no texts", where=str(path), expected=expected, fix="name a file")
    return rows


def further_headers(rows: Sequence[Mapping[str, Any]]) -> int:
    """How many of a table's first two rows are Qualtrics' further headers: questions, and names."""
    for index, row in enumerate(rows):
        cells = [cell for cell in row.values() if isinstance(cell, str) and cell]
        if cells and 2 * sum(cell.startswith('{"ImportId"') for cell in cells) > len(cells):
            return index + 1
    return 0


@contextmanager
def _translated(path: Path, encoding: str, hint: str) -> Iterator[None]:
    """Turn what a reader raises into one error that says what to do."""
    try:
        yield
    except FileNotFoundError:
        raise ItemError(
            "there is no such file",
            where=str(path),
            expected="a file",
            found="nothing",
            fix=f"{_nearest_file(path)}paths in a study file start from its folder, those of a command here",
        ) from None
    except UnicodeError as error:
        raise ItemError(
            f"the file is not {encoding}",
            where=path.name + (f":{line}" if (line := _undecodable(path, encoding)) else ""),
            expected=f"text in {encoding}",
            found=f"byte {error.object[error.start]:#04x}"
            if isinstance(error, UnicodeDecodeError)
            else str(error),
            fix=f"name its encoding, for example {hint.format(name='encoding', value=_likely(path))}",
        ) from None
    except LookupError:
        raise ItemError(
            f"there is no encoding {encoding[:60]!r}",
            where="items.encoding",
            expected="an encoding that Python knows: utf-8, cp1252, utf-16",
            found=encoding[:60],
            fix="leave it out for UTF-8, or name the one that the file was saved in",
        ) from None
    except MemoryError:
        raise ItemError(
            "this file needs more memory than is available",
            where=str(path),
            fix="split it, or use a larger machine",
        ) from None
    except OSError as error:
        raise ItemError("the file of items cannot be read", where=str(path), found=str(error)) from None


def _undecodable(path: Path, encoding: str) -> int | None:
    """The first line that is not in this encoding, where lines are recognisable."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode(encoding)
            except UnicodeError:
                wide = "16" in encoding or "32" in encoding  # a line break is more than one byte
                return None if wide else number
    return None


def _likely(path: Path) -> str:
    """The encoding that a spreadsheet probably wrote: UTF-16 by its first bytes, or Western European."""
    with path.open("rb") as file:
        return "utf-16" if file.read(2) in (b"\xff\xfe", b"\xfe\xff") else "cp1252"


def _delimited(usual: str) -> _Reader:
    def read(path: Path, how: dict[str, Any]) -> list[Row]:
        with path.open(encoding=how["encoding"], newline="") as file:
            reader = cells_of_lines(file, how["separator"] or usual, how["quote"])
            return list(_records(reader, path, how["hint"]))

    return read


EXCEL_SEPARATOR = re.compile(r'"?sep=(.)"?\s*')
"""The line with which Excel names the separator, above the header."""


def cells_of_lines(lines: Iterable[str], separator: str, quote: str | None) -> Any:
    """A reader of the cells in a text file's lines."""
    rest = iter(lines)
    first = next(rest, "")
    if match := EXCEL_SEPARATOR.fullmatch(first):
        separator, first = match[1], "\n"
    quoting = {"quoting": csv.QUOTE_NONE} if quote == "none" else {}
    return csv.reader(chain([first], rest), delimiter=separator, strict=True, **quoting)  # type: ignore[arg-type]


_HEADER_BYTES: Final = 65_536


def how_written(path: Path) -> dict[str, str]:
    """How a text file is written, where it has to be said and is plain: ``separator`` and ``encoding``."""
    if path.suffix.lower() not in (".csv", ".tsv", ".tab") or not path.is_file():
        return {}
    how = {"separator": _separator_in(path) if path.suffix.lower() == ".csv" else None}
    with suppress(OSError):  # reading says it
        how["encoding"] = None if _undecodable(path, "utf-8") is None else _likely(path)
    return {name: value for name, value in how.items() if value}


def _separator_in(path: Path) -> str | None:
    """The separator of a CSV file whose header has no comma; None where it is not clear.

    Spreadsheets write semicolons where the comma is the decimal point.
    """
    with path.open("rb") as file:
        header = file.readline(_HEADER_BYTES).replace(b"\0", b"").strip()  # UTF-16 has a zero at each sign
    separators = [sign for sign in ";\t|" if sign.encode() in header]
    return (
        separators[0]
        if len(separators) == 1 and b"," not in header and not header.startswith(b"sep=")
        else None
    )


def _records(reader: Any, path: Path, hint: str) -> Iterator[Row]:
    """The rows of a text file."""
    no_quotes = f"if quotation marks are text, {hint.format(name='quote', value='none')}"
    try:
        header: list[str] = next((cells for cells in reader if cells), [])
        if not header:
            return
        second: list[str] = next((cells for cells in reader if any(cells)), [])
        if stands_above(header, second):
            header, second = second, next(reader, [])
        if len(header) == 1 and (other := next((sign for sign in ";\t|" if sign in header[0]), None)):
            raise ItemError(
                "the header is a single cell",
                where=f"{path.name}:1",
                found=header[0][:120],
                fix=f"say what separates the cells: {hint.format(name='separator', value=json.dumps(other))}",
            )
        if header.count("") > 1:
            raise ItemError(
                "the first row does not name the columns",
                where=f"{path.name}:1",
                expected="a name in each of its cells",
                found=", ".join(cell for cell in header if cell)[:120] or "empty cells",
                fix="if a title stands there, delete the rows above the columns' names",
            )
        check_names(header, f"{path.name}:1")
        for cells in chain([second], reader):
            if not cells or (len(cells) > 1 and not any(cells)):  # an empty line, or a sheet's empty row
                continue
            if len(cells) != len(header):
                raise ItemError(
                    "a row and the header differ in length",
                    where=f"{path.name}:{reader.line_num}",
                    expected=count(len(header), "cell"),
                    found=count(len(cells), "cell"),
                    fix=f"quote texts that hold the separator or a line break; {no_quotes}",
                )
            cells = [sys.intern(cell) if len(cell) <= _SHORT else cell for cell in cells]
            yield Row(zip(header, cells, strict=False), path.name, reader.line_num)
    except csv.Error as error:
        raise ItemError(
            f"damaged row: {error}",
            where=f"{path.name}:{reader.line_num}",
            fix=f"close every quotation mark, and double those inside a quoted text; {no_quotes}",
        ) from None


def _spreadsheet(path: Path, how: dict[str, Any]) -> list[Row]:
    placed = read_spreadsheet(path, how["sheet"], how["hint"].format(name="sheet", value="{value}"))
    return [Row(cells.items(), file, row) for cells, file, row in placed]


_HALF = re.compile("[\ud800-\udfff]")
"""Half a character, which JSON can write and no file in UTF-8 can hold."""


def _jsonl(path: Path, how: dict[str, Any]) -> list[Row]:
    records = []
    with path.open(encoding=how["encoding"]) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"{path.name}:{number}"
            try:
                row = json.loads(line, object_pairs_hook=_object)
            except (ValueError, RecursionError) as error:
                raise ItemError("this line is not JSON", where=where, found=str(error)) from None
            if not isinstance(row, dict):
                raise ItemError("this line is not an object", where=where, found=line.strip()[:80])
            records.append((number, row))
    return _rows_of(records, path.name, "")


def _json(path: Path, _: dict[str, Any]) -> list[Row]:
    return _rows_of([*enumerate(records_in(path)[1], start=1)], path.name, " row ")


def _rows_of(records: list[tuple[int, dict[str, Any]]], file: str, place: str) -> list[Row]:
    rows = [Row(record.items(), file, f"{place}{index}") for index, record in table_records(records)]
    columns = dict.fromkeys(name for row in rows for name in row)
    odd = next((name for name in columns if _HALF.search(name)), None)
    if odd is not None:
        raise ItemError(
            "the name of a column contains half a character",
            where=file,
            expected="names that UTF-8 can hold",
            found=ascii(odd)[:80],
            fix="rename it in the file",
        )
    for row in rows:  # an object may leave columns out
        row.update(dict.fromkeys(columns.keys() - row.keys()))
    return rows


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, whose names must differ."""
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"two values of {next(name for name in names if names.count(name) > 1)!r}")
    return result


def _parquet(path: Path, _: dict[str, Any]) -> list[Row]:
    try:
        return [
            Row(row.items(), path.name, f" row {number}")
            for number, row in enumerate(read_parquet(path).iter_rows(named=True), start=1)
        ]
    except TooLarge as error:
        raise ItemError(
            "this file unpacks to more than is read",
            where=str(path),
            found=str(error),
            fix="leave out columns that no prompt needs, or save the table as CSV",
        ) from None
    except OSError:
        raise
    # A damaged file raises any of polars' errors, a panic of its engine, or an impossible date.
    except (Exception, pl.exceptions.PanicException) as error:
        reason = " ".join(str(error).split())[:200]
        raise ItemError("this is not a Parquet file", where=str(path), found=reason) from None


def _statistics(path: Path, _: dict[str, Any]) -> list[Row]:
    rows = enumerate(read_statistics(path), start=1)
    return [Row(cells.items(), path.name, f" row {number}") for number, cells in rows]


def _packed(path: Path, how: dict[str, Any]) -> list[Row]:
    with unpacked(path) as inner:
        return read_rows(inner, **how)


def _lines(path: Path, how: dict[str, Any]) -> list[Row]:
    """Each line is the column ``text``; empty lines are skipped."""
    rows = []
    with path.open(encoding=how["encoding"]) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                rows.append(Row([("text", line.rstrip("\r\n"))], path.name, number))
    return rows


FORMATS: dict[str, _Reader] = {
    ".csv": _delimited(","),
    ".tsv": _delimited("\t"),
    ".tab": _delimited("\t"),
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".json": _json,
    ".parquet": _parquet,
    **dict.fromkeys(STATISTICS, _statistics),
    **dict.fromkeys(PACKED, _packed),
    ".xlsx": _spreadsheet,
    ".xlsm": _spreadsheet,
    ".ods": _spreadsheet,
    ".txt": _lines,
}
"""File ending -> reader."""


def _nearest_file(path: Path) -> str:
    """The file of a similar name in the same folder, as a question; empty where there is none."""
    try:
        guess = nearest(path.name, [file.name for file in path.parent.iterdir()])
    except OSError:
        return ""
    return f"did you mean {guess!r}? " if guess else ""
