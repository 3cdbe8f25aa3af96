"""How a coefficient of agreement is declared: its arithmetic, and the arguments that all of them share.

A coefficient is a function with the arithmetic on one table of ratings::

    @coefficient(source="Gwet (2014), ch. 2")
    def percent_agreement(ratings: Ratings) -> Statistic:
        '''Percent agreement: the share of pairs of ratings of one item that agree. …'''

The name is the function's. What ``percent_agreement`` is now is a `Coefficient`: called with ratings in any
form that `read_ratings` knows, it resamples items and gives one estimate. Its signature and its docstring
have the shared arguments (`Coefficient.__call__`) beside the function's own, which are keyword-only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.agreement.stratified_alpha import scaled
from quaver.core.arguments import excerpt, fitted
from quaver.core.records import Estimate, Label, LabelSet, Level
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.cells import Declared, Missing, cells
from quaver.estimation.coded_columns import encode, frame_of
from quaver.estimation.jackknife import Floats, Resampling
from quaver.estimation.statistic import Cell, Sampler, Statistic


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
    result = np.empty((len(ratings), lengths.pop() if lengths else 0), object)
    for index, row in enumerate(ratings):
        result[index] = row
    return result


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


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings of items, and the scale on which they are compared.

    Attributes:
        cell: The ratings, with one stratum.
        level: Level of measurement.
        values: The labels' numbers, where the level needs them.
        missing: What a missing rating counts as.
    """

    cell: Cell
    level: Level
    values: Floats | None
    missing: Missing

    @property
    def counts(self) -> Floats:
        """How many raters gave each label to each item, shape (items, labels)."""
        return np.asarray(self.cell.counts().sum(1))

    @property
    def codes(self) -> NDArray[np.int32]:
        """The label that each rater gave to each item, shape (items, raters); -1 for none."""
        return np.asarray(self.cell.codes.max(1, initial=-1))

    def said(self, method: str) -> Statistic:
        """What every coefficient says of itself, before its arithmetic."""
        return Statistic(
            method=method,
            excluded=self.cell.counted if self.missing == "drop" else {},
            details={"level": self.level, "raters": len(self.cell.raters)},
        )


Arithmetic = Callable[..., Statistic | Estimate]
"""What a coefficient's own function is: of `Ratings`, and its own options by name."""


class Coefficient(Declared):
    """A declared coefficient of agreement, called with ratings: see `quaver.agreement.coefficient`."""

    kind = "coefficient"

    def __init__(self, function: Arithmetic, source: str) -> None:
        super().__init__(function, Coefficient.__call__, (), source)

    def __call__(
        self,
        ratings: Any,
        level: Level = "nominal",
        confidence_level: float = 0.95,
        resamples: int = 1000,
        seed: int = 0,
        *,
        item: str | None = None,
        rater: str | Sequence[str] | None = None,
        label: str | None = None,
        labels: LabelSet | Sequence[Any] | None = None,
        missing: Literal["drop", "category"] = "drop",
        group: str | Sequence[Any] | None = None,
        keep_draws: bool = False,
        **options: Any,
    ) -> Estimate:
        """Estimate it from the ratings.

        Args:
            ratings: Items × raters: an array, lists, or a wide frame, with None or NaN for missing ones; or a
                long frame whose columns ``item``, ``rater`` and ``label`` name.
            level: Level of measurement.
            confidence_level: Nominal level of the interval.
            resamples: Resamples of single ratings, where these are resampled; 0 for no interval.
            seed: Root seed of these.
            item: The long frame's column of items.
            rater: Its column, or columns, of raters.
            label: Its column of labels.
            labels: The labels in order; others count as missing.
            missing: ``"drop"``: a missing rating is left out; ``"category"``: it is one more label (nominal
                only).
            group: Resample these groups of items: one value an item, or a long frame's column.
            keep_draws: Whether the estimate carries the values with each unit left out.
            **options: The coefficient's own.

        Returns:
            One estimate, with a value or the reason why there is none.

        Raises:
            MeasureError: The ratings or an option cannot be used.
        """
        own = self._checked(options)
        resampling = Resampling(confidence_level, resamples, seed)
        label_set = label_set_of(labels, level)
        cell = read_ratings(
            ratings, item=item, rater=rater, label=label, labels=label_set, missing=missing, group=group
        )
        cell = replace(cell, label_set=label_set)
        return self.of(cell, resampling, level, missing, keep_draws=keep_draws, **own)

    def of(
        self,
        cell: Cell,
        resampling: Resampling,
        level: Level,
        missing: Missing,
        *,
        keep_draws: bool = False,
        **own: Any,
    ) -> Estimate:
        """The estimate of a cell with one stratum.

        Args:
            cell: The ratings, with the label set that was given.
            resampling: How the interval is made.
            level: Level of measurement.
            missing: What the missing ratings count as, by which the cell was read.
            keep_draws: Whether the estimate carries the values with each unit left out.
            **own: The coefficient's own options.
        """
        level, values = scaled(cell.labels, level, cell.label_set, missing)
        sampler = Sampler(
            cell.units,
            resampling,
            measure=self.name,
            source=self.source,
            where=cell.where,
            keep_draws=keep_draws,
        )
        estimate = self.function(Ratings(replace(cell, sampler=sampler), level, values, missing), **own)
        return estimate if isinstance(estimate, Estimate) else sampler.estimated(estimate)

    def _checked(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The function's own options, as it takes them."""
        for name in options:
            if name not in self.own:
                raise UnknownName("argument", name, [*self.__signature__.parameters], where=self.name)
        return {
            name: fitted(self.function, name, options.get(name, parameter.default), MeasureError, "{1}")
            for name, parameter in self.own.items()
        }


def coefficient(*, source: str) -> Callable[[Arithmetic], Coefficient]:
    """Declare a coefficient; the module's docstring says how.

    Args:
        source: Where it is defined: its estimates' ``reference``, and part of its documentation.
    """
    return lambda function: Coefficient(function, source)
