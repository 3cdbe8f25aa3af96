"""``tables/``: every table of the page as CSV.

In CSV a number is whole: a column of intervals becomes two, its ends; no text is a
formula to a spreadsheet.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.core.replaced_file import replacing
from quaver.core.rows import cell_columns
from quaver.core.spreadsheet import safe_cell
from quaver.report.page_words import slug
from quaver.report.tables.table import Table, plain

_DATA = re.compile(r'<data value="([^"]*)">.*?</data>', re.DOTALL)
_COUNT = re.compile(r"[−-]?\d[\d,]*(\.\d+)?")


def write_tables(tables: Iterable[Table], folder: Path) -> None:
    """Write the tables that have rows, each under its name; those of an earlier report go."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.suffix == ".csv":
            old.unlink()
    for table in tables:
        if table.rows:
            path = folder / f"{slug(table.name)}.csv"
            path.write_text(csv_text(tidy(table)), encoding="utf-8", errors="backslashreplace", newline="")


def csv_text(frame: pl.DataFrame) -> str:
    """A table as CSV that is safe to open in a spreadsheet."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(safe_cell(name) for name in frame.columns)
    for row in frame.iter_rows():
        writer.writerow(safe_cell(value) for value in row)
    return file.getvalue()


def tidy(table: Table) -> pl.DataFrame:
    """The table as data: numbers as they are, not as they are printed.

    A cell with one number gives one; a column in which a cell holds two gives ``… low`` and ``… high``, one
    with three the value besides. Counts are whole, without commas; shares are fractions of 1.

    >>> tidy(Table(("what", "n"), (("a", "1,200"), ("b", "—")), frozenset({1}))).rows()
    [('a', 1200), ('b', None)]
    """
    series: dict[str, pl.Series] = {}
    for index, heading in enumerate(table.headings):
        cells = [row[index] for row in table.rows]
        if index not in table.numeric:
            _put(series, heading, pl.Series([plain(cell) for cell in cells], dtype=pl.String))
            continue
        numbers = [numbers_of(cell) for cell in cells]
        most = max([1, *(len(some) for some in numbers)])
        kind = pl.Int64 if all(map(_is_count, cells)) else pl.Float64
        for name, position in _PARTS.get(most, (("", 0),)):
            values = [_part(some, position, most) for some in numbers]
            _put(series, f"{heading}{name}", pl.Series(values, dtype=pl.Float64).cast(kind))
    return pl.DataFrame(series)


_PARTS = {2: ((" low", 0), (" high", 1)), 3: (("", 0), (" low", 1), (" high", 2))}


def _part(some: Sequence[float], index: int, most: int) -> float | None:
    """One of a cell's numbers; a cell without an interval has a value alone."""
    if some and len(some) == most:
        return some[index]
    return some[0] if some and ((most == 3 and index == 0) or most == 2) else None


def _put(series: dict[str, pl.Series], name: str, values: pl.Series) -> None:
    unique, index = name, 2
    while unique in series:
        unique, index = f"{name} {index}", index + 1
    series[unique] = values.alias(unique)


def _is_count(cell: str | Markup) -> bool:
    """Whether a cell holds a whole number that is printed as it is, or none."""
    match = _COUNT.fullmatch(plain(cell).strip())
    return not (isinstance(cell, Markup) and _DATA.search(cell)) and (match is None or match[1] is None)


def numbers_of(cell: str | Markup) -> list[float]:
    """The numbers of a cell, with their full values."""
    if isinstance(cell, Markup) and (found := _DATA.findall(cell)):
        return [float(value) for value in found]
    text = plain(cell).strip()
    return [float(text.replace(",", "").replace("−", "-"))] if _COUNT.fullmatch(text) else []


COLUMNS = (
    "value",
    "low",
    "high",
    "confidence_level",
    "n",
    "unit",
    "estimand",
    "reason",
    "warnings",
    "excluded",
    "details",
)
"""What follows the measure and its cell; ``method`` and ``reference`` come last."""

_LAST = ("method", "reference")


def write_estimates(estimates: Sequence[Estimate], path: Path) -> None:
    """Write the estimates as tidy CSV (UTF-8).

    A column for each column of their cells (named ``cell.…`` where it would have another's name);
    ``excluded`` and ``details`` are JSON, ``warnings`` are joined by semicolons.
    """
    columns = sorted(cell_columns(estimates))
    reserved = {"measure", *COLUMNS, *_LAST}
    header = [f"cell.{column}" if column in reserved else column for column in columns]
    with (
        replacing(path) as part,
        part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(safe_cell(name) for name in ["measure", *header, *COLUMNS, *_LAST])
        for estimate in estimates:
            cells = [estimate.cell.get(column) for column in columns]
            writer.writerow(safe_cell(value) for value in [estimate.measure, *cells, *_values(estimate)])


def _values(estimate: Estimate) -> list[Any]:
    return [
        *(None if end is None else float(end) for end in (estimate.value, estimate.low, estimate.high)),
        estimate.confidence_level,
        estimate.n,
        estimate.unit,
        estimate.estimand,
        estimate.reason,
        "; ".join(estimate.warnings),
        _json(estimate.excluded),
        _json(estimate.details),
        estimate.method,
        estimate.reference,
    ]


def _json(mapping: Any) -> str:
    return json.dumps(dict(mapping), ensure_ascii=False, default=str) if mapping else ""
