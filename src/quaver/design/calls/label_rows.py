"""The cells of a table of annotations that hold labels: who gave each, to which item, under which prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from quaver.design.items.table_row import Row
from quaver.design.spec import IMPORTED, AnnotationsSpec
from quaver.errors import ItemError


class LabelRows(NamedTuple):
    """The cells of a table that hold a label, or could: what the table says of each, column by column."""

    row: Sequence[int]
    item: list[str]
    coder: list[str]
    factors: list[tuple[str, ...]]
    decoding: list[str]
    repeat: list[str]
    label: list[str]


def label_rows(asked: AnnotationsSpec, rows: Sequence[Row]) -> LabelRows:
    """Every cell of a label, in the order of the table."""
    factors: list[tuple[str, ...]] = [()] * len(rows)
    if asked.variant:
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        columns = [_column(rows, name, "none") for name in asked.variant]
        factors = [shared.setdefault(levels, levels) for levels in zip(*columns, strict=True)]
    items, repeats = item_ids(asked, rows), _column(rows, asked.repeat)
    drawn = _column(rows, asked.decoding, IMPORTED)
    if not asked.coders:
        coders = _column(rows, asked.coder, IMPORTED)
        labels = _column(rows, asked.label)
        if asked.repeats_in_order:
            repeats = _in_turn(zip(items, coders, factors, drawn, strict=True))
        return LabelRows(range(len(rows)), items, coders, factors, drawn, repeats, labels)
    cells = [
        (at, items[at], name, factors[at], drawn[at], repeats[at], label)
        for at, row in enumerate(rows)
        for name in asked.coders
        if (label := row.text(name))
    ]
    return LabelRows(*map(list, zip(*cells, strict=True))) if cells else LabelRows([], [], [], [], [], [], [])


def item_ids(asked: AnnotationsSpec, rows: Sequence[Row]) -> list[str]:
    """Each row's item; without a column of items, each row is an item.

    Raises:
        ItemError: A row has none.
    """
    if asked.item is None:
        return [str(number) for number in range(1, len(rows) + 1)]
    found = _column(rows, asked.item)
    if "" in found:
        where = f"{rows[found.index('')].where}: {asked.item}"
        raise ItemError("this row has no item", where=where, found="an empty cell")
    return found


def _column(rows: Sequence[Row], column: str | None, absent: str = "") -> list[str]:
    if column is None:
        return [absent] * len(rows)
    return [row.text(column) or absent for row in rows]


def _in_turn(places: Iterable[tuple[Any, ...]]) -> list[str]:
    """For each row, how many rows before it are in the same place."""
    seen: Counter[tuple[Any, ...]] = Counter()
    found = []
    for place in places:
        found.append(str(seen[place]))
        seen[place] += 1
    return found
