"""Which annotations a stability score is taken of: all, the valid ones, or as many valid ones everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from quaver.core.records import LabelSet
from quaver.core.seeds import derive
from quaver.estimation.cells import guarded
from quaver.estimation.coded_columns import UnknownColumn, combine, encode, frame_of
from quaver.estimation.measure_input import MeasureInput

View = Literal["original", "filtered", "balanced", "matched"]
"""``original``: every annotation. ``filtered``: those with a (valid) label. ``balanced``: of these, as
many for each level of a column as the level with the fewest has, by a seeded draw. ``matched``: of these,
the items that have one at every level (and in every condition)."""


@guarded
def view(
    annotations: Any,
    kind: View,
    *,
    across: str | Sequence[str] = "repeat",
    within: Sequence[str] = (),
    labels: LabelSet | Sequence[str] | None = None,
    item: str = "item",
    label: str = "label",
    seed: int = 0,
) -> pl.DataFrame:
    """The annotations of one view, to be given to any measure.

    Args:
        annotations: A row an annotation.
        kind: Which view.
        across: The columns whose levels are made alike in number: repeats, the paraphrases' temperature.
        within: Columns whose combinations are cut apart from each other.
        labels: The valid labels; without it, every label is.
        item: The column of items.
        label: The column of labels.
        seed: Seed of the draw that balances.

    Returns:
        Some of the frame's rows, in their order.

    Raises:
        MeasureError: A column does not exist, or the view is unknown.

    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "repeat": [0] * 3 + [1] * 3,
    ...                       "label": ["a", "b", "a", "a", None, "b"]})
    >>> [view(frame, kind).height for kind in ("original", "filtered", "balanced", "matched")]
    [6, 5, 4, 4]
    """
    frame = frame_of(annotations)
    across = (across,) if isinstance(across, str) else tuple(across)
    for where, names in {"item": (item,), "label": (label,), "across": across, "within": within}.items():
        for name in names:
            if name not in frame.columns:
                raise UnknownColumn(name, frame.columns, where=where)
    if kind == "original":
        return frame
    codes, values = encode(frame[label], label, labels=True)
    allowed = labels.codes if isinstance(labels, LabelSet) else labels
    valid = np.array([allowed is None or value in allowed for value in values] + [False])[codes]
    if kind == "filtered":
        return frame.filter(pl.Series(valid))
    kept = frame[np.flatnonzero(valid)]
    part = _codes(kept, within)
    level = _codes(kept, across)
    items = _codes(kept, (item,))
    if kind == "matched":
        return kept.filter(pl.Series(_match(part, level, items)))
    named = (*across, *within, item, label)
    others = [name for name in kept.columns if name not in named and not kept[name].dtype.is_nested()]
    return kept.filter(pl.Series(_balance(part, level, items, _codes(kept, others), seed)))


def viewed(data: MeasureInput, kind: View, across: str | None, within: Sequence[str]) -> MeasureInput:
    """A reading of one view of its annotations."""
    if kind == "original":
        return data

    def column(role: str) -> str:
        name = (data.columns or {}).get(role, role)
        return name if isinstance(name, str) else name[0]

    frame = data.frame
    across = across or (column("repeat") if column("repeat") in frame.columns else None)
    apart = dict.fromkeys([*map(column, within), *data.by])
    kept = view(
        frame,
        kind,
        across=() if across is None else across,
        within=[name for name in apart if name in frame.columns and name != across],
        labels=data.labels,
        item=column("item"),
        label=column("label"),
        seed=data.resampling.seed,
    )
    return data.of(kept)


def _codes(frame: pl.DataFrame, names: Sequence[str]) -> np.ndarray[Any, Any]:
    return combine([(name, encode(frame[name], name)) for name in names], frame.height).codes


def _balance(part: Any, level: Any, items: Any, rest: Any, seed: int) -> np.ndarray[Any, Any]:
    """In each part, keep of each level as many rows as its smallest has."""
    keep = np.zeros(part.size, bool)
    # The draw must not depend on the order of the rows.
    order = np.lexsort((rest, items, level, part))
    draw = np.empty(part.size)
    draw[order] = np.random.default_rng(derive(seed, "balance")).random(part.size)
    for one in np.unique(part):
        mine = np.flatnonzero(part == one)
        smallest = np.unique(level[mine], return_counts=True)[1].min()
        for at in np.unique(level[mine]):
            rows = mine[level[mine] == at]
            keep[rows[np.argsort(draw[rows], kind="stable")[:smallest]]] = True
    return keep


def _match(part: Any, level: Any, items: Any) -> np.ndarray[Any, Any]:
    """In each part, keep the items that have as many rows at each level as the fullest item has."""
    keep = np.zeros(part.size, bool)
    for one in np.unique(part):
        mine = np.flatnonzero(part == one)
        table = np.zeros((items.max() + 1, level.max() + 1), np.int64)
        np.add.at(table, (items[mine], level[mine]), 1)
        levels = np.unique(level[mine])
        full = table[:, levels].max(0)
        keep[mine] = (table[:, levels] == full).all(1)[items[mine]]
    return keep
