"""Every row's item, stratum, rater and label, and the cells that are cut out of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaver.core.arguments import excerpt
from quaver.core.number_format import composed
from quaver.core.records import NO_LABEL, LabelSet
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.encoding import UNANSWERED, UNDECIDED, Codes, Encoded, Grid, Ints, ordered, smallest
from quaver.estimation.gathered import Gathered
from quaver.estimation.statistic import Cell

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
        positions = _places(item, stratum, rater, shape)
        kinds = self.status.codes[rows]
        grid, filled = self._grid(rows, kinds, positions, shape)
        if (more := positions.size - filled) > 0:
            self._twice(positions, some[item], more, where)
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
        self, rows: Rows, kinds: NDArray[Any], positions: NDArray[Any], shape: tuple[int, int, int]
    ) -> tuple[Grid, int]:
        """The cell's answers in their places, and how many places have one."""
        size = int(np.prod(shape))
        label, bare = self.label[rows], kinds >= 0
        marks = None
        if bare.any():
            even = kinds == self.status.values.index(TIED)
            marks = (bare * np.int8(UNANSWERED) + even * np.int8(UNDECIDED)).astype(np.int8)
        given = np.arange(rows.start, rows.stop, dtype=np.int32) if isinstance(rows, slice) else rows
        if positions.size == size and bool(
            (positions[1:] > positions[:-1]).all()
        ):  # they stand in order already
            marked = None if marks is None else marks.reshape(shape)
            return Grid(label.reshape(shape), marked, given.reshape(shape)), size
        codes, origin = np.full(size, -1, label.dtype), np.full(size, -1, np.int32)
        codes[positions], origin[positions] = label, given
        if marks is not None:
            at = np.zeros(size, np.int8)
            at[positions] = marks
            marks = at.reshape(shape)
        filled = int((origin >= 0).sum())
        return Grid(codes.reshape(shape), marks, origin.reshape(shape)), filled

    def _twice(self, positions: NDArray[Any], item: Ints, more: int, where: dict[str, str]) -> None:
        order = np.argsort(positions, kind="stable")
        again = order[1:][positions[order][1:] == positions[order][:-1]][0]
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
    positions: NDArray[Any] = item.astype(np.int32 if np.prod(shape, dtype=float) < 2**31 else np.int64)
    for codes, size in ((stratum, shape[1]), (rater, shape[2])):
        if size > 1:
            positions *= size
            positions += codes
    return positions


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


Columns = Mapping[str, str | Sequence[str]]
"""Role -> the frame's column (or columns, taken together) that plays it. Roles are the names of
``ANNOTATION_COLUMNS``; a role that is not mentioned is played by the column of its name."""


class UnknownColumn(MeasureError, UnknownName):
    """A measure was told to use a column that the frame does not have."""

    def __init__(self, name: str, known: Iterable[str], *, where: str, fix: str | None = None) -> None:
        UnknownName.__init__(self, "column", name, known, where=where, fix=fix)


class ColumnReader:
    """Reads the columns of one frame by the roles that they play."""

    def __init__(self, gathered: Gathered, columns: Mapping[str, str | Sequence[str]]) -> None:
        self.gathered = gathered
        self._columns = columns
        for role, name in columns.items():
            for one in name if isinstance(name, list | tuple) else [name]:
                self.column(one, f"columns[{role!r}]")

    def column(self, name: Any, where: str) -> str:
        """A column's name, checked; ``where`` is the argument that names it."""
        if not isinstance(name, str):
            raise MeasureError(
                "not a column's name", where=where, expected="the name of a column", found=excerpt(name)
            )
        if name not in self.gathered.columns:
            raise UnknownColumn(name, self.gathered.columns, where=where)
        return name

    def of(self, role: str) -> tuple[str, ...]:
        """The columns that play a role; none where the frame has none."""
        name = self._columns.get(role, role if role in self.gathered.columns else ())
        return (name,) if isinstance(name, str) else tuple(name)

    def needed(self, role: str) -> tuple[str, ...]:
        """The columns that play a role, one at least."""
        names = self.of(role)
        if not names:
            fix = f"say which column it is: columns={{{role!r}: …}}"
            raise UnknownColumn(role, self.gathered.columns, where="annotations", fix=fix)
        return names

    def by(self, names: Sequence[str]) -> Codes:
        """The combinations of the columns that make the cells, as codes."""
        return self.gathered.together(*(self.column(name, "by") for name in names))

    def items(self) -> Codes:
        """Each row's item."""
        names = self.needed("item")
        for name in names:
            codes = self.gathered.encoded(name).codes
            if (codes < 0).any():
                raise MeasureError(
                    "a row without a value",
                    where=f"annotations[{name!r}]",
                    expected="a value in every row",
                    found=f"none in row {int(np.argmax(codes < 0))}",
                )
        return self.gathered.together(*names)

    def beside(self, by: Sequence[str], roles: Sequence[str]) -> tuple[str, ...]:
        """The columns that play some roles, those left out that ``by`` has already."""
        found: dict[str, None] = {}
        for role in roles:
            if not set(self.of(role)) <= set(by):
                found.update(dict.fromkeys(self.of(role)))
        return tuple(found)

    def one_evaluator(self, by: Sequence[str]) -> None:
        """Refuse a frame of several evaluators that are not told apart."""
        for name in self.of("evaluator"):
            codes = self.gathered.encoded(name)
            if name not in by and len(codes.values) + bool((codes.codes < 0).any()) > 1:
                raise MeasureError(
                    "annotations of several evaluators",
                    where=f"annotations[{name!r}]",
                    expected="one evaluator's",
                    found=", ".join(sorted(codes.values)[:5]),
                    fix=f"filter the frame, or put {name!r} into by",
                )

    def labels(
        self, label_set: LabelSet | None, gold: bool
    ) -> tuple[tuple[str, ...], NDArray[Any], NDArray[Any] | None]:
        """The labels' names, each row's code among them, and each row's gold code."""
        name = self.needed("label")[0]
        truth = self.of("gold")[:1] if gold else ()
        key = ("labels", name, truth, label_set)
        return self.gathered.kept(key, lambda: self._labels(name, truth, label_set))

    def _labels(
        self, name: str, truth: Sequence[str], label_set: LabelSet | None
    ) -> tuple[tuple[str, ...], NDArray[Any], NDArray[Any] | None]:
        codes = self.gathered.encoded(name, labels=True)
        true = [self.gathered.encoded(one, labels=True) for one in truth]
        truths = {composed(value): value for column in true for value in column.values}
        found = {**truths, **{composed(value): value for value in codes.values}}
        names = label_set.codes if label_set else tuple(ordered(found.values()))
        if strange := sorted(truths.keys() - set(map(composed, names))):
            raise MeasureError(
                "a gold label that is not in the label set",
                where="annotations['gold']",
                expected=", ".join(names),
                found=", ".join(strange[:5]),
            )
        return names, _recode(codes, names), _recode(true[0], names) if true else None

    def status(self, label_set: LabelSet | None, gold: bool) -> Encoded:
        """Why a row has no label: its status, or what is known without one; -1 where it has one."""
        key = ("status", self.needed("label")[0], self.of("status"), label_set, gold)
        return self.gathered.kept(key, lambda: self._status(label_set, gold))

    def _status(self, label_set: LabelSet | None, gold: bool) -> Encoded:
        values = [NO_LABEL, "not in the label set", TIED]
        label = self.labels(label_set, gold)[1]
        kinds = np.full(self.gathered.height, -1, np.int8)
        bare = np.flatnonzero(label < 0)
        if not bare.size:
            return Encoded(kinds, tuple(values))
        empty = self.gathered.encoded(self.needed("label")[0], labels=True).codes[bare] < 0
        found = np.where(empty, 0, 1)
        for name in self.of("status"):
            status = self.gathered.encoded(name)
            code = status.codes[bare].astype(np.int64)
            valid = np.array([value == "valid" for value in status.values] + [False])[code]
            own = np.where(valid, values.index(TIED), code + len(values))
            found = np.where(empty & (code >= 0), own, found)
            values += status.values
        kinds = kinds.astype(smallest(len(values)))
        kinds[bare] = found
        return Encoded(kinds, tuple(values))


def _recode(column: Encoded, names: Sequence[str]) -> NDArray[Any]:
    place = {composed(name): code for code, name in enumerate(names)}
    table = [place.get(composed(value), -1) for value in column.values] + [-1]
    return np.array(table, smallest(len(names) + 1))[column.codes]
