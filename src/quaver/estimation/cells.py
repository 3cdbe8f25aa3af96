"""Dense arrays of label codes, one for each cell of the annotations, and what tells cells apart.

Every measure reads its frame here, so every measure accepts the same frames and rejects the same
mistakes, with one `MeasureError` that names the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core import arguments
from quaver.core.arguments import excerpt
from quaver.core.number_format import composed
from quaver.core.records import NO_LABEL, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.coded_columns import (
    Codes,
    Columns,
    Combined,
    Encoded,
    Gathered,
    Ints,
    UnknownColumn,
    ordered,
    smallest,
)
from quaver.estimation.statistic import UNANSWERED, UNDECIDED, Cell

if TYPE_CHECKING:
    import pandas as pd

Missing = Literal["drop", "category", "wrong"]
"""What an answer without a label counts as: it is left out, it is one more label, or (for
measures of correctness) it is a wrong answer."""

TIED = "valid, without a label"
"""The kind of the answers that did as they were asked and prefer no label: tied scores."""


_Option = TypeVar("_Option", bound=str)


def checked(option: _Option, known: Sequence[_Option], where: str = "missing") -> _Option:
    """An option's value, where a measure offers it: by default, what an answer without a label counts as."""
    if option not in known:
        raise MeasureError("not offered here", where=where, expected=" or ".join(known), found=repr(option))
    return option


def cells(
    annotations: Any,
    *,
    raters: Sequence[str],
    within: Sequence[str] = (),
    by: Sequence[str] = (),
    labels: LabelSet | None = None,
    columns: Columns | None = None,
    group: str | None = None,
    missing: Missing = "drop",
    gold: bool = False,
) -> list[Cell]:
    """Arrange annotations as items × strata × raters, a cell at a time.

    Returns:
        The cells in the order of their values; one, with an empty ``where``, where ``by`` is empty.
    """
    gathered, by = Gathered.of(annotations), names_of(by)
    _check_kind("labels", labels, LabelSet, "a label set")
    checked(missing, ("drop", "category"))
    _check_kind("columns", columns, Mapping, "the frame's columns by role: {'label': 'code'}")
    _check_kind("group", group, str, "the name of a column")
    reader = ColumnReader(gathered, dict(columns or {}))
    if "evaluator" not in raters:
        reader.one_evaluator(by)
    apart, layers = reader.beside(by, raters), reader.beside(by, within)
    roles = tuple(map(reader.of, ("item", "label", "gold", "status")))
    key = (by, apart, layers, roles, labels, missing, group, gold)

    def cut() -> list[Cell]:
        reader.items()
        parts = reader.by(by)
        arrangement = _Arrangement(reader, labels, missing, group, gold, layers, apart)
        rows = gathered.kept(("rows", by), lambda: split(parts.codes, len(parts.values)))
        if not by and not rows:
            return [arrangement.cell({}, np.zeros(0, np.int32))]
        return [arrangement.cell(dict(parts.values[index]), some) for index, some in enumerate(rows)]

    return gathered.cells(key, cut)


def _check_kind(where: str, given: object, kind: type, expected: str) -> None:
    if given is not None and not isinstance(given, kind):
        raise MeasureError("the wrong kind of value", where=where, expected=expected, found=excerpt(given))


def names_of(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that make the cells, from a list of them or the name of one."""
    result = names if isinstance(names, list | tuple | set | frozenset | dict) else (names,)
    if strange := [name for name in result if not isinstance(name, str)]:
        raise MeasureError(
            "not a column's name", where="by", expected="names of columns", found=excerpt(strange[0])
        )
    result = tuple(result)
    if len(set(result)) < len(result):
        raise MeasureError("a column is named twice", where="by", found=", ".join(result))
    return result


def split(codes: NDArray[Any], count: int) -> list[NDArray[np.int32]]:
    """The rows of each code, in the order of the codes.

    >>> [rows.tolist() for rows in split(np.array([1, 0, 1]), 2)]
    [[1], [0, 2]]
    """
    order = np.argsort(codes, kind="stable").astype(np.int32)
    return np.split(order, np.cumsum(np.bincount(codes, minlength=count))[:-1]) if count else []


class _Arrangement:
    """Every row's item, stratum, rater and label: what cells are cut out of."""

    def __init__(
        self,
        reader: ColumnReader,
        labels: LabelSet | None,
        missing: Missing,
        group: str | None,
        gold: bool,
        layers: tuple[str, ...],
        apart: tuple[str, ...],
    ) -> None:
        gathered, roles = reader.gathered, (reader.of("item"), reader.of("gold"))
        self.items, self.unit = reader.items(), group or "item"
        self.strata, self.raters = gathered.together(*layers), gathered.together(*apart)
        self.labels, self.label, truth = reader.labels(labels, gold)
        self.status = reader.status(labels, gold)
        self.names = gathered.kept(
            ("names", roles[0]), lambda: tuple(" | ".join(value.values()) for value in self.items.values)
        )
        if missing == "category":
            if NO_LABEL in self.labels:
                raise MeasureError(
                    f"a label called {NO_LABEL!r}, which is what answers without a label are called",
                    where="annotations['label']",
                    expected="another name for it, where missing='category'",
                    found=NO_LABEL,
                )
            kind, code = smallest(len(self.labels) + 1), len(self.labels)
            self.labels = (*self.labels, NO_LABEL)
            self.label = np.where(self.label < 0, kind(code), self.label).astype(kind)
        self.gold, self.clusters = None, None
        if truth is not None:
            key = ("gold", *roles, labels)
            self.gold = gathered.kept(key, lambda: _per_item(self.items, truth, "gold"))
        if group is not None:
            codes = gathered.encoded(reader.column(group, "group")).codes
            self.clusters = _per_item(self.items, codes, f"group {group!r}")

    def cell(self, where: dict[str, str], rows: NDArray[np.int32]) -> Cell:
        """The cell of some of the rows."""
        three = (self.items, self.strata, self.raters)
        (some, item), (layers, stratum), (judges, rater) = (
            _compact(column.codes[rows], len(column.values)) for column in three
        )
        shape = some.size, layers.size, judges.size
        places = (item.astype(np.int64) * shape[1] + stratum) * shape[2] + rater
        bare = self.status.codes[rows]
        codes, origin = np.full(np.prod(shape), -1, self.label.dtype), np.full(np.prod(shape), -1, np.int32)
        codes[places], origin[places] = self.label[rows], rows
        if (more := places.size - int((origin >= 0).sum())) > 0:
            self._twice(places, some[item], more, where)
        marks = None
        if (bare >= 0).any():
            marks = np.zeros(codes.size, np.int8)
            tied = (bare == self.status.values.index(TIED)) * UNDECIDED
            marks[places] = (bare >= 0) * UNANSWERED + tied
        counted = np.bincount(bare[bare >= 0], minlength=len(self.status.values))
        return Cell(
            where=where,
            grid=codes.reshape(shape),
            marks=None if marks is None else marks.reshape(shape),
            rows=origin.reshape(shape),
            labels=self.labels,
            items=tuple(self.names[place] for place in some.tolist()),
            strata=tuple(self.strata.values[place] for place in layers),
            raters=tuple(" | ".join(self.raters.values[place].values()) for place in judges),
            gold=None if self.gold is None else self.gold[some].astype(np.int32),
            clusters=None if self.clusters is None else _own(self.clusters[some]),
            unit=self.unit,
            counted={self.status.values[k]: int(counted[k]) for k in np.flatnonzero(counted)},
        )

    def _twice(self, places: Ints, item: Ints, more: int, where: dict[str, str]) -> None:
        order = np.argsort(places, kind="stable")
        again = order[1:][places[order][1:] == places[order][:-1]][0]
        apart = [name for codes in (self.strata, self.raters) for name in codes.values[0]]
        position = "".join(f", {name} {value}" for name, value in where.items())
        raise MeasureError(
            "several annotations in one place",
            where="annotations",
            expected=f"one for each item{''.join(f' and {name}' for name in apart)}",
            found=f"{more} too many, the first of item {self.names[item[again]]}" + position,
            fix="name the column that distinguishes them in by or in columns",
        )


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


def _per_item(items: Combined, codes: NDArray[Any], what: str) -> Ints:
    """One code an item, from one a row; -1 for an item that has none."""
    result = np.full(len(items.values), -1, np.int64)
    defined = codes >= 0
    result[items.codes[defined]] = codes[defined]
    clash = defined & (result[items.codes] != codes)
    if clash.any():
        item = items.values[int(items.codes[int(np.argmax(clash))])]
        raise MeasureError(
            f"an item with two values of {what}",
            where="annotations",
            expected="one value in all rows of an item",
            found=f"item {' | '.join(item.values())}",
        )
    return result


class ColumnReader:
    """Reads the columns of one frame by the roles that they play."""

    def __init__(self, gathered: Gathered, columns: Mapping[str, str | Sequence[str]]) -> None:
        self.gathered = gathered
        self._columns = columns
        for role, name in columns.items():
            for column in name if isinstance(name, list | tuple) else [name]:
                self.column(column, f"columns[{role!r}]")

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

    def by(self, names: Sequence[str]) -> Combined:
        """The combinations of the columns that make the cells, as codes."""
        return self.gathered.together(*(self.column(name, "by") for name in names))

    def items(self) -> Combined:
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
        names: dict[str, None] = {}
        for role in roles:
            if not set(self.of(role)) <= set(by):
                names.update(dict.fromkeys(self.of(role)))
        return tuple(names)

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
        true = [self.gathered.encoded(column, labels=True) for column in truth]
        truths = {composed(value): value for column in true for value in column.values}
        labels = {**truths, **{composed(value): value for value in codes.values}}
        names = label_set.codes if label_set else tuple(ordered(labels.values()))
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
            return Codes(kinds, tuple(values))
        empty = self.gathered.encoded(self.needed("label")[0], labels=True).codes[bare] < 0
        states = np.where(empty, 0, 1)
        for name in self.of("status"):
            status = self.gathered.encoded(name)
            code = status.codes[bare].astype(np.int64)
            valid = np.array([value == "valid" for value in status.values] + [False])[code]
            own = np.where(valid, values.index(TIED), code + len(values))
            states = np.where(empty & (code >= 0), own, states)
            values += status.values
        kinds = kinds.astype(smallest(len(values)))
        kinds[bare] = states
        return Codes(kinds, tuple(values))


def _recode(column: Encoded, names: Sequence[str]) -> NDArray[Any]:
    place = {composed(name): code for code, name in enumerate(names)}
    table = [place.get(composed(value), -1) for value in column.values] + [-1]
    return np.array(table, smallest(len(names) + 1))[column.codes]


Frame: TypeAlias = "pl.DataFrame | pl.LazyFrame | pd.DataFrame | Gathered"

OUTPUT: Final = "output"
"""The column of the answers as they were written, for measures that read them."""

_F = TypeVar("_F", bound=Callable[..., Any])


def guarded(function: _F) -> _F:
    """Have a function refuse an argument that does not fit its signature with a `MeasureError`."""
    return arguments.guarded(function, MeasureError, "{1}")
