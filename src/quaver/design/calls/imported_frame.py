"""The annotation frame of labels or answers that a table already holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.core.label_values import CellLabel, LabelCells, outside_label_set
from quaver.core.records import Item, LabelSet, Variant
from quaver.design.calls.label_rows import LabelRows
from quaver.design.factors.factor_level import ORIGINAL
from quaver.design.items.table_row import Row
from quaver.design.spec import IMPORTED, AnnotationsSpec
from quaver.errors import ItemError

FIX = "add it to the labels, map it to one of them, or list it under unlabelled"
"""What to do about a label outside the set."""


def imported_frame(
    asked: AnnotationsSpec,
    cells: LabelRows,
    rows: Sequence[Row],
    items: Mapping[str, Item],
    variants: Mapping[tuple[str, ...], Variant],
    labels: LabelSet,
) -> pl.DataFrame:
    """The annotation frame of a table.

    Raises:
        ItemError: A label is outside the set, or two labels are in one place.
    """
    repeats = _repeats(cells.repeat)
    read = _readings(asked, cells, rows, labels)
    columns: dict[str, list[Any]] = {
        "model": cells.coder,
        "variant": [variants[levels].id for levels in cells.factors],
        "decoding": cells.decoding,
        "item": cells.item,
        "repeat": [repeats[name] for name in cells.repeat],
        "evaluator": [IMPORTED] * len(cells.label),
        "label": [read[label].label for label in cells.label],
        "status": [read[label].status for label in cells.label],
        "reason": [read[label].reason for label in cells.label],
        "gold": [items[item].gold for item in cells.item],
    }
    extra: dict[str, list[Any]] = {}
    for factor in next(iter(variants.values())).factors if variants else ():
        extra[factor] = [variants[levels].factors[factor] for levels in cells.factors]
    for group in asked.groups:
        extra[group] = [items[item].groups[group] for item in cells.item]
    kinds = {**ANNOTATION_COLUMNS, **dict.fromkeys(extra, pl.Categorical)}
    if asked.original is not None:
        extra[ORIGINAL] = [variants[levels].covariates[ORIGINAL] for levels in cells.factors]
        kinds[ORIGINAL] = pl.Boolean
    empty = [None] * len(cells.label)
    data = {name: columns.get(name, empty) for name in ANNOTATION_COLUMNS} | extra
    frame = pl.DataFrame(data, schema=kinds)
    _check_places(frame, cells, rows)
    return frame


def _check_places(frame: pl.DataFrame, cells: LabelRows, rows: Sequence[Row]) -> None:
    """Check that no two labels belong to the same call."""
    double = frame.select("item", "model", "variant", "decoding", "repeat").is_duplicated()
    if not double.any():
        return
    seen: dict[tuple[Any, ...], Row] = {}
    for at, row, *place, _ in zip(range(len(cells.label)), *cells, strict=True):
        if double[at] and seen.setdefault(tuple(place), rows[row]) is not rows[row]:
            raise ItemError(
                f"two labels of item {cells.item[at]!r} are in one place",
                where=rows[row].where,
                expected="a column that distinguishes them",
                found=f"the same as at {seen[tuple(place)].where}",
                fix="name that column as repeat, variant, decoding or coder",
            )


def _readings(
    asked: AnnotationsSpec, cells: LabelRows, rows: Sequence[Row], labels: LabelSet
) -> dict[str, CellLabel]:
    """The meaning of every text that the cells of labels hold."""
    reader = LabelCells(labels.codes, asked.map, asked.unlabelled)
    found: dict[str, CellLabel] = {}
    outside: dict[str, int] = {}
    for at, written in enumerate(cells.label):
        if written in found or written in outside:
            continue
        if read := reader.read(written):
            found[written] = read
        else:
            outside[written] = at
    if outside:
        written, at = next(iter(outside.items()))
        where = f"{rows[cells.row[at]].where}: {asked.label or cells.coder[at]}"
        raise outside_label_set(f"the label of item {cells.item[at]!r}", where, [*outside], labels.codes, FIX)
    return found


def _repeats(repeats: Sequence[str]) -> dict[str, int]:
    """The number of each repeat: its own where all are whole numbers, otherwise by first appearance."""
    names = list(dict.fromkeys(repeats))
    try:
        numbers = {name: int(float(name)) for name in names if name}
        if len(set(numbers.values())) == len(numbers) and all(float(n) == numbers[n] for n in numbers):
            return {"": 0, **numbers} if "" not in names or len(names) == 1 else _in_order(names)
    except (ValueError, OverflowError):
        pass
    return _in_order(names)


def _in_order(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}
