"""A copy of the user's table with new columns: rows, order and cells as they came, in the same format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import polars as pl

from quaver.core.spreadsheet import safe_cell
from quaver.core.transaction import Transaction
from quaver.design.items.table_files import EXCEL_SEPARATOR, SPREADSHEETS, cells_of_lines, read_rows
from quaver.errors import ItemError
from quaver.labelling.spreadsheet_edits import Addition, Cell, write_spreadsheet

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_LINES = (".jsonl", ".ndjson")
_AS_ROWS = (".txt", ".ods")
"""Files whose copy is a CSV file of their rows."""


@dataclass(frozen=True)
class TableFile:
    """A table and how it was read.

    Attributes:
        path: The file.
        encoding: Of a text file.
        separator: Of its cells; by its ending, if left out.
        sheet: Of a spreadsheet; the first that holds something, if left out.
        quote: "none" where quotation marks enclose no cells.
    """

    path: Path
    encoding: str = "utf-8"
    separator: str | None = None
    sheet: str | None = None
    quote: str | None = None


def labelled_path(source: Path) -> Path:
    """Where the copy goes: ``tweets-labelled.xlsx`` beside ``tweets.xlsx``.

    >>> labelled_path(Path("tweets.xlsx")).name, labelled_path(Path("lines.txt")).name
    ('tweets-labelled.xlsx', 'lines-labelled.csv')
    """
    ending = ".csv" if source.suffix.lower() in _AS_ROWS else source.suffix
    return source.with_name(f"{source.stem}-labelled{ending}")


def free_names(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Names for new columns that no column has.

    >>> free_names(["label", "agreement"], ["id", "Label"])
    ['label (Quaver)', 'agreement']
    """
    known = {name.strip().casefold() for name in taken}
    result = []
    for name in names:
        free, number = name, 1
        while free.casefold() in known:
            free = f"{name} (Quaver)" if number == 1 else f"{name} (Quaver {number})"
            number += 1
        result.append(free)
    return result


def write_labelled(
    change: Transaction,
    table: TableFile,
    target: Path,
    heads: Sequence[str],
    rows: Mapping[int, Sequence[Cell]],
    notes: tuple[str, Sequence[Sequence[Cell]]],
) -> str:
    """Write the copy, and a text file with the notes beside it.

    Args:
        change: What the files are written with.
        table: The user's file, which stays as it is.
        target: The copy.
        heads: The new columns' names.
        rows: The new cells by the number of their row or line in the file, as `Row.number` has it.
        notes: A title, and lines that say how the labels were made.

    Returns:
        The SHA-256 of the copy.
    """
    kind, part = table.path.suffix.lower(), change.file(target)
    if kind in _AS_ROWS:
        _write_rows(table, part, heads, rows)
    elif kind in SPREADSHEETS:
        write_spreadsheet(table.path, part, Addition(table.sheet, heads, rows))
    elif kind == ".parquet":
        _write_parquet(table.path, part, heads, rows)
    elif kind in _LINES:
        _write_objects(table, part, heads, rows)
    else:
        _write_delimited(table, part, heads, rows)
    title, lines = notes
    text = "".join(": ".join("" if cell is None else str(cell) for cell in line) + "\n" for line in lines)
    change.write(target.with_suffix(".txt"), f"{title}\n\n{text}".encode())
    return sha256(part.read_bytes()).hexdigest()


def _write_delimited(
    table: TableFile, part: Path, heads: Sequence[str], rows: Mapping[int, Sequence[Cell]]
) -> None:
    """Append the cells to the last line of each record: what stands before them keeps its quotation marks."""
    separator = table.separator or _SEPARATORS.get(table.path.suffix.lower(), ",")
    encoding = _with_mark(table)
    with table.path.open(encoding=encoding, newline="") as file:
        lines = file.readlines()
    if match := EXCEL_SEPARATOR.fullmatch(lines[0] if lines else ""):
        separator = match[1]
    reader = cells_of_lines(lines, separator, table.quote)
    new: dict[int, Sequence[Cell]] = {}
    for record in reader:
        if record:  # the first is the header
            new[reader.line_num] = rows.get(reader.line_num, [None] * len(heads)) if new else heads
    with part.open("w", encoding=encoding, newline="") as out:
        for number, line in enumerate(lines, start=1):
            if number not in new:
                out.write(line)
                continue
            text = line.rstrip("\r\n")
            added = io.StringIO()
            csv.writer(added, delimiter=separator, lineterminator="").writerow(map(safe_cell, new[number]))
            out.write(f"{text}{separator}{added.getvalue()}{line[len(text) :]}")


def _write_rows(
    table: TableFile, part: Path, heads: Sequence[str], rows: Mapping[int, Sequence[Cell]]
) -> None:
    """The rows as texts, with the new cells behind them."""
    found = read_rows(table.path, table.encoding, table.separator, sheet=table.sheet, quote=table.quote)
    with part.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(map(safe_cell, [*found[0], *heads]))
        for row in found:
            cells = rows.get(row.number, [None] * len(heads))
            writer.writerow(map(safe_cell, [*map(row.text, row), *cells]))


def _with_mark(table: TableFile) -> str:
    """The encoding, with the mark at the beginning of the file where it has one."""
    plain = table.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    with table.path.open("rb") as file:
        marked = file.read(3) == b"\xef\xbb\xbf"
    return "utf-8-sig" if plain and marked else table.encoding


def _write_objects(
    table: TableFile, part: Path, heads: Sequence[str], rows: Mapping[int, Sequence[Cell]]
) -> None:
    """Append the fields to each object: what stands before them keeps its spelling."""
    encoding = _with_mark(table)
    with table.path.open(encoding=encoding) as file, part.open("w", encoding=encoding, newline="") as out:
        for number, line in enumerate(file, start=1):
            text = line.rstrip()
            if not text:
                out.write(line)
                continue
            cells = dict(zip(heads, rows.get(number, [None] * len(heads)), strict=True))
            fields = json.dumps(cells, ensure_ascii=encoding not in ("utf-8", "utf-8-sig"))[1:-1]
            comma = "" if text[:-1].strip() == "{" else ", "
            out.write(f"{text[:-1].rstrip()}{comma}{fields}}}\n")


def _write_parquet(
    source: Path, part: Path, heads: Sequence[str], rows: Mapping[int, Sequence[Cell]]
) -> None:
    frame = pl.read_parquet(source, glob=False)
    empty = [None] * len(heads)
    cells = [rows.get(number, empty) for number in range(1, frame.height + 1)]
    try:
        new = pl.DataFrame(cells, schema=list(heads), orient="row", infer_schema_length=None)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise ItemError("no columns can be added to this file", where=str(source), found=str(error)) from None
    try:
        # It alone keeps what pandas notes of a table: its index, its own types.
        from pyarrow import parquet  # type: ignore[import-untyped]
    except ImportError:
        frame.hstack(new).write_parquet(part)
        return
    table = parquet.ParquetFile(source).read()
    for column in new:
        table = table.append_column(column.name, column.to_arrow())
    parquet.write_table(table, part)
