"""What is shown of the grid: which rows in which order, and which answers match the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from quaver.view.queries import QueryError, Scope, pick

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

_NUMBERS = ("gold", "modal", "agreement", "instability", "accuracy", "labels", "valid")


class GridView:
    """A view of the grid, computed once for all windows onto it.

    Args:
        scope: Where it is asked.
        query: The query line.
        sort: The order of the rows, one of ``SORTS``.

    Attributes:
        rows: The numbers of the items, in order.
        margins: Counts for each column.
        counts: How many matching answers have each legend code.
    """

    def __init__(self, scope: Scope, query: str, sort: str) -> None:
        if sort not in SORTS:
            raise QueryError("there is no such order", (0, 0), expected=", ".join(SORTS), found=sort)
        self.scope, self._condition = scope, scope.condition(query)
        self._frame = scope.answers
        hits, shown, holds = self._matching()
        self.margins, self.counts = self._margins(shown, holds)
        items = scope.numbers.with_columns(item=scope.index.ids).filter(pl.Series(shown))
        sorted_items = items.sort(_KEYS[sort], nulls_last=True, maintain_order=True)
        self.rows: Any = sorted_items["row"].to_numpy()
        self._hits = hits[self.rows]

    def _matching(self) -> tuple[Any, Any, pl.Expr]:
        """How many matching answers each item has, which items are shown, and what holds of these answers."""
        numbers, index = self.scope.numbers, self.scope.index
        if {*self._condition.meta.root_names()} <= {"row"}:  # of items, which need no answers
            shown = numbers.with_columns(self._condition.alias("_holds"))["_holds"].to_numpy()
            return numbers["_answered"].to_numpy().astype(np.int64), shown, pl.lit(True)
        hits = np.zeros(index.design.items, np.int64)
        found = index.collected(self._frame.filter(self._condition).group_by("row").len())
        hits[found["row"]] = found["len"]
        return hits, hits > 0, self._condition

    def _margins(self, shown: Any, holds: pl.Expr) -> tuple[pl.DataFrame, Any]:
        """The margins of the rows that are shown, and how many that match have each legend code."""
        index, label, gold = self.scope.index, pl.col("label"), pl.col("gold")
        sums = {"answered": pl.lit(True), "valid": label.is_not_null(), "agreeing": label == pl.col("modal")}
        sums |= {"right": label == gold, "with_gold": gold.is_not_null(), "matched": holds}
        answers = self._frame.filter(pick(pl.Series(shown), "row")).select("column", "legend", **sums)
        by_code = index.collected(answers.group_by("column", "legend").agg(pl.col(*sums).sum())).cast(
            pl.Int64
        )
        columns = pl.DataFrame({"column": range(index.width)}, schema={"column": pl.Int64})
        by_column = by_code.group_by("column").agg(pl.col(*sums).sum())
        margins = columns.join(by_column, on="column", how="left", maintain_order="left").fill_null(0)
        counts = np.bincount(by_code["legend"], by_code["matched"], len(index.design.legend))
        return margins.select(MARGINS), counts.astype(np.int64)

    @property
    def matched(self) -> int:
        """How many answers match."""
        return int(self.margins["matched"].sum())

    def answers(self, window: slice) -> pl.DataFrame:
        """Some of the matching answers by row and column, with ``place``, their row in the view."""
        before = np.concatenate([[0], np.cumsum(self._hits)])
        first = max(0, int(np.searchsorted(before, window.start, "right")) - 1)
        last = min(len(self.rows), int(np.searchsorted(before, window.stop, "left")))
        found = self.scope.index.collected(self._placed(first, last).filter(self._condition))
        start = max(0, window.start - int(before[min(first, len(before) - 1)]))
        return found.sort("place", "column").slice(start, window.stop - window.start)

    def _placed(self, first: int, last: int) -> pl.LazyFrame:
        """The answers of some rows, with their ``place``."""
        places = np.full(self.scope.index.design.items, -1)
        places[self.rows[first:last]] = np.arange(first, max(first, last))
        frame = self._frame.with_columns(place=pick(pl.Series(places), "row"))
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
                match=self._condition.cast(pl.UInt8),
                sure=scaled.fill_null(0).fill_nan(0).cast(pl.UInt8),
            )
        )
        where = found["place"].to_numpy(), found["column"].to_numpy()
        codes[where], match[where], sure[where] = found["legend"], found["match"], found["sure"]
        return codes, match, sure

    def counted(self, name: str) -> pl.DataFrame:
        """How many matching answers, or items, have each ``value`` of a field, the most frequent first."""
        level, values = self.scope.level_of(name), self.scope.column(name)
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

    def item_line(self, row: int) -> dict[str, Any]:
        """An item with its groups and its labels in numbers."""
        groups = self.scope.index.items.row(row, named=True)
        about = {"at": row, "item": groups.pop("item")}
        about["groups"] = {group: value for group, value in groups.items() if value is not None}
        return about | self.scope.numbers.select(_NUMBERS).row(row, named=True)
