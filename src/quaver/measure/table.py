"""From a long frame of annotations to dense arrays of label codes, one for each cell of the data.

Every measure reads its frame here, so every measure accepts the same frames and rejects the same
mistakes, with one `MeasureError` that names the argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.arguments import shown
from quaver.errors import MeasureError, UnknownName
from quaver.measure.bootstrap import Units
from quaver.measure.encode import Codes, Encoded, combine, encode, ordered
from quaver.records import LabelSet

__all__ = ["MISSING", "Cell", "Columns", "Missing", "cells", "checked", "frame_of"]

Missing = Literal["drop", "category", "wrong"]
"""What an answer without a label counts as: it is left out, it is one more label, or (for
measures of correctness) it is a wrong answer."""

Columns = Mapping[str, str | Sequence[str]]
"""Role -> the frame's column (or columns, taken together) that plays it. Roles are the names of
``ANNOTATION_COLUMNS``; a role that is not mentioned is played by the column of its name."""

MISSING = "no label"
"""The name of the further label that ``missing="category"`` makes."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cell:
    """The annotations of one cell, as an array.

    Attributes:
        where: The cell: the value of each column in ``by``.
        codes: Label codes, shape (items, strata, raters); -1 where there is none.
        labels: The label of each code. With ``missing="category"`` the last is `MISSING`.
        items: The items' ids, sorted.
        strata: What each stratum is, by column.
        raters: The raters' names, sorted.
        gold: Code of each item's true label, -1 where unknown; None where the frame has no gold.
        clusters: The group of each item, as integers from 0; None where items are resampled.
        unit: What is resampled: ``"item"`` or the group's column.
        counted: How many answers are not a label, by status or kind; whether they were left out is the
            measure's affair.
        unanswered: True where an answer came without a label, shape as ``codes``.
        rows: The frame's row of each annotation, shape as ``codes``; -1 where there is none. Further
            columns (a confidence, a factor's level) are arranged by it.
    """

    where: dict[str, str]
    codes: NDArray[np.int32]
    labels: tuple[str, ...]
    items: tuple[str, ...]
    strata: tuple[dict[str, str], ...]
    raters: tuple[str, ...]
    gold: NDArray[np.int32] | None = None
    clusters: Ints | None = None
    unit: str = "item"
    counted: dict[str, int] = field(default_factory=dict)
    unanswered: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0, 0), bool))
    rows: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0, 0), np.int32))

    @property
    def units(self) -> Units:
        """What is resampled."""
        return Units(len(self.items), self.clusters, self.unit)

    def counts(self) -> NDArray[np.float64]:
        """How many raters gave each label to each item, shape (items, strata, labels)."""
        return label_counts(self.codes, len(self.labels))


def label_counts(codes: NDArray[Any], labels: int) -> NDArray[np.float64]:
    """How often each label occurs along the last axis.

    Args:
        codes: Label codes, -1 for none.
        labels: How many labels there are.

    Returns:
        Counts, the last axis as long as there are labels.

    >>> label_counts(np.array([[0, 1, 1], [2, -1, 2]]), 3)
    array([[1., 2., 0.],
           [0., 0., 2.]])
    """
    shape = codes.shape[:-1]
    rows = int(np.prod(shape))
    flat = codes.reshape(rows, -1) if codes.size else np.full((rows, 1), -1)
    given = flat >= 0
    place = (np.arange(rows)[:, None] * labels + flat)[given]
    return np.bincount(place, minlength=rows * labels).reshape(*shape, labels).astype(np.float64)


def checked(missing: Missing, known: Sequence[Missing]) -> Missing:
    """What an answer without a label counts as, where a measure knows that treatment.

    Raises:
        MeasureError: It does not.
    """
    if missing not in known:
        raise MeasureError(
            "unknown treatment", where="missing", expected=" or ".join(known), found=repr(missing)
        )
    return missing


def frame_of(annotations: Any, where: str = "annotations") -> pl.DataFrame:
    """The polars frame in a polars or pandas frame, or a mapping of columns.

    Raises:
        MeasureError: It is none of these, or a column mixes types.
    """
    if isinstance(annotations, pl.DataFrame):
        return annotations
    if isinstance(annotations, pl.LazyFrame):
        return annotations.collect()
    try:
        if isinstance(annotations, Mapping):
            return pl.DataFrame(dict(annotations))
        if type(annotations).__module__.partition(".")[0] == "pandas":
            return pl.from_pandas(annotations)
    except (TypeError, ValueError, pl.exceptions.PolarsError, ImportError) as error:
        if type(error).__module__.startswith(("polars", "pyarrow", "builtins")):
            raise MeasureError(
                "the frame cannot be read",
                where=where,
                expected="columns of one type each",
                found=" ".join(str(error).split()),
                fix="give labels one type, for instance text: frame['label'].astype(str)",
            ) from error
        raise
    raise MeasureError(
        "not a frame", where=where, expected="a polars or pandas DataFrame", found=type(annotations).__name__
    )


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

    Args:
        annotations: The long frame, a row an annotation.
        raters: The roles whose combinations label an item independently: repeats, variants.
        within: The roles whose combinations are strata: the measure is taken within each. Those
            that the frame does not have, or that are in ``by``, play no part.
        by: The frame's columns whose combinations are the cells.
        labels: The label set; a label outside it counts as ``not in the label set``, without a label.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        missing: ``"category"`` makes the unanswered a label of their own; otherwise their code is -1.
        gold: Whether true labels are wanted.

    Returns:
        The cells in the order of their values; one, with an empty ``where``, where ``by`` is empty.

    Raises:
        MeasureError: Two annotations stand in one place, there are several evaluators, an item has
            two gold labels or groups, a label is not finite, or a column does not exist.
    """
    frame = frame_of(annotations)
    by = _names(by)
    _check_kind("labels", labels, LabelSet, "a label set")
    _check_kind("columns", columns, Mapping, "the frame's columns by role: {'label': 'code'}")
    _check_kind("group", group, str, "the name of a column")
    checked(missing, ("drop", "category"))
    reader = _Reader(frame, dict(columns or {}))
    if "evaluator" not in raters:
        reader.one_evaluator(by)
    items = reader.together(["item"], needed=True)
    parts = combine([(name, encode(reader.column(name, "by"), name)) for name in by], frame.height)
    names, label, truth = reader.labels(labels, gold)
    status = reader.status(label)
    cluster = None if group is None else encode(reader.column(group, "group"), group).codes
    if missing == "category":
        label = np.where(label < 0, len(names), label).astype(np.int32)
        names = (*names, MISSING)
    columns_of = _Arrangement(
        items=items,
        names=[" | ".join(value.values()) for value in items.values],
        strata=reader.together([role for role in within if not reader.plays(role, by)]),
        raters=reader.together([role for role in raters if not reader.plays(role, by)]),
        label=label,
        labels=names,
        status=status,
        gold=None if truth is None else _per_item(items, truth, "gold"),
        clusters=None if cluster is None else _per_item(items, cluster, f"group {group!r}"),
        unit=group or "item",
    )
    rows = _split(parts.codes, len(parts.values))
    if not by and not rows:
        return [columns_of.cell({}, np.zeros(0, np.int64))]
    return [columns_of.cell(dict(parts.values[index]), some) for index, some in rows]


def _check_kind(where: str, given: object, kind: type, expected: str) -> None:
    if given is not None and not isinstance(given, kind):
        raise MeasureError("not what it should be", where=where, expected=expected, found=shown(given))


def _names(names: Sequence[str]) -> tuple[str, ...]:
    found = names if isinstance(names, list | tuple | set | frozenset | dict) else (names,)
    if strange := [name for name in found if not isinstance(name, str)]:
        raise MeasureError(
            "not a column's name", where="by", expected="names of columns", found=shown(strange[0])
        )
    found = tuple(found)
    if len(set(found)) < len(found):
        raise MeasureError("a column is named twice", where="by", found=", ".join(found))
    return found


class UnknownColumn(MeasureError, UnknownName):
    """A measure was told to use a column that the frame does not have."""

    def __init__(self, name: str, known: Iterable[str], *, where: str, fix: str | None = None) -> None:
        UnknownName.__init__(self, "column", name, known, where=where, fix=fix)


class _Reader:
    """Reads the columns of one frame by the roles that they play."""

    def __init__(self, frame: pl.DataFrame, columns: dict[str, str | Sequence[str]]) -> None:
        self._frame = frame
        self._columns = columns
        self.empty = np.zeros(frame.height, bool)
        for role, name in columns.items():
            for one in name if isinstance(name, list | tuple) else [name]:
                self.column(one, f"columns[{role!r}]")

    def column(self, name: Any, where: str) -> pl.Series:
        if not isinstance(name, str):
            raise MeasureError(
                "not a column's name", where=where, expected="the name of a column", found=shown(name)
            )
        if name not in self._frame.columns:
            raise UnknownColumn(name, self._frame.columns, where=where)
        return self._frame[name]

    def of(self, role: str) -> tuple[str, ...]:
        """The columns that play a role; none where the frame has none."""
        name = self._columns.get(role, role if role in self._frame.columns else ())
        return (name,) if isinstance(name, str) else tuple(name)

    def needed(self, role: str) -> tuple[str, ...]:
        names = self.of(role)
        if not names:
            fix = f"say which column it is: columns={{{role!r}: …}}"
            raise UnknownColumn(role, self._frame.columns, where="annotations", fix=fix)
        return names

    def plays(self, role: str, by: Sequence[str]) -> bool:
        """Whether ``by`` has the role's columns already."""
        return set(self.of(role)) <= set(by)

    def together(self, roles: Sequence[str], *, needed: bool = False) -> Codes:
        names = dict.fromkeys(name for role in roles for name in (self.needed if needed else self.of)(role))
        encoded = [(name, encode(self._frame[name], name)) for name in names]
        for name, column in encoded if needed else ():
            if (column.codes < 0).any():
                raise MeasureError(
                    "a row without a value",
                    where=f"annotations[{name!r}]",
                    expected="a value in every row",
                    found=f"none in row {int(np.argmax(column.codes < 0))}",
                )
        return combine(encoded, self._frame.height)

    def one_evaluator(self, by: Sequence[str]) -> None:
        for name in self.of("evaluator"):
            if name not in by and self._frame[name].n_unique() > 1:
                raise MeasureError(
                    "annotations of several evaluators",
                    where=f"annotations[{name!r}]",
                    expected="one evaluator's",
                    found=", ".join(map(str, self._frame[name].unique().cast(pl.String).sort().head(5))),
                    fix=f"filter the frame, or put {name!r} into by",
                )

    def labels(
        self, label_set: LabelSet | None, gold: bool
    ) -> tuple[tuple[str, ...], NDArray[np.int32], Ints | None]:
        """The labels' names, each row's code among them, and each row's gold code."""
        name = self.needed("label")[0]
        given = encode(self._frame[name], name)
        self.empty = given.codes < 0
        true = [encode(self._frame[name], name) for name in self.of("gold")] if gold else []
        truths = {value for column in true for value in column.values}
        names = label_set.codes if label_set else tuple(ordered({*given.values, *truths}))
        if strange := sorted(truths - set(names)):
            raise MeasureError(
                "a gold label that is not in the label set",
                where="annotations['gold']",
                expected=", ".join(names),
                found=", ".join(strange[:5]),
            )
        label = _recode(given, names).astype(np.int32)
        return names, label, _recode(true[0], names) if true else None

    def status(self, label: NDArray[np.int32]) -> Encoded:
        """Why a row has no label: its status, or what can be told without one; -1 where it has one."""
        empty = self.empty
        kinds, values = np.where(empty, 0, 1).astype(np.int64), [MISSING, "not in the label set"]
        for name in self.of("status"):
            status = encode(self._frame[name], name)
            told = np.array([value != "valid" for value in status.values] + [False])[status.codes]
            kinds = np.where(empty & told, status.codes + len(values), kinds)
            values += status.values
        return Encoded(np.where(label < 0, kinds, -1), tuple(values))


def _recode(column: Encoded, names: Sequence[str]) -> Ints:
    place = {name: code for code, name in enumerate(names)}
    table = np.array([place.get(value, -1) for value in column.values] + [-1], np.int64)
    return table[column.codes]


def _per_item(items: Codes, codes: Ints, what: str) -> Ints:
    """One code an item, from one a row; -1 for an item that has none."""
    found = np.full(len(items.values), -1, np.int64)
    known = codes >= 0
    found[items.codes[known]] = codes[known]
    clash = known & (found[items.codes] != codes)
    if clash.any():
        item = items.values[int(items.codes[int(np.argmax(clash))])]
        raise MeasureError(
            f"an item with two values of {what}",
            where="annotations",
            expected="one value in all rows of an item",
            found=f"item {' | '.join(item.values())}",
        )
    return found


def _split(codes: Ints, count: int) -> list[tuple[int, Ints]]:
    """The rows of each code, in the order of the codes."""
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(count + 1))
    return [(i, order[edges[i] : edges[i + 1]]) for i in range(count)]


def _compact(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """The codes that occur, sorted, and each row's place among them."""
    occurs = np.zeros(size, bool)
    occurs[codes] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


@dataclass(frozen=True, slots=True)
class _Arrangement:
    """Every row's item, stratum, rater and label: what a cell is cut out of."""

    items: Codes
    names: list[str]
    strata: Codes
    raters: Codes
    label: NDArray[np.int32]
    labels: tuple[str, ...]
    status: Encoded
    gold: Ints | None
    clusters: Ints | None
    unit: str

    def cell(self, where: dict[str, str], rows: Ints) -> Cell:
        """The cell of some of the rows."""
        some, item = _compact(self.items.codes[rows], len(self.items.values))
        layers, stratum = _compact(self.strata.codes[rows], len(self.strata.values))
        judges, rater = _compact(self.raters.codes[rows], len(self.raters.values))
        shape = (some.size, layers.size, judges.size)
        place = (item * layers.size + stratum) * judges.size + rater
        kinds = self.status.codes[rows]
        codes = np.full(some.size * layers.size * judges.size, -1, np.int32)
        bare = np.zeros(codes.size, bool)
        origin = np.full(codes.size, -1, np.int32)
        codes[place], bare[place], origin[place] = self.label[rows], kinds >= 0, rows
        if (more := rows.size - int((origin >= 0).sum())) > 0:
            self._twice(place, some[item], more, where)
        tally = np.bincount(kinds[kinds >= 0], minlength=len(self.status.values))
        return Cell(
            where=where,
            codes=codes.reshape(shape),
            labels=self.labels,
            items=tuple(map(self.names.__getitem__, some.tolist())),
            strata=tuple(self.strata.values[i] for i in layers),
            raters=tuple(" | ".join(self.raters.values[i].values()) for i in judges),
            gold=None if self.gold is None else self.gold[some].astype(np.int32),
            clusters=None if self.clusters is None else _own(self.clusters[some]),
            unit=self.unit,
            counted={self.status.values[k]: int(tally[k]) for k in np.flatnonzero(tally)},
            unanswered=bare.reshape(shape),
            rows=origin.reshape(shape),
        )

    def _twice(self, place: Ints, item: Ints, more: int, where: dict[str, str]) -> None:
        order = np.argsort(place, kind="stable")
        again = order[1:][place[order][1:] == place[order][:-1]][0]
        apart = [name for codes in (self.strata, self.raters) for name in codes.values[0]]
        told = "".join(f", {name} {value}" for name, value in where.items())
        raise MeasureError(
            "several annotations in one place",
            where="annotations",
            expected=f"one for each item{''.join(f' and {name}' for name in apart)}",
            found=f"{more} too many, the first of item {self.names[item[again]]}" + told,
            fix="name the column that tells them apart in by or in columns",
        )


def _own(clusters: Ints) -> Ints:
    """Clusters as integers from 0; an item without one is its own."""
    alone = clusters.max(initial=0) + 1 + np.arange(clusters.size)
    return np.unique(np.where(clusters < 0, alone, clusters), return_inverse=True)[1].astype(np.int64)
