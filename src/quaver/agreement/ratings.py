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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.agreement.stratified_alpha import scaled
from quaver.core.arguments import excerpt, fitted
from quaver.core.records import Estimate, Label, LabelSet, Level
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.cells import Missing, cells
from quaver.estimation.coded_columns import encode, frame_of
from quaver.estimation.declaration import Declared
from quaver.estimation.jackknife import Floats, Resampling
from quaver.estimation.statistic import Cell, Sampler, Statistic


def label_set_of(labels: LabelSet | Sequence[Any] | None, level: Level = "nominal") -> LabelSet | None:
    """A label set from a plain list of labels in order; labels that are all numbers are their own values.

    >>> label_set_of(["1", "5"]).labels[1].value, label_set_of(["low", "high"]).labels[1].value
    (5.0, None)
    """
    if labels is None or isinstance(labels, LabelSet):
        return labels
    names = list(map(str, labels)) if isinstance(labels, Iterable) else []
    if isinstance(labels, str) or not names or len(set(names)) < len(names):
        raise MeasureError(
            "not a list of labels", where="labels", expected="each label once, in order", found=repr(labels)
        )
    values: Sequence[float | None]
    try:
        values = list(map(float, names))
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
    is_frame = isinstance(ratings, pl.LazyFrame | Mapping) or hasattr(ratings, "columns")
    is_long = isinstance(ratings, Mapping) or bool(columns)
    if not is_frame or not (is_long or set(named) <= set(frame_of(ratings).columns)):
        long, columns, group = _melted(ratings, group), {}, None if group is None else "group"
    else:
        long = frame_of(ratings, "ratings")
    if group is not None and not isinstance(group, str):
        raise MeasureError("not a column", where="group", expected="the column's name in a long frame")
    cut = cells(long, raters=("rater",), labels=labels, columns=columns, group=group, missing=missing)
    return cut[0]


def _melted(ratings: Any, group: Any) -> pl.DataFrame:
    """Items × raters as a frame with a row a rating."""
    rows = frame_of(ratings) if isinstance(ratings, pl.LazyFrame) else ratings
    rows = rows.to_numpy() if hasattr(rows, "to_numpy") else rows
    matrix = rows if isinstance(rows, np.ndarray) else np.array(rows, object)
    if matrix.shape == (0,):
        matrix = matrix.reshape(0, 0)
    if matrix.ndim != 2:
        given = f"{type(ratings).__name__} of {matrix.ndim} dimensions, or with rows of different lengths"
        raise MeasureError("not a table of ratings", where="ratings", expected="items × raters", found=given)
    items, raters = matrix.shape
    frame = pl.DataFrame(
        {
            "item": np.repeat(np.arange(items), raters),
            "rater": np.tile(np.arange(raters), items),
            "label": _labels(matrix),
        }
    )
    if group is None:
        return frame
    each = [] if isinstance(group, str) or not isinstance(group, Iterable) else list(group)
    if len(each) != items:
        given = f"{len(each)} of them" if each else excerpt(group)
        raise MeasureError(
            "not a group for each item", where="group", expected=f"{items} values", found=given
        )
    codes = encode(pl.Series(each), "group").codes
    return frame.with_columns(group=pl.Series(np.repeat(codes, raters)))


def _labels(matrix: NDArray[Any]) -> pl.Series:
    """The ratings as one column, all text or all numbers."""
    if matrix.dtype.kind in "iufb":
        return pl.Series(matrix.ravel().astype(np.float64))
    flat = [None if value is None or value != value else value for value in matrix.ravel().tolist()]
    kinds = set(map(type, flat)) - {type(None)}
    try:
        if str in kinds:
            return pl.Series(flat, dtype=pl.String)
        return pl.Series([None if value is None else float(value) for value in flat], dtype=pl.Float64)
    except (TypeError, ValueError):
        raise MeasureError(
            "the ratings are neither all text nor all numbers",
            where="ratings",
            expected="only text or only numbers",
            found=", ".join(sorted(kind.__name__ for kind in kinds)),
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
        """The statistic that every coefficient fills in: its method, reasons and counts."""
        return Statistic(
            method=method,
            excluded=self.cell.counted if self.missing == "drop" else {},
            details={"level": self.level, "raters": len(self.cell.raters)},
        )


class Coefficient(Declared):
    """A declared coefficient of agreement, called with ratings: see `quaver.agreement.ratings`."""

    kind = "coefficient"

    def __init__(self, function: Callable[..., Statistic | Estimate], source: str) -> None:
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
        for name in options:
            if name not in self.own:
                raise UnknownName("argument", name, [*self.__signature__.parameters], where=self.name)
        own = {}
        for name, parameter in self.own.items():
            value = options.get(name, parameter.default)
            own[name] = fitted(self.function, name, value, MeasureError, "{1}")
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


def coefficient(*, source: str) -> Callable[[Callable[..., Statistic | Estimate]], Coefficient]:
    """Declare a coefficient; the module's docstring says how.

    Args:
        source: Where it is defined: its estimates' ``reference``, and part of its documentation.
    """
    return partial(Coefficient, source=source)
