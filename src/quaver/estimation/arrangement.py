"""Every row's item, stratum, rater and label, and the cells that are cut out of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaver.errors import MeasureError
from quaver.estimation.answer_grid import UNANSWERED, UNDECIDED, Grid, Ints, smallest
from quaver.estimation.cell import Cell
from quaver.estimation.encoding import Codes, Encoded

TIED = "valid, without a label"
"""The kind of the answers that did as they were asked and prefer no label: tied scores."""

Rows = slice | NDArray[np.int32]
"""Some of a frame's rows: a run of them, or their numbers."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Every row's item, stratum, rater and label: what a cell is cut out of.

    Attributes:
        items: Each row's item.
        names: The items' ids.
        strata: Each row's stratum.
        raters: Each row's rater.
        label: Each row's label code, -1 where it has none.
        labels: The labels' names.
        status: Why a row has no label; -1 where it has one.
        gold: Each item's gold label; None where none was asked for or the frame has none.
        clusters: Each item's group; None where items are resampled.
        unit: What is resampled.
    """

    items: Codes
    names: tuple[str, ...]
    strata: Codes
    raters: Codes
    label: NDArray[Any]
    labels: tuple[str, ...]
    status: Encoded
    gold: Ints | None
    clusters: Ints | None
    unit: str

    def cell(self, where: dict[str, str], rows: Rows) -> Cell:
        """The cell of some of the rows."""
        some, item = _compact(self.items.codes[rows], len(self.items.values))
        layers, stratum = _compact(self.strata.codes[rows], len(self.strata.values))
        judges, rater = _compact(self.raters.codes[rows], len(self.raters.values))
        shape = (some.size, layers.size, judges.size)
        place = _places(item, stratum, rater, shape)
        kinds = self.status.codes[rows]
        grid, filled = self._grid(rows, kinds, place, shape)
        if (more := place.size - filled) > 0:
            self._twice(place, some[item], more, where)
        tally = np.bincount(kinds[kinds >= 0], minlength=len(self.status.values))
        names, judge_names = self.names, self.raters.values
        return Cell(
            where=where,
            grid=grid,
            labels=self.labels,
            items=names if some.size == len(names) else tuple(names[i] for i in some.tolist()),
            strata=tuple(self.strata.values[i] for i in layers),
            raters=tuple(" | ".join(judge_names[i].values()) for i in judges),
            gold=None if self.gold is None else self.gold[some].astype(np.int32),
            clusters=None if self.clusters is None else _own(self.clusters[some]),
            unit=self.unit,
            counted={self.status.values[k]: int(tally[k]) for k in np.flatnonzero(tally)},
        )

    def _grid(
        self, rows: Rows, kinds: NDArray[Any], place: NDArray[Any], shape: tuple[int, int, int]
    ) -> tuple[Grid, int]:
        """The cell's answers in their places, and how many places have one."""
        size = int(np.prod(shape))
        label, bare = self.label[rows], kinds >= 0
        marks = None
        if bare.any():
            even = kinds == self.status.values.index(TIED)
            marks = (bare * np.int8(UNANSWERED) + even * np.int8(UNDECIDED)).astype(np.int8)
        given = np.arange(rows.start, rows.stop, dtype=np.int32) if isinstance(rows, slice) else rows
        if place.size == size and bool((place[1:] > place[:-1]).all()):  # they stand in order already
            marked = None if marks is None else marks.reshape(shape)
            return Grid(label.reshape(shape), marked, given.reshape(shape)), size
        codes, origin = np.full(size, -1, label.dtype), np.full(size, -1, np.int32)
        codes[place], origin[place] = label, given
        if marks is not None:
            at = np.zeros(size, np.int8)
            at[place] = marks
            marks = at.reshape(shape)
        filled = int((origin >= 0).sum())
        return Grid(codes.reshape(shape), marks, origin.reshape(shape)), filled

    def _twice(self, place: NDArray[Any], item: Ints, more: int, where: dict[str, str]) -> None:
        order = np.argsort(place, kind="stable")
        again = order[1:][place[order][1:] == place[order][:-1]][0]
        apart = [name for codes in (self.strata, self.raters) for name in codes.values[0]]
        position = "".join(f", {name} {value}" for name, value in where.items())
        raise MeasureError(
            "several annotations in one place",
            where="annotations",
            expected=f"one for each item{''.join(f' and {name}' for name in apart)}",
            found=f"{more} too many, the first of item {self.names[item[again]]}" + position,
            fix="name the column that distinguishes them in by or in columns",
        )


def split(codes: NDArray[Any], count: int) -> list[tuple[int, Rows]]:
    """The rows of each code, in the order of the codes.

    >>> split(np.array([0, 0, 1]), 2), [rows.tolist() for _, rows in split(np.array([1, 0, 1]), 2)]
    ([(0, slice(0, 2, None)), (1, slice(2, 3, None))], [[1], [0, 2]])
    """
    sizes = np.bincount(codes, minlength=count)
    edges = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    if bool((codes[1:] >= codes[:-1]).all()):
        return [(i, slice(edges[i], edges[i + 1])) for i in range(count)]
    order = np.argsort(codes, kind="stable").astype(np.int32)
    return [(i, order[edges[i] : edges[i + 1]]) for i in range(count)]


def _places(
    item: NDArray[Any], stratum: NDArray[Any], rater: NDArray[Any], shape: tuple[int, int, int]
) -> NDArray[Any]:
    """Each annotation's place in the flat array of a shape."""
    place: NDArray[Any] = item.astype(np.int32 if np.prod(shape, dtype=float) < 2**31 else np.int64)
    for codes, size in ((stratum, shape[1]), (rater, shape[2])):
        if size > 1:
            place *= size
            place += codes
    return place


def _compact(codes: NDArray[Any], size: int) -> tuple[Ints, NDArray[Any]]:
    """The codes that occur, sorted, and each row's place among them."""
    occurs = np.zeros(size, bool)
    occurs[codes] = True
    if occurs.all():
        return np.arange(size), codes
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1).astype(smallest(size))[codes]


def _own(clusters: Ints) -> Ints:
    """Clusters as integers from 0; an item without one is its own."""
    alone = clusters.max(initial=0) + 1 + np.arange(clusters.size)
    return np.unique(np.where(clusters < 0, alone, clusters), return_inverse=True)[1].astype(np.int64)
