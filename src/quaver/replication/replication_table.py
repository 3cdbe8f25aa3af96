"""A replication as a table: on the terminal, in Markdown, in LaTeX and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from markupsafe import Markup

from quaver.core.number_format import span
from quaver.errors import StoreError
from quaver.replication.replication import Replicated, Replication
from quaver.report.table_rows import Table
from quaver.report.tables.printed_tables import latex, markdown
from quaver.report.tables.written_tables import csv_text

NAME = "replication"
"""The name of the files, without an ending."""

_HEADS = (
    "where",
    "measure",
    "cell",
    "published",
    "published interval",
    "recomputed",
    "interval that holds",
    "verdict",
)


def replication_table(of: Replication) -> Table:
    """The published and the recomputed numbers, a row each, with as many decimals as were published."""
    rows = [tuple(_cells(one)) for one in of.numbers]
    shown = [
        index for index, _ in enumerate(_HEADS) if index not in (0, 2, 4) or any(row[index] for row in rows)
    ]
    heads = tuple(_HEADS[index] for index in shown)
    numeric = frozenset(index for index, head in enumerate(heads) if head in _HEADS[3:7])
    return Table(heads, tuple(tuple(row[index] for index in shown) for row in rows), numeric, name=NAME)


def _cells(one: Replicated) -> Iterator[str | Markup]:
    digits = max(one.digits, 2)
    estimate = one.estimate
    yield one.where
    yield estimate.measure
    yield ", ".join(f"{column} {level}" for column, level in estimate.cell.items() if level != "imported")
    yield _number(one.published, one.digits)
    yield span(one.low, one.high, partial(_number, digits=one.digits))
    yield (estimate.reason or "") if estimate.value is None else _number(estimate.value, digits)
    yield span(estimate.low, estimate.high, partial(_number, digits=digits))
    yield one.verdict


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


def write_replication(of: Replication, folder: Path) -> list[Path]:
    """Write ``replication.md``, ``replication.tex`` and ``replication.csv``; the CSV has every digit."""
    table = replication_table(of)
    note = f"{of.source}: {of.summary}" if of.source else of.summary
    texts = {
        "md": f"{markdown(table)}\n\n{note}\n",
        "tex": f"{latex(table)}\n",
        "csv": csv_text(of.to_polars()),
    }
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for ending, text in texts.items():
            path = folder / f"{NAME}.{ending}"
            path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
            written.append(path)
    except OSError as error:
        raise StoreError("the table cannot be written", where=str(folder), found=str(error)) from error
    return written
