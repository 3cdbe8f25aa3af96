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

_LABEL, _GOLD = pl.col("label"), pl.col("gold")
MARGINS: Mapping[str, pl.Expr] = {
    "answered": pl.len(),
    "valid": _LABEL.is_not_null().sum(),
    "agreeing": (pl.col("modal") == _LABEL).sum(),
    "right": (_LABEL == _GOLD).sum(),
    "with_gold": _GOLD.is_not_null().sum(),
    "matched": pl.col("matches").sum(),
}
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
        margins: Counts for each ``column``.
        counts: How many matching answers, ``n``, have each ``legend`` code.
    """

    def __init__(self, scope: Scope, query: str, sort: str) -> None:
        if sort not in SORTS:
            raise QueryError("there is no such order", expected=", ".join(SORTS), found=sort)
        self.scope = scope
        condition = scope.condition(query)
        self._answers = scope.answers.with_columns(matches=condition)
        self._matching = scope.answers.filter(condition)
        hits = self._matching.group_by("row").agg(hits=pl.len().cast(pl.Int64)).collect()
        items = scope.numbers.with_columns(item=scope.snapshot.ids).join(
            hits, on="row", how="left", maintain_order="left"
        )
        of_items = {*condition.meta.root_names()} <= {"row"}  # they match without an answer, too
        shown = items.filter(condition if of_items else pl.col("hits") > 0)
        shown = shown.sort(_KEYS[sort], nulls_last=True, maintain_order=True)
        self.rows, self._ends = shown["row"], shown["hits"].fill_null(0).cum_sum()
        columns = pl.DataFrame({"column": range(scope.snapshot.width)}, schema={"column": pl.UInt16})
        margins = self._placed(slice(None)).group_by("column").agg(**MARGINS).collect()
        self.margins = columns.join(margins, on="column", how="left", maintain_order="left").fill_null(0)
        self.counts = self._matching.group_by("legend").agg(n=pl.len()).sort("legend").collect()

    @property
    def matched(self) -> int:
        """How many answers match."""
        return int(self.counts["n"].sum())

    def _placed(self, window: slice) -> pl.LazyFrame:
        """The answers in some rows, with their ``place`` among these, and whether they match."""
        places = self.rows[window].to_frame().lazy().with_row_index("place")
        return self._answers.join(places, on="row")

    def answers(self, window: slice) -> pl.DataFrame:
        """Some of the matching answers by row and column, with ``place``, their row in the view."""
        first, last = (self._ends.search_sorted(index, "right") for index in (window.start, window.stop))
        before = int(self._ends[first - 1]) if first else 0
        placed = self._placed(slice(first, last + 1)).filter("matches").sort("place", "column").collect()
        some = placed.slice(window.start - before, window.stop - window.start)
        return some.with_columns(pl.col("place") + first)

    def cells(self, window: slice, left: int, width: int) -> tuple[Any, Any]:
        """A window: legend codes, and which cells match."""
        width = max(0, min(width, self.scope.snapshot.width - left))
        codes = np.zeros((len(self.rows[window]), width), self.scope.snapshot.design.cell_type)
        match = codes.astype(np.uint8)
        if codes.size:
            inside = pl.col("column").is_between(left, left + width - 1)
            cells = self._placed(window).filter(inside)
            shown = cells.select("place", pl.col("column") - left, "legend", "matches").collect()
            where = shown["place"].to_numpy(), shown["column"].to_numpy()
            codes[where], match[where] = shown["legend"], shown["matches"]
        return codes, match

    def counted(self, name: str) -> pl.DataFrame:
        """How many matching answers, or items, have each ``value`` of a field, the most frequent first."""
        level = self.scope.level_of(name)
        numbers = {
            "legend": self.counts,
            "column": self.margins.select("column", n="matched"),
            "row": self.rows.to_frame().with_columns(n=1),
        }[level]
        frame = numbers.filter(pl.col("n") > 0).select("n", value=pick(self.scope.column(name), level))
        frame = frame if level == "row" else frame.drop_nulls()
        counted = frame.group_by("value", maintain_order=True).agg(pl.col("n").sum())
        return counted.sort("n", descending=True, maintain_order=True)

    def place_of(self, row: int | None) -> int | None:
        """The place of an item among the rows; None where it is not shown."""
        return None if row is None else self.rows.index_of(row)

    def item_line(self, row: int) -> dict[str, Any]:
        """An item with its groups and its labels in numbers."""
        groups = self.scope.snapshot.items.row(row, named=True)
        about = {"at": row, "item": groups.pop("item")}
        about["groups"] = {group: value for group, value in groups.items() if value is not None}
        return about | self.scope.numbers.select(_NUMBERS).row(row, named=True)
