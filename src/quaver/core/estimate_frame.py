"""Estimates as data: a row each, with typed columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from quaver.core.records import Estimate


def estimates_frame(estimates: Sequence[Estimate]) -> pl.DataFrame:
    """The estimates as data, a row each: the numbers of ``estimates.csv`` with their types."""
    columns = sorted({column for one in estimates for column in one.cell})
    own: dict[str, Any] = {
        "measure": pl.String,
        **dict.fromkeys(("value", "low", "high", "confidence_level"), pl.Float64),
        "n": pl.Int64,
        **dict.fromkeys(("unit", "estimand", "reason", "warnings", "method", "reference"), pl.String),
    }
    names = {column: f"cell.{column}" if column in own else column for column in columns}
    rows = [
        {
            **{names[column]: one.cell.get(column) for column in columns},
            **{name: getattr(one, name) for name in own if name != "warnings"},
            "warnings": "; ".join(one.warnings),
        }
        for one in estimates
    ]
    schema = {"measure": own.pop("measure"), **dict.fromkeys(names.values(), pl.String), **own}
    return pl.DataFrame(rows, schema=schema)
