"""``estimates.csv``: every estimate in full precision, a row each, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quaver.core.records import Estimate
from quaver.core.replaced_file import replacing
from quaver.core.spreadsheet import safe_cell

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
    columns = sorted({column for one in estimates for column in one.cell})
    reserved = {"measure", *COLUMNS, *_LAST}
    header = [f"cell.{column}" if column in reserved else column for column in columns]
    with (
        replacing(path) as part,
        part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(safe_cell(name) for name in ["measure", *header, *COLUMNS, *_LAST])
        for one in estimates:
            cells = [one.cell.get(column) for column in columns]
            writer.writerow(safe_cell(value) for value in [one.measure, *cells, *_values(one)])


def _values(one: Estimate) -> list[Any]:
    return [
        *(None if end is None else float(end) for end in (one.value, one.low, one.high)),
        one.confidence_level,
        one.n,
        one.unit,
        one.estimand,
        one.reason,
        "; ".join(one.warnings),
        _json(one.excluded),
        _json(one.details),
        one.method,
        one.reference,
    ]


def _json(mapping: Any) -> str:
    return json.dumps(dict(mapping), ensure_ascii=False, default=str) if mapping else ""
