"""A frame's rows as a mixed model takes them: right and wrong answers, counted by item and combination."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from quaver.errors import MeasureError
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Encoded, Ints, combine, encode
from quaver.estimation.formula import design, parsed
from quaver.measures.correctness._laplace_fit import Counted


def answer_rows(frame: pl.DataFrame, formula: str) -> tuple[pl.DataFrame, dict[str, int]]:
    """The rows to fit, with ``correct`` made where it is wanted and not there."""
    wanted = formula.partition("~")[0].strip() == "correct" and "correct" not in frame.columns
    if not wanted or not {"label", "gold"} <= set(frame.columns):
        return frame, {}
    known = frame["gold"].is_not_null()
    rows = frame.filter(known)
    same = pl.col("label").cast(pl.String) == pl.col("gold").cast(pl.String)
    excluded = {"item without gold": int((~known).sum())} if not known.all() else {}
    return rows.with_columns(correct=same.fill_null(value=False)), excluded


def grouped(rows: pl.DataFrame, names: Sequence[str]) -> list[Encoded]:
    """Each row's group, of every kind."""
    if not names:
        raise MeasureError("no column of items", where="group", expected="one or more", found="none")
    found = []
    for name in names:
        if name not in rows.columns:
            raise UnknownColumn(name, rows.columns, where="group")
        groups = encode(rows[name], name)
        if (groups.codes < 0).any() or len(groups.values) < 2:
            raise MeasureError(
                "a column that does not group the rows",
                where="group",
                expected="a value in every row, two or more in all",
                found=f"{len(groups.values)} values, {int((groups.codes < 0).sum())} rows without",
            )
        found.append(groups)
    return found


def right_or_wrong(frame: pl.DataFrame, name: str) -> Floats:
    """The response, 1 or 0 in each row."""
    if name not in frame.columns:
        raise UnknownColumn(name, frame.columns, where="formula")
    column = frame[name]
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise MeasureError(
            "a response that is not 0 or 1", where="formula", expected="0 and 1", found=str(column.dtype)
        )
    y = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if not np.isin(y, (0.0, 1.0)).all():
        strange = y[~np.isin(y, (0.0, 1.0))][0]
        raise MeasureError(
            "a response that is not 0 or 1", where="formula", expected="0 and 1", found=f"{strange:g}"
        )
    if not y.size or np.ptp(y) == 0:
        found = f"only {y[0]:g}" if y.size else "no rows"
        raise MeasureError("a response that does not vary", where="formula", expected="0 and 1", found=found)
    return np.asarray(y)


def combinations(
    rows: pl.DataFrame, formula: str, y: Floats, groups: Sequence[Encoded]
) -> tuple[tuple[str, ...], Counted, Ints]:
    """The names of the terms, the answers counted, and a row of each combination."""
    of = design(rows, formula)
    named = dict.fromkeys(name for term in parsed(formula)[1] for name in term)
    encoded = [*(("", one) for one in groups), *((name, encode(rows[name], name)) for name in named)]
    codes = combine(encoded, rows.height).codes
    first = np.unique(codes, return_index=True)[1]
    right, asked = (np.bincount(codes, one).astype(np.float64) for one in (y, np.ones(y.size)))
    counted = Counted(right, asked, of.matrix[first], groups[0].codes[first])
    return of.names, counted, first
