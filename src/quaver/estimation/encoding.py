"""Columns as integer codes: what a frame's text is turned into, once, before any arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.table_text import composed
from quaver.errors import MeasureError
from quaver.estimation.answer_grid import Small, smallest

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

    Raises:
        MeasureError: It holds infinities, or things that are neither text nor numbers.

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
    found = encode(column, name)
    first: dict[str, str] = {}
    for value in found.values:
        first.setdefault(composed(value), value)
    if len(first) == len(found.values):
        return found
    place = {value: at for at, value in enumerate(first.values())}
    table = np.array([place[first[composed(value)]] for value in found.values] + [-1], smallest(len(place)))
    return Encoded(table[found.codes], tuple(place))


def _numbers(column: pl.Series) -> Encoded:
    known = column.drop_nulls()
    distinct = known.unique().sort().to_numpy()
    kind = smallest(distinct.size)
    values = known.to_numpy()
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
    if known.len() < column.len():
        codes = np.full(column.len(), -1, kind)
        codes[column.is_not_null().to_numpy()] = inverse
    return Encoded(codes, tuple(str(value) for value in distinct.tolist()))


def _categories(column: pl.Series) -> Encoded:
    present = column.drop_nulls().unique()
    names, place = present.cast(pl.String).to_list(), present.to_physical().to_numpy().astype(np.int64)
    rank = {name: at for at, name in enumerate(ordered(names))}
    # The physical codes are few and small, so a table is quicker than a sort of the column.
    table = np.full(int(place.max(initial=-1)) + 2, -1, smallest(len(names)))
    table[place] = [rank[name] for name in names]
    physical = column.to_physical()
    if physical.null_count():
        physical = physical.cast(pl.UInt32).fill_null(len(table) - 1)
    return Encoded(table[physical.to_numpy()], tuple(rank))


def combine(columns: Sequence[tuple[str, Encoded]], height: int) -> Codes:
    """Number the combinations of several columns that occur, in order.

    Args:
        columns: Each column's name and codes; a null counts as the value ``""``. None at all gives one
            combination, the empty one.
        height: Rows.

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
