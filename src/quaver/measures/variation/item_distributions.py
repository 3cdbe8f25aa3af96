"""How sensitivity is spread over the items, and consistency over the pairs of items, behind their means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import Estimate, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing, cells
from quaver.estimation.column_roles import Columns
from quaver.estimation.measure_protocol import Frame, guarded
from quaver.measures.variation.item_pairs import Pairs
from quaver.measures.variation.item_sensitivity import (
    PAPER,
    STRATA,
    Convention,
    Entropies,
    check_convention,
)

__all__ = ["QUANTILES", "distributions"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""What is told of a distribution beside its histogram."""

_PAIRED = 300
"""Of more items in a class than these, the pairs among this many, evenly spread, are taken."""


@guarded
def distributions(
    annotations: Frame,
    of: Literal["sensitivity", "consistency"],
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    convention: Convention = "recommended",
    missing: Missing | None = None,
    bins: int = 20,
    matrix: int = 0,
    columns: Columns | None = None,
) -> list[Estimate]:
    """The distribution of the items' sensitivity, or of the consistency of the pairs of one class.

    The estimates' value is the median. ``details`` has ``quantiles`` (`QUANTILES`, by their share),
    ``counts`` (how many lie in each of the bins of equal width from 0 to 1, the last edge included) and
    ``values``, how many there are. An item's sensitivity, and a pair's consistency, is its mean over the
    repeats (of each model and decoding). A pair is of two different items. Of classes with more than 300
    items the pairs among 300 are taken, evenly spread over the items; ``details["items"]`` says how many.

    Args:
        annotations: A row an annotation, with a ``gold`` column for classes; see `Measure`.
        of: What is spread.
        labels: The label set.
        by: Columns that make the cells.
        convention: As in `quaver.measures.variation.item_sensitivity`.
        missing: As there.
        bins: Bins of the histogram.
        matrix: Up to how many of a class's items ``details["matrix"]`` holds the consistency of each pair of,
            the items in order of their commonest label; 0: none.
        columns: Other names for the frame's columns.

    Returns:
        For each cell: of sensitivity, one estimate over all items; of both, one for each gold label that has
        any, under ``"class"`` in the cell.

    Raises:
        MeasureError: The frame or an option cannot be used.

    One item split two to two over four labels (ln 2 / ln 4), another unanimous:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 1, 1, 2, 2, 2, 2], "variant": [1, 2, 3, 4] * 2,
    ...                       "label": list("aabbcccc"), "gold": list("aaaadddd")})
    >>> found = distributions(frame, "sensitivity", bins=2)
    >>> [(e.cell, e.value, e.details["counts"]) for e in found]
    [({}, 0.25, [1, 1]), ({'class': 'a'}, 0.5, [0, 1]), ({'class': 'd'}, 0.0, [1, 0])]
    """
    if bins < 1:
        raise MeasureError("not a number of bins", where="bins", expected="1 or more", found=repr(bins))
    parts = cells(
        annotations,
        raters=("variant",),
        within=STRATA,
        by=by,
        labels=labels,
        columns=columns,
        missing=check_convention(convention, missing),
        gold=True,
    )
    if of == "sensitivity":
        return [one for cell in parts for one in _items(cell, bins)]
    return [one for cell in parts for one in _pairs(cell, bins, matrix)]


def _items(cell: Cell, bins: int) -> Iterator[Estimate]:
    values = Entropies.of(cell.counts()).items
    method = "median of the items’ sensitivities"
    known = np.isfinite(values)
    yield _estimate("sensitivity_distribution", cell.where, values[known], method, bins, int(known.sum()))
    for code in _classes(cell):
        own = values[known & (cell.gold == code)]
        if own.size:
            where = {**cell.where, "class": cell.labels[code]}
            yield _estimate("sensitivity_distribution", where, own, method, bins, own.size)


def _pairs(cell: Cell, bins: int, matrix: int) -> Iterator[Estimate]:
    counts, method = cell.counts(), "median consistency of the pairs of one class"
    for code in _classes(cell):
        members = np.flatnonzero((cell.gold == code) & (counts.sum(2) > 0).all(1))
        used = _spread(members, _PAIRED)
        if used.size < 2:
            continue
        alike = _alike(counts[used])
        values = np.clip(alike[np.triu_indices(used.size, 1)], 0, 1)
        details: dict[str, Any] = {"items": int(used.size)}
        if matrix:
            details["matrix"] = _shown(alike, counts[used].sum(1), matrix)
        excluded = (
            {"item beyond the sample": int(members.size - used.size)} if used.size < members.size else {}
        )
        where = {**cell.where, "class": cell.labels[code]}
        yield _estimate(
            "consistency_distribution", where, values, method, bins, int(used.size), details, excluded
        )


def _classes(cell: Cell) -> list[int]:
    gold = np.zeros(0, np.int64) if cell.gold is None else cell.gold
    return [int(code) for code in np.unique(gold[gold >= 0])]


def _spread(members: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """As many of them as there may be, evenly spread."""
    if members.size <= most:
        return members
    return members[np.linspace(0, members.size - 1, most).round().astype(np.int64)]


def _alike(counts: Floats) -> Floats:
    """The consistency of each pair of these items, mean over the strata, shape (items, items)."""
    gold = np.zeros(len(counts), np.int64)
    layers = [Pairs(counts[:, stratum], gold).matrix(0) for stratum in range(counts.shape[1])]
    return np.asarray(np.mean(layers, 0))


def _shown(alike: Floats, totals: Floats, most: int) -> list[list[float]]:
    shares = totals / np.maximum(totals.sum(1, keepdims=True), 1)
    order = np.lexsort((-shares.max(1), shares.argmax(1)))
    kept = _spread(order, most)
    return [[float(value) for value in row] for row in np.clip(alike[np.ix_(kept, kept)], 0, 1)]


def _estimate(
    measure: str,
    where: dict[str, str],
    values: Floats,
    method: str,
    bins: int,
    n: int,
    details: dict[str, Any] | None = None,
    excluded: dict[str, int] | None = None,
) -> Estimate:
    told: dict[str, Any] = {"measure": measure, "n": n, "cell": where, "method": method, "reference": PAPER}
    if not values.size:
        return Estimate(value=None, reason="no item with two predictions", **told)
    at = np.quantile(values, QUANTILES)
    counts, _ = np.histogram(np.clip(values, 0, 1), bins=bins, range=(0.0, 1.0))
    known = {
        "quantiles": {f"{share:g}": float(value) for share, value in zip(QUANTILES, at, strict=True)},
        "counts": [int(count) for count in counts],
        "values": int(values.size),
        **(details or {}),
    }
    return Estimate(value=float(np.median(values)), details=known, excluded=excluded or {}, **told)
