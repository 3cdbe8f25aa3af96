"""Columns as integer codes: what a frame's text is turned into, once, before any arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.table_text import composed
from quaver.errors import MeasureError

Ints = NDArray[np.int64]


class Encoded(NamedTuple):
    """A column: each row's code (-1 where it is null) and the value of each code, as text, in order."""

    codes: Ints
    values: tuple[str, ...]


class Codes(NamedTuple):
    """Columns taken together: each row's code, and what each code means, by column, in order."""

    codes: Ints
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

    Raises:
        MeasureError: It holds infinities, or things that are neither text nor numbers.

    >>> encode(pl.Series(["b", None, "a", "b"]), "label")
    Encoded(codes=array([ 1, -1,  0,  1]), values=('a', 'b'))
    """
    if column.dtype.is_float():
        if column.is_infinite().any():
            raise MeasureError("an infinite value", where=name, expected="finite numbers", found="inf")
        column = column.fill_nan(None)
    if column.dtype == pl.Null:
        return Encoded(np.full(column.len(), -1, np.int64), ())
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

    >>> encode_labels(pl.Series(["\u00e9", "e\u0301", "b"]), "label").codes
    array([1, 1, 0])
    """
    found = encode(column, name)
    first: dict[str, str] = {}
    for value in found.values:
        first.setdefault(composed(value), value)
    if len(first) == len(found.values):
        return found
    place = {value: at for at, value in enumerate(first.values())}
    table = np.array([place[first[composed(value)]] for value in found.values] + [-1], np.int64)
    return Encoded(table[found.codes], tuple(place))


def _numbers(column: pl.Series) -> Encoded:
    known = column.is_not_null().to_numpy()
    distinct, inverse = np.unique(column.drop_nulls().to_numpy(), return_inverse=True)
    if (
        distinct.dtype.kind == "f"
        and (distinct == np.round(distinct)).all()
        and (abs(distinct) < 2**53).all()
    ):
        # Integers with gaps arrive as floats (pandas has no other way): 48.0 is the label 48.
        distinct = distinct.astype(np.int64)
    codes = np.full(column.len(), -1, np.int64)
    codes[known] = inverse
    return Encoded(codes, tuple(str(value) for value in distinct.tolist()))


def _categories(column: pl.Series) -> Encoded:
    physical = column.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    if not physical.size:
        return Encoded(physical.astype(np.int64), ())
    # The physical codes are few and small, so a table is quicker than a sort of the column.
    last = np.full(physical.max() + 2, -1, np.int64)
    last[physical] = np.arange(physical.size)
    present = np.flatnonzero(last[:-1] >= 0)
    names = column.gather(last[present]).cast(pl.String).to_list()
    rank = {name: place for place, name in enumerate(ordered(names))}
    table = np.full(last.size, -1, np.int64)
    table[present] = [rank[name] for name in names]
    return Encoded(table[physical], tuple(rank))


def combine(columns: Sequence[tuple[str, Encoded]], height: int) -> Codes:
    """Number the combinations of several columns that occur, in order.

    Args:
        columns: Each column's name and codes; a null counts as the value ``""``. None at all gives one
            combination, the empty one.
        height: Rows.

    >>> codes = combine([("a", encode(pl.Series(["x", "x", "y"]), "a")),
    ...                  ("b", encode(pl.Series([2, 1, 1]), "b"))], 3)
    >>> codes.codes, codes.values[0]
    (array([1, 0, 2]), {'a': 'x', 'b': '1'})
    """
    if not columns:
        return Codes(np.zeros(height, np.int64), ({},) if height else ())
    combined = np.zeros(height, np.int64)
    sizes = [len(encoded.values) + 1 for _, encoded in columns]
    for (_, encoded), size in zip(columns, sizes, strict=True):
        combined = combined * size + encoded.codes + 1
        if np.prod([float(size) for size in sizes]) > 2**62:
            combined = np.unique(combined, return_inverse=True)[1]
    if np.prod([float(size) for size in sizes]) > 2**22:
        first, codes = np.unique(combined, return_index=True, return_inverse=True)[1:]
    else:
        last = np.full(int(np.prod(sizes)), -1, np.int64)
        last[combined] = np.arange(height)
        present = last >= 0
        first, codes = last[present], (np.cumsum(present) - 1)[combined]
    names = [(name, (*encoded.values, "")) for name, encoded in columns]
    at = [encoded.codes[first] for _, encoded in columns]
    values = tuple(
        {name: options[code] for (name, options), code in zip(names, row, strict=True)}
        for row in zip(*(codes.tolist() for codes in at), strict=True)
    )
    return Codes(codes.astype(np.int64), values)
