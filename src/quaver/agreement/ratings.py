"""Ratings as people hold them (a matrix, lists of lists, a long frame) -> one cell of codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.arguments import excerpt
from quaver.core.records import Label, LabelSet, Level
from quaver.errors import MeasureError
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing, cells
from quaver.estimation.encoding import encode
from quaver.estimation.gathered import frame_of


def label_set_of(labels: LabelSet | Sequence[Any] | None, level: Level = "nominal") -> LabelSet | None:
    """A label set from a plain list of labels in order; labels that are all numbers are their own values.

    >>> label_set_of(["1", "5"]).labels[1].value, label_set_of(["low", "high"]).labels[1].value
    (5.0, None)
    """
    if labels is None or isinstance(labels, LabelSet):
        return labels
    names = [str(label) for label in labels] if isinstance(labels, Iterable) else []
    if isinstance(labels, str) or not names or len(set(names)) < len(names):
        raise MeasureError(
            "not a list of labels", where="labels", expected="each label once, in order", found=repr(labels)
        )
    values: list[float | None]
    try:
        values = [float(name) for name in names]
    except ValueError:
        values = [None] * len(names)
    made = tuple(Label(name, name, value=value) for name, value in zip(names, values, strict=True))
    return LabelSet(made, level)


def read_ratings(
    ratings: Any,
    *,
    item: str | None = None,
    rater: str | Sequence[str] | None = None,
    label: str | None = None,
    labels: LabelSet | None = None,
    missing: Missing = "drop",
    group: str | Sequence[Any] | None = None,
) -> Cell:
    """One cell with one stratum from whatever holds ratings.

    Args:
        ratings: Items × raters (an array, a list of rows, a wide frame), missing values as None or NaN;
            or a long frame, of which ``item``, ``rater`` and ``label`` name the columns; a frame with
            columns of these names is taken as a long one.
        item: The long frame's column of items.
        rater: Its column (or columns) of raters.
        label: Its column of labels.
        labels: The label set.
        missing: What the missing ones count as.
        group: The group of each item, in the rows' order; of a long frame, the column.

    Raises:
        MeasureError: The ratings are not two-dimensional, mix text and numbers, or hold infinities.
    """
    named = {"item": item, "rater": rater, "label": label}
    columns = {role: name for role, name in named.items() if name is not None}
    frame = isinstance(ratings, (pl.DataFrame, pl.LazyFrame)) or hasattr(ratings, "columns")
    if isinstance(ratings, Mapping) or (frame and (columns or set(named) <= set(frame_of(ratings).columns))):
        if group is not None and not isinstance(group, str):
            raise MeasureError("not a column", where="group", expected="the column's name in a long frame")
        long, column = frame_of(ratings, "ratings"), group
    else:
        matrix = _matrix(ratings)
        _check_group(group, len(matrix))
        long, columns, column = _melt(matrix, group), {}, None if group is None else "group"
    return cells(
        long,
        raters=("rater",),
        labels=labels,
        columns=columns,
        group=column,
        missing=missing,
    )[0]


def _check_group(group: Any, items: int) -> None:
    if group is None:
        return
    many = isinstance(group, Sized) and not isinstance(group, str)
    if not many or len(group) != items:
        found = f"{len(group)} of them" if many else excerpt(group)
        raise MeasureError(
            "not a group for each item", where="group", expected=f"{items} values", found=found
        )


def _matrix(ratings: Any) -> NDArray[Any]:
    """Items × raters, as numbers where the data are, or as objects."""
    if isinstance(ratings, (pl.DataFrame, pl.LazyFrame)):
        ratings = [list(row) for row in frame_of(ratings).iter_rows()]
    if hasattr(ratings, "to_numpy"):
        ratings = ratings.to_numpy()
    if isinstance(ratings, np.ndarray):
        if ratings.ndim != 2:
            raise _shape(f"{ratings.ndim} dimensions")
        return ratings
    if isinstance(ratings, (str, bytes)) or not isinstance(ratings, Sequence):
        raise _shape(type(ratings).__name__)
    lengths = set()
    for row in ratings:
        if isinstance(row, (str, bytes)) or not isinstance(row, (Sequence, np.ndarray)):
            raise _shape("a row that is no list")
        lengths.add(len(row))
    if len(lengths) > 1:
        raise _shape(f"rows of {min(lengths)} to {max(lengths)} raters")
    found = np.empty((len(ratings), lengths.pop() if lengths else 0), object)
    for place, row in enumerate(ratings):
        found[place] = row
    return found


def _shape(found: str) -> MeasureError:
    return MeasureError("not a table of ratings", where="ratings", expected="items × raters", found=found)


def _melt(matrix: NDArray[Any], group: Any) -> pl.DataFrame:
    items, raters = matrix.shape
    frame = pl.DataFrame(
        {
            "item": np.repeat(np.arange(items), raters),
            "rater": np.tile(np.arange(raters), items),
            "label": _flat(matrix),
        }
    )
    if group is None:
        return frame
    codes = encode(pl.Series(list(group)), "group").codes
    return frame.with_columns(group=pl.Series(np.repeat(codes, raters)))


def _flat(matrix: NDArray[Any]) -> pl.Series:
    if matrix.dtype.kind in "iufb":
        return pl.Series(matrix.ravel().astype(np.float64))
    flat = [None if value is None or value != value else value for value in matrix.ravel().tolist()]
    text = {isinstance(value, str) for value in flat if value is not None}
    if len(text) > 1:
        raise MeasureError(
            "the ratings mix text and numbers",
            where="ratings",
            expected="only text or only numbers",
            found="both",
        )
    if True in text:
        return pl.Series(flat, dtype=pl.String)
    return pl.Series([None if value is None else _number(value) for value in flat], dtype=pl.Float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise MeasureError(
            "a rating that is neither text nor a number",
            where="ratings",
            expected="text or numbers",
            found=type(value).__name__,
        ) from None
