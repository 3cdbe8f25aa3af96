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

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quaver.agreement.ratings import label_set_of, read_ratings
from quaver.agreement.stratified_alpha import scaled
from quaver.core.arguments import fitted
from quaver.core.records import Estimate, LabelSet, Level
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.bootstrap import Floats, IntervalKind, Resampling
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing
from quaver.estimation.reading import checked_keep
from quaver.estimation.signature import Declared
from quaver.estimation.statistic import Keep, Sampler, Statistic


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
        interval: IntervalKind = "jackknife",
        keep: Collection[Keep] = (),
        **options: Any,
    ) -> Estimate:
        """Estimate it from the ratings.

        Args:
            ratings: Items × raters: an array, lists, or a wide frame, with None or NaN for missing ones; or a
                long frame whose columns ``item``, ``rater`` and ``label`` name.
            level: Level of measurement.
            confidence_level: Nominal level of the interval.
            resamples: Bootstrap resamples of items; 0 for no interval.
            seed: Root seed of the resampling.
            item: The long frame's column of items.
            rater: Its column, or columns, of raters.
            label: Its column of labels.
            labels: The labels in order; others count as missing.
            missing: ``"drop"``: a missing rating is left out; ``"category"``: it is one more label (nominal
                only).
            group: Resample these groups of items: one value an item, or a long frame's column.
            interval: ``"jackknife"``; or ``"bca"`` or ``"percentile"``, from a bootstrap, with both in
                ``details``.
            keep: ``"draws"`` keeps the resampled values behind the interval with the estimate.
            **options: The coefficient's own.

        Returns:
            One estimate, with a value or the reason why there is none.

        Raises:
            MeasureError: The ratings or an option cannot be used.
        """
        own = self._checked(options)
        resampling = Resampling(confidence_level, resamples, seed, interval)
        label_set = label_set_of(labels, level)
        cell = read_ratings(
            ratings, item=item, rater=rater, label=label, labels=label_set, missing=missing, group=group
        )
        cell = replace(cell, label_set=label_set)
        return self.of(cell, resampling, level, missing, keep=checked_keep(keep), **own)

    def of(
        self,
        cell: Cell,
        resampling: Resampling,
        level: Level,
        missing: Missing,
        *,
        keep: frozenset[Keep] = frozenset(),
        **own: Any,
    ) -> Estimate:
        """The estimate of a cell with one stratum.

        Args:
            cell: The ratings, with the label set that was given.
            resampling: How the interval is made.
            level: Level of measurement.
            missing: What the missing ratings count as, by which the cell was read.
            keep: What the estimate is to carry.
            **own: The coefficient's own options.
        """
        level, values = scaled(cell.labels, level, cell.label_set, missing)
        sampler = Sampler(
            cell.units, resampling, measure=self.name, source=self.source, where=cell.where, keep=keep
        )
        made = self.function(Ratings(replace(cell, sampler=sampler), level, values, missing), **own)
        return made if isinstance(made, Estimate) else sampler.estimated(made)

    def _checked(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The function's own options, as it takes them."""
        for name in options:
            if name not in self.own:
                raise UnknownName("argument", name, [*self.__signature__.parameters], where=self.name)
        return {
            name: fitted(self.function, name, options.get(name, one.default), MeasureError, "{1}")
            for name, one in self.own.items()
        }


def coefficient(*, source: str) -> Callable[[Arithmetic], Coefficient]:
    """Declare a coefficient; the module's docstring says how.

    Args:
        source: Where it is defined: its estimates' ``reference``, and part of its documentation.
    """
    return lambda function: Coefficient(function, source)
