"""A copy of the user's table with new columns: rows, order and cells as they came, in the same format."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from quaver.core.spreadsheet import safe_cell
from quaver.core.transaction import Transaction
from quaver.design.items.record_files import PACKED, packed_again, records_in, table_ending, unpacked
from quaver.design.items.spreadsheet_files import sheets_of, stands_above, typed_cells
from quaver.design.items.statistics_files import STATISTICS, write_statistics
from quaver.design.items.table_files import EXCEL_SEPARATOR, SPREADSHEETS, Row, cells_of_lines, read_rows
from quaver.errors import ItemError
from quaver.study.labelling.spreadsheet_edits import Cell, write_spreadsheet

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_LINES = (".jsonl", ".ndjson")
_AS_ROWS = (".txt", ".ods")
"""Files whose copy is a CSV file of their rows."""

_Cells = Mapping[int, Sequence[Cell]]
"""New cells by the number of their row or line in the file, as `Row.number` has it."""


def labelled_path(source: Path) -> Path:
    """Where the copy goes: ``tweets-labelled.xlsx`` beside ``tweets.xlsx``.

    >>> labelled_path(Path("tweets.xlsx")).name, labelled_path(Path("lines.txt")).name
    ('tweets-labelled.xlsx', 'lines-labelled.csv')
    """
    ending = table_ending(source)
    stem = source.name.removesuffix(ending)
    return source.with_name(f"{stem}-labelled{'.csv' if ending.lower() in _AS_ROWS else ending}")


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


def hand_labels(
    rows: Sequence[Row], columns: Sequence[str], source: Path, sheet: str | None
) -> dict[str, Any]:
    """The cells of a table's columns of hand labels as the file holds them, by their texts in lower case."""
    labels: dict[str, Any] = {}
    for name in columns:
        typed = typed_cells(source, sheet, name) if source.suffix.lower() in SPREADSHEETS else {}
        for row in rows:
            if text := row.text(name):
                labels.setdefault(text.casefold(), typed.get(text, row[name]))
    return labels


def write_labelled(
    change: Transaction,
    source: Path,
    written: Mapping[str, Any],
    target: Path,
    heads: Sequence[str],
    rows: _Cells,
) -> str:
    """Write a copy of a table with new columns.

    Args:
        change: What the copy is written with.
        source: The user's file, which stays as it is.
        written: How it is written, as `read_rows` takes it: ``encoding``, ``separator``, ``sheet``.
        target: The copy.
        heads: The new columns' names.
        rows: The new cells by the number of their row or line in the file; the others are empty.

    Returns:
        The SHA-256 of the copy.
    """
    part = change.file(target)
    _write(source, written, part, heads, rows)
    return sha256(part.read_bytes()).hexdigest()


def _write(source: Path, written: Mapping[str, Any], part: Path, heads: Sequence[str], rows: _Cells) -> None:
    kind = source.suffix.lower()
    cells = defaultdict[int, Sequence[Cell]](lambda: [None] * len(heads), rows)
    if kind in SPREADSHEETS and kind not in _AS_ROWS:
        sheet = written.get("sheet") or sheets_of(source)[1]
        write_spreadsheet(source, part, sheet, heads, rows)
    elif kind == ".parquet":
        _write_parquet(source, part, heads, cells)
    elif kind in STATISTICS:
        write_statistics(source, part, heads, [cells[n] for n in range(1, len(read_rows(source)) + 1)])
    elif kind == ".json":
        _write_json(source, part, heads, cells)
    elif kind in PACKED:
        with unpacked(source) as inner:
            whole = labelled_path(inner)
            _write(inner, written, whole, heads, rows)
            packed_again(whole, part, kind)
    elif kind in _AS_ROWS:
        _write_rows(read_rows(source, **written), part, heads, cells)
    else:
        encoding = _with_mark(source, written.get("encoding") or "utf-8")
        with source.open(encoding=encoding, newline="") as file:
            lines = file.readlines()
        if kind in _LINES:
            new = _objects(lines, heads, cells, is_utf8=encoding.startswith("utf-8"))
        else:
            separator = written.get("separator") or _SEPARATORS.get(kind, ",")
            new = _records(lines, separator, written.get("quote"), heads, cells)
        with part.open("w", encoding=encoding, newline="") as out:
            out.writelines(new.get(number, line) for number, line in enumerate(lines, 1))


def _records(
    lines: Sequence[str], separator: str, quote: str | None, heads: Sequence[str], cells: _Cells
) -> dict[int, str]:
    """The last line of each record with its cells; the text before them keeps its quotation marks."""
    if match := EXCEL_SEPARATOR.fullmatch(lines[0] if lines else ""):
        separator = match[1]
    reader = cells_of_lines(lines, separator, quote)
    records = [(reader.line_num, record) for record in reader if record]
    header = int(len(records) > 1 and stands_above(records[0][1], records[1][1]))
    new: dict[int, str] = {}
    for at, (number, _) in enumerate(records):
        added = io.StringIO()
        own = heads if at == header else cells[number]
        csv.writer(added, delimiter=separator, lineterminator="").writerow(map(safe_cell, own))
        text, end = _without_end(lines[number - 1])
        new[number] = f"{text}{separator}{added.getvalue()}{end}"
    return new


def _objects(lines: Sequence[str], heads: Sequence[str], cells: _Cells, *, is_utf8: bool) -> dict[int, str]:
    """The lines of objects with more fields; the text before them is unchanged."""
    new = {}
    for number, line in enumerate(lines, 1):
        text, end = _without_end(line)
        if not text.strip():
            continue
        before = text.rstrip()[:-1].rstrip()
        comma = "" if before.strip() == "{" else ", "
        fields = json.dumps(dict(zip(heads, cells[number], strict=True)), ensure_ascii=not is_utf8)
        new[number] = f"{before}{comma}{fields[1:]}{end}"
    return new


def _write_json(source: Path, part: Path, heads: Sequence[str], cells: _Cells) -> None:
    """The objects with more fields, and the text around their list."""
    document, records = records_in(source)
    for number, record in enumerate(records, 1):
        record.update(zip(heads, cells[number], strict=True))
    part.write_text(
        json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8", errors="backslashreplace"
    )


def _without_end(line: str) -> tuple[str, str]:
    """A line and what ends it."""
    text = line.rstrip("\r\n")
    return text, line[len(text) :]


def _with_mark(source: Path, encoding: str) -> str:
    """The encoding, with the mark at the beginning of the file where it has one."""
    with source.open("rb") as file:
        is_marked = file.read(3) == b"\xef\xbb\xbf"
    is_utf8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    return "utf-8-sig" if is_marked and is_utf8 else encoding


def _write_rows(rows: Sequence[Any], part: Path, heads: Sequence[str], cells: _Cells) -> None:
    """The rows as texts, with the new cells behind them."""
    with part.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(map(safe_cell, [*rows[0], *heads]))
        for row in rows:
            writer.writerow(map(safe_cell, [*map(row.text, row), *cells[row.number]]))


def _write_parquet(source: Path, part: Path, heads: Sequence[str], cells: _Cells) -> None:
    frame = pl.read_parquet(source, glob=False)
    rows = [cells[number] for number in range(1, frame.height + 1)]
    try:
        new = pl.DataFrame(rows, schema=list(heads), orient="row", infer_schema_length=None)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise ItemError("no columns can be added to this file", where=str(source), found=str(error)) from None
    try:
        from pyarrow import parquet  # type: ignore[import-untyped]
    except ImportError:
        if "pandas" in pl.read_parquet_metadata(source):
            raise ItemError(
                "the index and the types of this table cannot be kept",
                where=str(source),
                expected="pyarrow, which alone writes what pandas notes of a table",
                found="pyarrow is not installed",
                fix='pip install "quaver[pandas]"',
            ) from None
        frame.hstack(new).write_parquet(part)
        return
    table = parquet.ParquetFile(source).read()
    for column in new:
        table = table.append_column(column.name, column.to_arrow())
    parquet.write_table(table, part)
