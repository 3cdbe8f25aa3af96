"""``tables/``: every table of the page as CSV.

In CSV a number is whole: a column of intervals becomes two, its ends; no text is a
formula to a spreadsheet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl
from markupsafe import Markup

from quaver.core.estimate_frame import estimates_frame
from quaver.core.records import Estimate
from quaver.core.replaced_file import replacing
from quaver.core.spreadsheet import csv_text as safe_csv
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
    return safe_csv([frame.columns, *frame.iter_rows()])


def tidy(table: Table) -> pl.DataFrame:
    """The table as data: numbers as they are, not as they are printed.

    A column in which a cell holds two numbers gives ``… low`` and ``… high``. Counts are whole, without
    commas; shares are fractions of 1.

    >>> tidy(Table(("what", "n"), (("a", "1,200"), ("b", "—")), frozenset({1}))).rows()
    [('a', 1200), ('b', None)]
    """
    series: dict[str, pl.Series] = {}
    for index, heading in enumerate(table.headings):
        cells = [row[index] for row in table.rows]
        if index not in table.numeric:
            _put(series, heading, pl.Series(list(map(plain, cells)), dtype=pl.String))
            continue
        numbers = list(map(numbers_of, cells))
        ends = _ENDS if any(len(some) > 1 for some in numbers) else {"": 0}
        kind = pl.Int64 if all(map(_is_count, cells)) else pl.Float64
        for name, end in ends.items():
            values = [some[end] if some else None for some in numbers]
            _put(series, f"{heading}{name}", pl.Series(values, dtype=pl.Float64).cast(kind))
    return pl.DataFrame(series)


_ENDS = {" low": 0, " high": -1}
"""The columns of an interval's ends, and the place of each in its cell; a lone number is both."""


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
    if isinstance(cell, Markup) and (numbers := _DATA.findall(cell)):
        return list(map(float, numbers))
    text = plain(cell).strip()
    return [float(text.replace(",", "").replace("−", "-"))] if _COUNT.fullmatch(text) else []


def write_estimates(estimates: Sequence[Estimate], path: Path) -> None:
    """Write the estimates as tidy CSV (UTF-8); ``excluded`` and ``details`` are JSON."""
    with replacing(path) as part:
        text = csv_text(estimates_frame(estimates, whole=True))
        part.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
