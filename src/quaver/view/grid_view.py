"""What is shown of the grid: which rows in which order, and which answers match the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from quaver.view.asked import Asked
from quaver.view.query_fields import pick
from quaver.view.query_language import QueryError
from quaver.view.query_scope import Scope

SORTS = {
    "item": "in the study's order",
    "id": "by id",
    "instability": "least stable first",
    "agreement": "most stable first",
    "gold": "by gold label",
    "accuracy": "least accurate first",
    "unlabelled": "most answers without a label first",
}
"""The orders of rows and what they are for."""

_UNLABELLED = pl.col("_labelled").cast(pl.Int64) - pl.col("_answered")
_KEYS: Mapping[str, Sequence[pl.Expr | str]] = {
    "item": ["row"],
    "id": ["item"],
    "instability": [-pl.col("instability").fill_null(0), _UNLABELLED],
    "agreement": [-pl.col("agreement").fill_null(-1)],
    "gold": ["gold", "modal"],
    "accuracy": ["accuracy"],
    "unlabelled": [_UNLABELLED],
}
"""What rows are sorted by, the smallest first and those without it last; equal ones stay in order."""

MARGINS = ("answered", "valid", "agreeing", "right", "with_gold", "matched")
"""Counts over the rows that are shown, for each column."""


@dataclass(frozen=True)
class GridView:
    """A view of the grid, computed once for all windows onto it.

    Attributes:
        scope: Where it was asked.
        frame: The answers, and calls without one where the query may be about these.
        condition: What must hold of them.
        rows: The numbers of the items, in order.
        hits: How many matching answers each of these has.
        margins: Counts for each column.
        counts: How many matching answers have each legend code.
    """

    scope: Scope
    frame: pl.LazyFrame
    condition: pl.Expr
    rows: Any
    hits: Any
    margins: pl.DataFrame
    counts: Any

    @property
    def matched(self) -> int:
        """How many answers match."""
        return int(self.margins["matched"].sum())

    def answers(self, window: slice) -> pl.DataFrame:
        """Some of the matching answers by row and column, with ``place``, their row in the view."""
        before = np.concatenate([[0], np.cumsum(self.hits)])
        first = max(0, int(np.searchsorted(before, window.start, "right")) - 1)
        last = min(len(self.rows), int(np.searchsorted(before, window.stop, "left")))
        found = self.scope.index.collected(self._placed(first, last).filter(self.condition))
        start = max(0, window.start - int(before[min(first, len(before) - 1)]))
        return found.sort("place", "column").slice(start, window.stop - window.start)

    def _placed(self, first: int, last: int) -> pl.LazyFrame:
        """The answers of some rows, with their ``place``."""
        places = np.full(self.scope.index.design.items, -1)
        places[self.rows[first:last]] = np.arange(first, max(first, last))
        frame = self.frame.with_columns(place=pick(pl.Series(places), "row"))
        return frame.filter(pl.col("place") >= 0)

    def cells(self, window: slice, left: int, width: int) -> tuple[Any, Any, Any]:
        """A window: legend codes, which cells match, and how confident the answers are (0 for unknown)."""
        start, stop, _ = window.indices(len(self.rows))
        width = max(0, min(width, self.scope.index.width - left))
        codes = np.zeros((max(0, stop - start), width), self.scope.index.design.cell_type)
        match, sure = codes.astype(np.uint8), codes.astype(np.uint8)
        if not codes.size:
            return codes, match, sure
        scaled = 1 + (pl.col("confidence").clip(0, 1) * 254).round()
        cells = self._placed(start, stop).filter(pl.col("column").is_between(left, left + width - 1))
        found = self.scope.index.collected(
            cells.select(
                pl.col("place") - start,
                pl.col("column").cast(pl.Int64) - left,
                "legend",
                match=self.condition.cast(pl.UInt8),
                sure=scaled.fill_null(0).fill_nan(0).cast(pl.UInt8),
            )
        )
        where = found["place"].to_numpy(), found["column"].to_numpy()
        codes[where], match[where], sure[where] = found["legend"], found["match"], found["sure"]
        return codes, match, sure

    def counted(self, name: str) -> pl.DataFrame:
        """How many matching answers, or items, have each ``value`` of a field, the most frequent first."""
        fields = self.scope.fields
        level, values = fields.level_of(name), fields.column(name)
        weights: Any = {"legend": self.counts, "column": self.margins["matched"]}.get(level)
        if weights is None:
            weights = np.zeros(len(values), np.int64)
            weights[self.rows] = 1
        frame = pl.DataFrame({"value": values, "n": weights}).filter(pl.col("n") > 0)
        frame = frame if level == "row" else frame.drop_nulls()
        counted = frame.group_by("value", maintain_order=True).agg(pl.col("n").sum())
        return counted.sort("n", descending=True, maintain_order=True)

    def place_of(self, row: int | None) -> int | None:
        """The place of an item among the rows; None where it is not shown."""
        places: Any = np.flatnonzero(self.rows == row) if row is not None else ()
        return int(places[0]) if len(places) else None


def grid_view(scope: Scope, asked: Asked) -> GridView:
    """A view."""
    if asked.sort not in SORTS:
        raise QueryError("there is no such order", (0, 0), expected=", ".join(SORTS), found=asked.sort)
    condition = scope.fields.condition(asked.query)
    frame = scope.calls if scope.fields.of_missing else scope.answers
    hits, shown, holds = _matching(scope, frame, condition)
    margins, counts = _margins(scope, frame.filter(pick(pl.Series(shown), "row")), holds)
    items = scope.numbers.with_columns(item=scope.index.ids).filter(pl.Series(shown))
    rows = items.sort(_KEYS[asked.sort], nulls_last=True, maintain_order=True)["row"].to_numpy()
    return GridView(scope, frame, condition, rows, hits[rows], margins, counts)


def _matching(scope: Scope, frame: pl.LazyFrame, condition: pl.Expr) -> tuple[Any, Any, pl.Expr]:
    """How many matching answers each item has, which items are shown, and what holds of these answers."""
    if {*condition.meta.root_names()} <= {"row"}:  # of items, which need no answers
        shown = scope.numbers.with_columns(condition.alias("_holds"))["_holds"].to_numpy()
        return scope.numbers["_answered"].to_numpy().astype(np.int64), shown, pl.col("legend") > 0
    hits = np.zeros(scope.index.design.items, np.int64)
    found = scope.index.collected(frame.filter(condition).group_by("row").len())
    hits[found["row"]] = found["len"]
    return hits, hits > 0, condition


def _margins(scope: Scope, frame: pl.LazyFrame, holds: pl.Expr) -> tuple[pl.DataFrame, Any]:
    """The margins of some answers, and how many that match have each legend code."""
    answered, label, gold = pl.col("legend") > 0, pl.col("label"), pl.col("gold")
    sums = {"answered": answered, "valid": label.is_not_null(), "agreeing": label == pl.col("modal")}
    sums |= {"right": label == gold, "with_gold": answered & gold.is_not_null(), "matched": holds}
    counted = frame.select("column", "legend", **sums).group_by("column", "legend").agg(pl.col(*sums).sum())
    by_code = scope.index.collected(counted).cast(pl.Int64)
    columns = pl.DataFrame({"column": range(scope.index.width)}, schema={"column": pl.Int64})
    by_column = by_code.group_by("column").agg(pl.col(*sums).sum())
    margins = columns.join(by_column, on="column", how="left", maintain_order="left").fill_null(0)
    size = len(scope.index.design.legend)
    counts = np.bincount(by_code["legend"], by_code["matched"], size).astype(np.int64)
    return margins.select(MARGINS), counts
