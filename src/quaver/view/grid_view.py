"""What is shown of the grid: which rows in which order, which columns, and what fits the query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from quaver.view.asked import Asked
from quaver.view.query_fields import pick
from quaver.view.query_language import QueryError
from quaver.view.query_scope import Scope
from quaver.view.study_index import Column, IndexDesign

SORTS = {
    "item": "in the study's order",
    "id": "by id",
    "instability": "least stable first",
    "agreement": "most stable first",
    "gold": "by gold label",
    "accuracy": "least accurate first",
    "confidence": "least confident first",
    "unlabelled": "most answers without a label first",
    "marked": "marked items first",
}
"""The orders of rows and what they are for."""

_UNLABELLED = pl.col("_answered").cast(pl.Int64) - pl.col("_labelled")
_KEYS: Mapping[str, Sequence[pl.Expr | str]] = {
    "item": ["row"],
    "id": ["item"],
    "instability": [-pl.col("instability").fill_null(0), -_UNLABELLED],
    "agreement": [-pl.col("agreement").fill_null(-1)],
    "gold": ["_gold", "_modal"],
    "accuracy": ["accuracy"],
    "confidence": ["_confidence"],
    "unlabelled": [-_UNLABELLED],
    "marked": [-pl.col("_marked").cast(pl.Int8)],
}
"""What rows are sorted by, the smallest first and those without it last; equal ones stay in order."""

BY = ("design", "agreement", "prompt", "model", "repeat")
"""The orders of columns."""

_ROWS_AT_ONCE = 2_000
MARGINS = ("answered", "valid", "agreeing", "right", "with_gold", "matched")
"""Counts over the rows that are shown, for each column."""


@dataclass
class GridView:
    """A view of the grid, computed once for all windows onto it.

    Attributes:
        scope: Where it was asked.
        frame: The answers, and calls without one where the query may be about these.
        condition: What must hold of them.
        rows: The numbers of the items, in order.
        hits: How many matching answers each of these has.
        order: The places of the shown columns among those of the scope, in order.
        groups: For each column that is shown, the places in the scope of those that share it.
        margins: Counts for each column of the scope.
        counts: How many matching answers have each legend code.
    """

    scope: Scope
    frame: pl.LazyFrame
    condition: pl.Expr
    rows: Any
    hits: Any
    order: Sequence[int]
    groups: Sequence[Sequence[int]]
    margins: pl.DataFrame
    counts: Any

    @property
    def matched(self) -> int:
        """How many answers match."""
        return int(self.margins["matched"].sum())

    def columns(self) -> list[Column]:
        """The columns that are shown; of those that share one, the first."""
        design = self.scope.index.design
        return [design.columns[self.scope.columns[group[0]]] for group in self.groups]

    def matches(self, window: slice | None = None, *, whole: bool = False) -> Iterator[pl.DataFrame]:
        """The matching answers by row and column, some rows at a time, with ``place``, their row in the view.

        Args:
            window: Only these.
            whole: All answers of the rows that are shown instead.
        """
        before = np.concatenate([[0], np.cumsum(self.hits)])
        start, stop = (0, len(self.rows)) if window is None else _covering(before, window)
        columns = np.zeros(self.scope.index.width, np.uint32)
        columns[[self.scope.columns[at] for at in self.order]] = np.arange(len(self.order))
        for first in range(start, stop, _ROWS_AT_ONCE):
            frame = self._placed(first, min(first + _ROWS_AT_ONCE, stop))
            frame = frame if whole else frame.filter(self.condition)
            found = self.scope.index.collected(frame.with_columns(across=pick(pl.Series(columns), "column")))
            found = found.sort("place", "across")
            if window is not None:
                found = found.slice(
                    max(0, window.start - int(before[first])),
                    window.stop - max(window.start, int(before[first])),
                )
            yield found

    def _placed(self, first: int, last: int) -> pl.LazyFrame:
        """The cells of some rows, with their ``place``."""
        places = np.full(self.scope.index.design.items, -1)
        places[self.rows[first:last]] = np.arange(first, last)
        frame = self.frame.with_columns(place=pick(pl.Series(places), "row"))
        return frame.filter(pl.col("place") >= 0)

    def counted(self, name: str) -> pl.DataFrame:
        """How many matching answers, or items, have each ``value`` of a field, the most frequent first."""
        fields = self.scope.fields
        level, values = fields.level_of(name), fields.column(name)
        weights = np.zeros(len(values), np.int64)
        if level == "legend":
            weights[:] = self.counts
        elif level == "column":
            weights[list(self.scope.columns)] = self.margins["matched"]
        else:
            weights[self.rows] = 1
        frame = pl.DataFrame({"value": values, "n": weights}).filter(pl.col("n") > 0)
        frame = frame if level == "row" else frame.drop_nulls()
        return (
            frame.group_by("value", maintain_order=True)
            .agg(pl.col("n").sum())
            .sort("n", descending=True, maintain_order=True)
        )

    def place_of(self, row: int | None) -> int | None:
        """The place of an item among the rows; None where it is not shown."""
        places: Any = np.flatnonzero(self.rows == row) if row is not None else ()
        return int(places[0]) if len(places) else None

    def cells(self, window: slice, left: int, width: int) -> tuple[Any, Any, Any]:
        """A window: legend codes, which cells match, and how confident the answers are (0 for unknown)."""
        start, stop, _ = window.indices(len(self.rows))
        groups, design = self.groups[left : left + width], self.scope.index.design
        codes = np.zeros((max(0, stop - start), len(groups)), design.cell_type)
        match, sure = codes.astype(np.uint8), codes.astype(np.uint8)
        if not codes.size:
            return codes, match, sure
        across = np.full(self.scope.index.width, -1)
        for place, group in enumerate(groups):
            across[[self.scope.columns[at] for at in group]] = place
        frame = self._placed(start, stop).with_columns(across=pick(pl.Series(across), "column"))
        scaled = 1 + (pl.col("confidence").clip(0, 1) * 254).round()
        known = frame.filter(pl.col("across") >= 0).select(
            pl.col("place") - start,
            "across",
            "legend",
            match=self.condition.cast(pl.UInt8),
            sure=scaled.fill_null(0).fill_nan(0).cast(pl.UInt8),
        )
        if len(groups) < sum(map(len, groups)):
            known = folded(known, design)
        found = self.scope.index.collected(known)
        where = found["place"].to_numpy(), found["across"].to_numpy()
        codes[where], match[where], sure[where] = found["legend"], found["match"], found["sure"]
        return codes, match, sure


def _covering(before: Any, window: slice) -> tuple[int, int]:
    """The rows that hold a window of their answers, which are counted up to each row."""
    first = int(np.searchsorted(before, window.start, "right")) - 1
    return max(0, first), min(len(before) - 1, int(np.searchsorted(before, window.stop, "left")))


def folded(cells: pl.LazyFrame, design: IndexDesign) -> pl.LazyFrame:
    """The most frequent label over the repeats of a condition; without labels, the first of the statuses."""
    labels = len(design.codes)
    ranks = pl.Series(
        [
            0,
            *(sorted(design.codes).index(code) for code in design.codes),
            *range(len(design.legend) - labels - 1),
        ]
    )
    counts = cells.group_by("place", "across", "legend").agg(pl.len(), pl.col("match", "sure").max())
    is_label = (pl.col("legend") > 0) & (pl.col("legend") <= labels)
    order = [
        ~is_label,
        pl.when(is_label).then(-pl.col("len").cast(pl.Int64)).otherwise(0),
        pick(ranks, "legend"),
    ]
    best = pl.col("legend").filter(pl.col("legend") > 0).first().fill_null(0)
    return (
        counts.sort(order)
        .group_by("place", "across", maintain_order=True)
        .agg(best, pl.col("match", "sure").max())
    )


def grid_view(scope: Scope, asked: Asked) -> GridView:
    """A view."""
    sort = asked.sort.removeprefix("-")
    if sort not in SORTS or asked.by not in BY:
        name = asked.sort if sort not in SORTS else asked.by
        raise QueryError("there is no such order", (0, 0), expected=", ".join((*SORTS, *BY)), found=name)
    condition = scope.fields.condition(asked.query)
    frame = scope.calls if scope.fields.of_missing else scope.answers
    hits, margins, counts = _selected(scope, frame, condition)
    rows = _ordered(scope, np.flatnonzero(hits >= 0), sort)
    rows = rows[::-1] if asked.sort.startswith("-") else rows
    order = _ordered_columns(scope, margins, asked)
    conditions = [scope.index.design.columns[scope.columns[at]].condition for at in order]
    groups = [[at] for at in order]
    if asked.fold == "repeat":
        together = dict.fromkeys(conditions)
        groups = [[at for at, of in zip(order, conditions, strict=True) if of == one] for one in together]
    return GridView(scope, frame, condition, rows, hits[rows], order, groups, margins, counts)


def _selected(scope: Scope, frame: pl.LazyFrame, condition: pl.Expr) -> tuple[Any, pl.DataFrame, Any]:
    """How many matching answers each row has, -1 if it is not shown; the margins, and counts by code."""
    index, size = scope.index, len(scope.index.design.legend)
    answered, label, gold = pl.col("legend") > 0, pl.col("label"), pl.col("gold")
    holds = condition
    if {*condition.meta.root_names()} <= {"row"}:  # of items, which need no answers
        shown = scope.numbers.with_columns(condition.alias("_holds"))["_holds"].to_numpy()
        hits, holds = scope.numbers["_answered"].to_numpy().astype(np.int64), answered
    else:
        hits = np.zeros(index.design.items, np.int64)
        found = index.collected(frame.filter(condition).group_by("row").len())
        hits[found["row"]] = found["len"]
        shown = hits > 0
    sums = {"answered": answered, "valid": label.is_not_null(), "agreeing": label == pl.col("modal")}
    sums |= {"right": label == gold, "with_gold": answered & gold.is_not_null(), "matched": holds}
    by_code = pl.DataFrame(schema=dict.fromkeys(("column", "legend", *sums), pl.Int64))
    if shown.any():
        frame = frame if shown.all() else frame.filter(pick(pl.Series(shown), "row"))
        counted = frame.select("column", "legend", **sums).group_by("column", "legend")
        by_code = index.collected(counted.agg(pl.col(*sums).sum())).cast(pl.Int64)
    by_column = by_code.group_by("column").agg(pl.col(*sums).sum())
    margins = pl.DataFrame({"column": scope.columns}, schema={"column": pl.Int64})
    margins = margins.join(by_column, on="column", how="left", maintain_order="left").fill_null(0)
    counts = np.bincount(by_code["legend"], by_code["matched"], size).astype(np.int64)
    return np.where(shown, hits, -1), margins, counts


def _ordered(scope: Scope, rows: Any, sort: str) -> Any:
    """Rows in order."""
    if sort == "item":
        return rows
    index, codes = scope.index, scope.index.design.legend_codes
    frame = scope.numbers.with_columns(item=index.ids)
    if sort == "gold":
        names = {f"_{name}": pl.col(name).cast(pl.String).replace_strict(codes) for name in ("gold", "modal")}
        frame = frame.with_columns(**names).with_columns(pl.col("_gold").replace(0, None))
    elif sort == "confidence":
        means = index.collected(scope.answers.group_by("row").agg(_confidence=pl.col("confidence").mean()))
        frame = frame.join(means, on="row", how="left", maintain_order="left")
    elif sort == "marked":
        frame = frame.with_columns(_marked=scope.marks["mark"].is_not_null())
    return frame[rows].sort(_KEYS[sort], nulls_last=True, maintain_order=True)["row"].to_numpy()


def _ordered_columns(scope: Scope, margins: pl.DataFrame, asked: Asked) -> list[int]:
    """The places of the columns that are shown, in order; equal ones stay in the design's order."""
    columns = [scope.index.design.columns[column] for column in scope.columns]
    shown = [
        place for place in range(len(columns)) if asked.columns != "matching" or margins["matched"][place]
    ]
    keys: Any = [0.0] * len(columns)
    if asked.by == "agreement":
        shares = -(margins["agreeing"] / margins["valid"].clip(1))
        keys = shares.to_list()
        if asked.fold == "repeat":  # the repeats of a condition stay together
            frame = pl.DataFrame({"key": shares, "of": [column.condition for column in columns]})
            keys = frame.select(pl.col("key").mean().over("of")).to_series().to_list()
    elif asked.by == "repeat" and asked.fold != "repeat":
        keys = [column.repeat for column in columns]
    elif asked.by in ("prompt", "model"):
        names = [getattr(column, asked.by) for column in columns]
        keys = [names.index(name) for name in names]
    return sorted(shown, key=lambda place: keys[place])
