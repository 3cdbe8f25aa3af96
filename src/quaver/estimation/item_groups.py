"""The groups of items, for measures that count a frame's rows themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Units
from quaver.estimation.column_roles import UnknownColumn


@dataclass(frozen=True, slots=True)
class ItemGroups:
    """Which group each item is in.

    Attributes:
        name: The groups' column; None where items are resampled.
        of: The group of each item that has one, both as text.
    """

    name: str | None = None
    of: Mapping[str, str] = field(default_factory=dict)

    def units(self, items: Sequence[str]) -> Units:
        """What is resampled of these items; an item without a group is its own.

        >>> ItemGroups("author", {"i": "x", "k": "x"}).units(["i", "j", "k"]).clusters.tolist()
        [0, 1, 0]
        """
        if self.name is None:
            return Units(len(items))
        keys = [(True, self.of[item]) if item in self.of else (False, item) for item in items]
        place = {key: at for at, key in enumerate(dict.fromkeys(keys))}
        return Units(len(items), np.array([place[key] for key in keys], np.int64), self.name)


def item_groups(frame: pl.DataFrame, group: str | None) -> ItemGroups:
    """The groups of a frame's items.

    Args:
        frame: With the column ``item``.
        group: The column that groups them; None: nothing does.

    Raises:
        UnknownColumn: There is no such column.
        MeasureError: An item is in two groups.
    """
    if group is None:
        return ItemGroups()
    if group not in frame.columns:
        raise UnknownColumn(group, frame.columns, where="group")
    pairs = frame.select(item=pl.col("item").cast(pl.String), group=pl.col(group).cast(pl.String))
    pairs = pairs.drop_nulls().unique()
    if (twice := pairs.filter(pl.col("item").is_duplicated())).height:
        raise MeasureError(
            f"an item with two values of group {group!r}",
            where="annotations",
            expected="one value in all rows of an item",
            found=f"item {sorted(twice['item'].to_list())[0]}",
        )
    return ItemGroups(group, dict(pairs.iter_rows()))
