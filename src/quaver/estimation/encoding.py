"""Columns as integer codes: what a frame's text is turned into, once, before any arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.number_format import composed
from quaver.errors import MeasureError

Ints = NDArray[np.int64]
Small = NDArray[np.signedinteger[Any]]

UNANSWERED, UNDECIDED = 1, 2
"""Marks of an answer without a label, and of one that is valid all the same; both stand together."""


MANY_LABELS = 300
"""Of more labels no table is made: of numbers, each answer may be a label of its own."""


class Tally(NamedTuple):
    """Answers that are to be counted.

    Attributes:
        codes: Label codes, shape (items, strata, raters); -1 where there is none.
        labels: How many labels there are.
    """

    codes: Small
    labels: int

    def deviating(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How many labels each item has in each stratum, and how many are not the stratum's most frequent.

        >>> total, others = Tally(np.array([[[7, 7]], [[7, 2]]]), 9).deviating()
        >>> total.tolist(), others.tolist()
        ([[2.0], [2.0]], [[0.0], [1.0]])
        """
        there, most = self.codes >= 0, np.zeros(self.codes.shape[1], np.int64)
        for stratum in range(most.size):
            given = self.codes[:, stratum][there[:, stratum]]
            most[stratum] = np.bincount(given, minlength=1).argmax()
        other = there & (self.codes != most[:, None])
        return there.sum(2).astype(np.float64), other.sum(2).astype(np.float64)


class Grid:
    """Which label each rater gave to each item of each stratum.

    Args:
        codes: Label codes, shape (items, strata, raters), of as few bytes as they take; -1 where there is
            none.
        marks: `UNANSWERED` and `UNDECIDED`, shape as ``codes``; None where nothing is marked.
        rows: The frame's row of each annotation, -1 where there is none; None where there is no frame.
    """

    def __init__(
        self, codes: Small, marks: Small | None = None, rows: NDArray[np.int32] | None = None
    ) -> None:
        self._codes, self._marks, self._rows = codes, marks, rows
        self._counted: dict[int, NDArray[np.float64]] = {}

    @property
    def shape(self) -> tuple[int, int, int]:
        """Items, strata, raters."""
        return self._codes.shape

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        kept = [self._codes, self._marks, self._rows, *self._counted.values()]
        return sum(one.nbytes for one in kept if one is not None)

    @property
    def codes(self) -> NDArray[np.int32]:
        """Label codes; -1 where there is none."""
        return self._codes.astype(np.int32)

    @property
    def unanswered(self) -> NDArray[np.bool_]:
        """True where an answer came without a label."""
        return np.zeros(self.shape, bool) if self._marks is None else (self._marks & UNANSWERED) > 0

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """True where such an answer is valid all the same."""
        return np.zeros(self.shape, bool) if self._marks is None else (self._marks & UNDECIDED) > 0

    @property
    def rows(self) -> NDArray[np.int32]:
        """The frame's row of each annotation; -1 where there is none."""
        return np.zeros((0, 0, 0), np.int32) if self._rows is None else self._rows

    @cached_property
    def taken(self) -> NDArray[np.bool_]:
        """Which raters have an annotation in which strata, shape (strata, raters)."""
        return np.asarray((self.rows >= 0).any(0))

    def counts(self, labels: int) -> NDArray[np.float64]:
        """How many raters gave each label to each item, shape (items, strata, labels); not to be written to.

        They are kept where they are fewer than the answers.
        """
        if labels in self._counted:
            return self._counted[labels]
        result = label_counts(self._codes, labels)
        result.flags.writeable = False
        if 2 * result.size <= self._codes.size:
            self._counted[labels] = result
        return result

    def tally(self, labels: int) -> NDArray[np.float64] | Tally:
        """The counts; of many labels the answers themselves, as few of which are in any one item."""
        return self.counts(labels) if labels <= MANY_LABELS else Tally(self._codes, labels)

    def emptied(self, gone: NDArray[np.bool_]) -> Grid:
        """Without the answers that are marked, shape as ``codes``."""
        marks = None if self._marks is None else np.where(gone, self._marks.dtype.type(0), self._marks)
        empty = self._codes.dtype.type(-1)
        return Grid(np.where(gone, empty, self._codes), marks, np.where(gone, np.int32(-1), self.rows))

    def part(self, strata: Ints, raters: Ints) -> Grid:
        """The answers in some strata of some raters."""
        return _Part(self, strata, raters)


class _Part(Grid):
    """Some strata and raters of another grid; its answers are copied when they are asked for, if ever.

    Its counts are those of the whole less those of the raters who are left out, where these are fewer.
    """

    def __init__(self, whole: Grid, strata: Ints, raters: Ints) -> None:
        self._whole, self._strata, self._raters = whole, strata, raters
        self._counted = {}

    def _of(self, values: Any) -> Any:
        return values[:, self._strata][:, :, self._raters]

    @cached_property
    def _codes(self) -> Small:  # type: ignore[override]
        codes: Small = self._of(self._whole._codes)
        return codes

    @cached_property
    def _marks(self) -> Small | None:  # type: ignore[override]
        return None if self._whole._marks is None else self._of(self._whole._marks)

    @cached_property
    def _rows(self) -> NDArray[np.int32] | None:  # type: ignore[override]
        return None if self._whole._rows is None else self._of(self._whole._rows)

    @property
    def shape(self) -> tuple[int, int, int]:
        return self._whole.shape[0], len(self._strata), len(self._raters)

    def counts(self, labels: int) -> NDArray[np.float64]:
        if labels not in self._counted:
            left_out = np.setdiff1d(np.arange(self._whole.shape[2]), self._raters)
            if len(left_out) < len(self._raters):
                gone = label_counts(self._whole._codes[:, :, left_out], labels)
                found = (self._whole.counts(labels) - gone)[:, self._strata]
            else:
                found = label_counts(self._codes, labels)
            found.flags.writeable = False
            self._counted[labels] = found
        return self._counted[labels]


def smallest(values: int) -> type[np.signedinteger[Any]]:
    """The integers of the fewest bytes that hold codes below a number, and -1."""
    for kind in (np.int8, np.int16, np.int32):
        if values <= np.iinfo(kind).max:
            return kind
    return np.int64


def label_counts(codes: NDArray[Any], labels: int) -> NDArray[np.float64]:
    """How often each label occurs along the last axis.

    Returns:
        Counts, the last axis as long as there are labels.

    >>> label_counts(np.array([[0, 1, 1], [2, -1, 2]]), 3)
    array([[1., 2., 0.],
           [0., 0., 2.]])
    """
    shape = codes.shape[:-1]
    rows = int(np.prod(shape))
    flat = codes.reshape(rows, -1) if codes.size else np.full((rows, 1), -1)
    # A place more in each row takes what has no label.
    place = np.arange(rows)[:, None] * (labels + 1) + 1 + flat
    counts = np.bincount(place.ravel(), minlength=rows * (labels + 1))
    return counts.reshape(*shape, labels + 1)[..., 1:].astype(np.float64)


_SPAN = 2**22
"""A table of so many codes is quicker than a sort, however few occur."""


class Encoded(NamedTuple):
    """A column: each row's code (-1 where it is null) and the value of each code, as text, in order.

    The codes take as few bytes as they can: widen them before you multiply them.
    """

    codes: Small
    values: tuple[str, ...]


class Codes(NamedTuple):
    """Columns taken together: each row's code, as small as it goes, and what each code means, by column."""

    codes: Small
    values: tuple[dict[str, str], ...]


def ordered(names: Iterable[str]) -> list[str]:
    """Values in their order: as numbers where all of them are numbers, otherwise as text.

    >>> ordered({"10", "9", "-1"}), ordered({"b", "10", "9"})
    (['-1', '9', '10'], ['10', '9', 'b'])
    """
    found = list(names)
    try:
        return sorted(found, key=lambda name: (float(name), name))
    except ValueError:
        return sorted(found)


def encode(column: pl.Series, name: str) -> Encoded:
    """Number a column's values from 0, in order; a float NaN is null.

    >>> found = encode(pl.Series(["b", None, "a", "b"]), "label")
    >>> found.codes.tolist(), found.values
    ([1, -1, 0, 1], ('a', 'b'))
    """
    if column.dtype.is_float():
        if column.is_infinite().any():
            raise MeasureError("an infinite value", where=name, expected="finite numbers", found="inf")
        column = column.fill_nan(None)
    if column.dtype == pl.Null:
        return Encoded(np.full(column.len(), -1, np.int8), ())
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
        raise MeasureError(
            "a column without single values",
            where=name,
            expected="text or numbers of one type",
            found=str(column.dtype),
        )
    if column.dtype.is_integer() or column.dtype.is_float():
        return _numbers(column)
    if not isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        column = column.cast(pl.String).cast(pl.Categorical)
    return _categories(column)


def encode_labels(column: pl.Series, name: str) -> Encoded:
    """The same of a column of labels: one whose accents are written in two ways is one label.

    >>> encode_labels(pl.Series(["\u00e9", "e\u0301", "b"]), "label").codes.tolist()
    [1, 1, 0]
    """
    codes = encode(column, name)
    first: dict[str, str] = {}
    for value in codes.values:
        first.setdefault(composed(value), value)
    if len(first) == len(codes.values):
        return codes
    place = {value: index for index, value in enumerate(first.values())}
    table = np.array([place[first[composed(value)]] for value in codes.values] + [-1], smallest(len(place)))
    return Encoded(table[codes.codes], tuple(place))


def _numbers(column: pl.Series) -> Encoded:
    series = column.drop_nulls()
    distinct = series.unique().sort().to_numpy()
    kind = smallest(distinct.size)
    values = series.to_numpy()
    if distinct.size and distinct.dtype.kind == "i" and int(distinct[-1]) - int(distinct[0]) < _SPAN:
        least = int(distinct[0])
        table = np.zeros(int(distinct[-1]) - least + 1, kind)
        table[distinct.astype(np.int64) - least] = np.arange(distinct.size)
        inverse = table[values.astype(np.int64) - least]
    else:
        inverse = np.searchsorted(distinct, values).astype(kind)
    if (
        distinct.dtype.kind == "f"
        and (distinct == np.round(distinct)).all()
        and (abs(distinct) < 2**53).all()
    ):
        # Integers with gaps arrive as floats (pandas has no other way): 48.0 is the label 48.
        distinct = distinct.astype(np.int64)
    codes = inverse
    if series.len() < column.len():
        codes = np.full(column.len(), -1, kind)
        codes[column.is_not_null().to_numpy()] = inverse
    return Encoded(codes, tuple(str(value) for value in distinct.tolist()))


def _categories(column: pl.Series) -> Encoded:
    present = column.drop_nulls().unique()
    names, positions = present.cast(pl.String).to_list(), present.to_physical().to_numpy().astype(np.int64)
    rank = {name: index for index, name in enumerate(ordered(names))}
    # The physical codes are few and small, so a table is quicker than a sort of the column.
    table = np.full(int(positions.max(initial=-1)) + 2, -1, smallest(len(names)))
    table[positions] = [rank[name] for name in names]
    physical = column.to_physical()
    if physical.null_count():
        physical = physical.cast(pl.UInt32).fill_null(len(table) - 1)
    return Encoded(table[physical.to_numpy()], tuple(rank))


def combine(columns: Sequence[tuple[str, Encoded]], height: int) -> Codes:
    """Number the combinations of several columns that occur, in order.

    >>> codes = combine([("a", encode(pl.Series(["x", "x", "y"]), "a")),
    ...                  ("b", encode(pl.Series([2, 1, 1]), "b"))], 3)
    >>> codes.codes.tolist(), codes.values[0]
    ([1, 0, 2], {'a': 'x', 'b': '1'})
    """
    if not columns:
        return Codes(np.zeros(height, np.int8), ({},) if height else ())
    if len(columns) == 1 and not (columns[0][1].codes < 0).any():
        ((name, alone),) = columns
        return Codes(alone.codes, tuple({name: value} for value in alone.values))
    sizes = [len(encoded.values) + 1 for _, encoded in columns]
    span = np.prod([float(size) for size in sizes])
    combined: NDArray[Any] = np.zeros(height, np.int32 if span < 2**31 else np.int64)
    for (_, encoded), size in zip(columns, sizes, strict=True):
        combined *= size
        combined += encoded.codes
        combined += 1
        if span > 2**62:
            combined = np.unique(combined, return_inverse=True)[1]
    if span > max(_SPAN, 2 * height):
        first, codes = np.unique(combined, return_index=True, return_inverse=True)[1:]
        at = [encoded.codes[first] for _, encoded in columns]
    else:
        present = np.zeros(int(span), bool)
        present[combined] = True
        there = np.flatnonzero(present)
        codes = (np.cumsum(present) - 1).astype(smallest(there.size))[combined]
        at = [one - 1 for one in np.unravel_index(there, sizes)]
    names = [(name, (*encoded.values, "")) for name, encoded in columns]
    values = tuple(
        {name: options[code] for (name, options), code in zip(names, row, strict=True)}
        for row in zip(*(codes.tolist() for codes in at), strict=True)
    )
    return Codes(codes.astype(smallest(len(values))), values)
