"""Where an annotation or a stored call stands in the grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from quaver.collect.store.response_store import Store
from quaver.core.records import Condition
from quaver.view.index_design import IndexDesign

_CONDITION = ("model", "variant", "decoding")

READ: Final = (
    *(*_CONDITION, "item", "repeat", "evaluator", "label", "status"),
    *("truncated", "looping", "confidence"),
)
"""The columns of the annotation frame that an index is made of."""


class LabelCells:
    """Finds the cells of annotations by names.

    Args:
        design: The columns of the grid.
        items: The ids of its rows.
    """

    def __init__(self, design: IndexDesign, items: Sequence[str]) -> None:
        self._width = len(design.columns)
        self._items = pl.DataFrame({"item": items}, schema={"item": pl.String}).with_row_index("row")
        rows = [(*one, start) for one, start in zip(design.conditions, design.starts, strict=True)]
        schema = [*((name, pl.String) for name in _CONDITION), ("repeats", pl.Int64), ("start", pl.Int64)]
        self._conditions = pl.DataFrame(rows, schema=schema, orient="row")

    def placed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Annotations with their ``cell``: its place when all rows stand one behind the other."""
        names = pl.col(*_CONDITION, "item", "evaluator", "label", "status").cast(pl.String)
        joined = (
            frame.select(READ)
            .with_columns(names)
            .join(self._conditions, on=_CONDITION, how="inner", maintain_order="left")
            .join(self._items, on="item", how="inner", maintain_order="left")
            .filter(pl.col("repeat") < pl.col("repeats"))
        )
        cell = pl.col("row").cast(pl.Int64) * self._width + pl.col("start") + pl.col("repeat")
        return joined.with_columns(cell.alias("cell"))


class CallCells:
    """Finds the cells of stored calls by the store's own numbers.

    Args:
        design: The columns of the grid.
        items: The ids of its rows.
        conditions: The study's, follow-ups among them.
        store: The stored answers, whose numbers may be those of another version of the study.
    """

    def __init__(
        self, design: IndexDesign, items: Sequence[str], conditions: Sequence[Condition], store: Store
    ) -> None:
        self._width = len(design.columns)
        starts = dict(zip((one[:3] for one in design.conditions), design.starts, strict=True))
        repeats = {one[:3]: one[3] for one in design.conditions}
        own = {(c.model, c.variant, c.decoding, c.follow_up): at for at, c in enumerate(conditions)}
        stored = {at: tuple(names) for at, *names in store.rows(_CONDITIONS)}
        size = max(stored, default=-1) + 1
        self._start, self._repeats, self._own = (np.full(size, -1, np.int64) for _ in range(3))
        names = dict.fromkeys(one[3] for one in stored.values())
        self._follow_ups = {name: at for at, name in enumerate(names)}
        self._follow_up = np.zeros(size, np.int64)
        for place, names_of in stored.items():
            self._follow_up[place] = self._follow_ups[names_of[3]]
            self._start[place] = starts.get(names_of[:3], -1)
            self._repeats[place] = repeats.get(names_of[:3], 0)
            self._own[place] = own.get(names_of, -1)
        rows = {name: at for at, name in enumerate(items)}
        known = dict(store.rows("SELECT position, id FROM items"))
        self._row = np.full(max(known, default=-1) + 1, -1, np.int64)
        for place, name in known.items():
            self._row[place] = rows.get(name, -1)

    def cells(self, rows: Sequence[Sequence[Any]]) -> dict[str, tuple[Any, Any]]:
        """The cells of stored calls by their follow-up, and which of the rows these are.

        Args:
            rows: Of the response's number, the condition's, the item's, the repeat, and more.
        """
        places = np.array([row[1:4] for row in rows], np.int64).reshape(-1, 3)
        start, item = self._start[places[:, 0]], self._row[places[:, 1]]
        known = (start >= 0) & (item >= 0) & (places[:, 2] < self._repeats[places[:, 0]])
        cell = item * self._width + start + places[:, 2]
        found = {}
        for name, number in self._follow_ups.items():
            chosen = np.flatnonzero(known & (self._follow_up[places[:, 0]] == number))
            if len(chosen):
                found[name] = (cell[chosen], chosen)
        return found

    def own_places(self, condition: int, item: int) -> tuple[int, int] | None:
        """The study's numbers of a condition and an item; None where it does not have them any more."""
        places = int(self._own[condition]), int(self._row[item])
        return None if -1 in places else places


_CONDITIONS = "SELECT position, model, variant, decoding, ifnull(follow_up, '') FROM conditions"
