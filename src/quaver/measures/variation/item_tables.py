"""Items one by one: which the paraphrases move most, and which are least like the others of their class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from quaver.core.records import LabelSet
from quaver.errors import MeasureError
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing, cells
from quaver.estimation.column_roles import Columns
from quaver.estimation.measure_protocol import Frame, guarded
from quaver.measures.variation.item_pairs import Pairs
from quaver.measures.variation.item_sensitivity import (
    STRATA,
    Convention,
    Entropies,
    check_convention,
    mean_defined,
)

_NUMBERS = ("sensitivity", "corrected", "consistency", "predictions")


@guarded
def item_stability(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    convention: Convention = "recommended",
    missing: Missing | None = None,
    columns: Columns | None = None,
) -> pl.DataFrame:
    """Each item's sensitivity and consistency.

    Args:
        annotations: A row an annotation, as a measure takes them.
        labels: The label set.
        by: Columns that make the cells.
        convention: As in `quaver.measures.variation.item_sensitivity`.
        missing: As there.
        columns: Other names for the frame's columns.

    Returns:
        A row an item and cell: the columns of ``by``, ``item``, ``gold``, ``sensitivity``, ``corrected``
        (jackknifed), ``consistency`` (the mean over the other items of its class), ``predictions`` (the mean
        number over repeats), ``mode`` (the modal label). Null where a number is undefined.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "variant": [1, 2, 1, 2], "label": list("aaab"),
    ...                       "gold": list("aaaa")})
    >>> item_stability(frame).select("item", "sensitivity", "consistency", "mode").rows()
    [('1', 0.0, 0.5, 'a'), ('2', 1.0, 0.5, 'a')]
    """
    by = (by,) if isinstance(by, str) else tuple(by)
    missing = check_convention(convention, missing)
    schema = dict.fromkeys((*by, "item", "gold"), pl.String)
    parts = [pl.DataFrame(schema={**schema, **dict.fromkeys(_NUMBERS, pl.Float64), "mode": pl.String})]
    for cell in cells(
        annotations,
        raters=("variant",),
        within=STRATA,
        by=by,
        labels=labels,
        columns=columns,
        missing=missing,
        gold=True,
    ):
        parts.append(_of_cell(cell, schema, self_pairs=convention == "paper"))
    return pl.concat(parts)


def _of_cell(cell: Cell, schema: Mapping[str, type[pl.String]], *, self_pairs: bool) -> pl.DataFrame:
    """The rows of one cell's items."""
    counts = cell.counts()
    gold = np.full(len(cell.items), -1) if cell.gold is None else cell.gold
    strata = range(counts.shape[1])
    alike = [Pairs(counts[:, s], gold, self_pairs=self_pairs).per_item() for s in strata]
    found = Entropies.of(counts)
    none = np.full((len(cell.items), 1), np.nan)
    values = {
        "sensitivity": found.items,
        "corrected": mean_defined(found.corrected),
        "consistency": mean_defined(np.stack(alike, 1) if alike else none),
        "predictions": counts.sum(2).mean(1) if counts.size else none[:, 0],
    }
    modes = [cell.labels[row.argmax()] if row.any() else None for row in counts.sum(1)]
    where = {name: [value] * len(cell.items) for name, value in cell.where.items()}
    truths = [cell.labels[code] if code >= 0 else None for code in gold]
    frame = pl.DataFrame(
        {**where, "item": list(cell.items), "gold": truths, **values}, schema_overrides=schema
    )
    return frame.with_columns(pl.col(_NUMBERS).fill_nan(None), pl.Series("mode", modes, dtype=pl.String))


@guarded
def most_sensitive(items: pl.DataFrame, n: int = 20) -> pl.DataFrame:
    """The items of `item_stability` that paraphrases move most, in every cell.

    Args:
        items: What `item_stability` gives.
        n: How many a cell.

    Returns:
        Rows of that table, the most sensitive first; items that nothing moves are left out.

    Raises:
        MeasureError: It is another table, annotations for instance.

    >>> items = pl.DataFrame({"item": ["a", "b", "c"], "sensitivity": [0.0, 0.4, 0.9]})
    >>> most_sensitive(items, n=1)["item"].to_list()
    ['c']
    """
    _check(items, "sensitivity")
    return _first(items.filter(pl.col("sensitivity") > 0), "sensitivity", n, descending=True)


@guarded
def least_consistent(items: pl.DataFrame, n: int = 20, *, above: float = 0.5) -> pl.DataFrame:
    """The items that are least like the others of their class, among those that paraphrases move.

    Args:
        items: What `item_stability` gives.
        n: How many a cell.
        above: Only items whose sensitivity is above this.

    Returns:
        Rows of that table, the least consistent first.

    Raises:
        MeasureError: It is another table, annotations for instance.

    >>> columns = {"item": ["a", "b"], "sensitivity": [0.9, 0.8], "consistency": [0.6, 0.2]}
    >>> least_consistent(pl.DataFrame(columns))["item"].to_list()
    ['b', 'a']
    """
    _check(items, "sensitivity", "consistency")
    moved = items.filter((pl.col("sensitivity") > above) & pl.col("consistency").is_not_null())
    return _first(moved, "consistency", n, descending=False)


def _check(items: pl.DataFrame, *needed: str) -> None:
    for name in ("item", *needed):
        if name not in items.columns:
            raise MeasureError(
                "this table does not say how sensitive each item is",
                where="items",
                expected="the table that item_stability returns",
                found=f"columns {', '.join(items.columns[:8])}{', …' * (len(items.columns) > 8)}",
                fix="give item_stability(annotations, by=[…]) the annotations of one evaluator first",
            )


def _first(items: pl.DataFrame, column: str, n: int, *, descending: bool) -> pl.DataFrame:
    cell = items.columns[: items.columns.index("item")]
    ordered = items.sort([column, "item"], descending=[descending, False])
    if not cell:
        return ordered.head(n)
    return ordered.group_by(cell, maintain_order=True).head(n).sort(cell, maintain_order=True)
