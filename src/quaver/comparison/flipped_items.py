"""The items whose labels differ between two sides: which they are, their texts, and how many in each cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from quaver.comparison.alignment import Sides


class Changes:
    """In how many items the labels of two sides differ, by cell: of each set of columns counted once."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._found: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {}

    def within(self, by: Sequence[str]) -> Callable[[Mapping[str, str]], int]:
        """The count, of a cell of a measure that is taken by some columns.

        A conclusion's cell names variants beside those columns; one that is about all of a column's levels
        together lacks the column.
        """
        named = {*by, *self._sides.keys}

        def changed(cell: Mapping[str, str]) -> int:
            names = tuple(name for name in cell if name in named)
            if names not in self._found:
                self._found[names] = _counted_changes(self._sides, names)
            return self._found[names].get(tuple(cell[name] for name in names), 0)

        return changed


def _counted_changes(sides: Sides, by: Sequence[str]) -> dict[tuple[str, ...], int]:
    keys = [*by, "item"]
    marked = [
        frame.group_by(keys).agg(pl.col("label").fill_null("").sort().alias("labels"))
        for frame in (sides.before, sides.after)
    ]
    both = marked[0].join(marked[1], on=keys, suffix="_after", nulls_equal=True)
    moved = both.filter(pl.col("labels") != pl.col("labels_after"))
    counted = moved.group_by(pl.lit(0), *by).len().drop("literal").iter_rows()
    # A factor that does not apply has no level, which is "" in a cell.
    return {tuple("" if level is None else str(level) for level in row[:-1]): row[-1] for row in counted}


def flips_of(sides: Sides) -> pl.DataFrame:
    """The items whose modal label differs, in every cell, and whether that is a gain or a loss."""
    shown = [name for name in sides.compared if name not in sides.keys]
    flipped = modal_labels(sides, shown).filter(pl.col("before").ne_missing(pl.col("after")))
    gold = pl.col("gold") if "gold" in sides.before.columns else pl.lit(None, pl.String).alias("gold")
    change = (
        pl.when(pl.col("gold").is_null())
        .then(None)
        .when(pl.col("after").eq_missing(pl.col("gold")))
        .then(pl.lit("gain"))
        .when(pl.col("before").eq_missing(pl.col("gold")))
        .then(pl.lit("loss"))
    )
    return (
        flipped.join(
            sides.before.group_by("item").agg(gold.first()), on="item", how="left", maintain_order="left"
        )
        .with_columns(change.alias("change"))
        .select("item", *sides.keys, *shown, "before", "after", "gold", "change")
    )


def modal_labels(sides: Sides, shown: Sequence[str] = ()) -> pl.DataFrame:
    """Each item's modal label ``before`` and ``after``, in every cell."""
    keys = [*sides.keys, *shown, "item"]
    after = _modal(sides.after, keys, "after")
    return _modal(sides.before, keys, "before").join(after, on=keys, maintain_order="left")


def _modal(frame: pl.DataFrame, keys: Sequence[str], name: str) -> pl.DataFrame:
    """Each item's modal label in each cell, the first in the alphabet of several; null without any."""
    counted = (
        frame.group_by([*keys, "label"], maintain_order=True)
        .len()
        .with_columns(pl.col("label").is_not_null().alias("labelled"))
        .sort(["labelled", "len", "label"], descending=[True, True, False], maintain_order=True)
    )
    return counted.group_by(keys, maintain_order=True).agg(pl.col("label").first().alias(name)).sort(keys)
