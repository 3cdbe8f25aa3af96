"""Annotations as every measure reads them: the arguments that all measures have, checked once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, get_args

import polars as pl

from quaver.core.arguments import excerpt
from quaver.core.records import Estimand, Estimate, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Resampling
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing, cells
from quaver.estimation.column_roles import Columns
from quaver.estimation.confidences import arranged, column_for, numbers_of
from quaver.estimation.gathered import Gathered
from quaver.estimation.statistic import Keep, Sampler


class _Measure(Protocol):
    """What a reading knows of a measure (`declaration.Measure`, which reads through it)."""

    name: str
    source: str

    def __call__(self, annotations: Any, **options: Any) -> list[Estimate]: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What a measure is taken of, and how.

    Attributes:
        measure: The measure that reads.
        gathered: The annotations, and what was made of them for other measures.
        labels: The label set.
        by: The columns that make the cells.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        resampling: How intervals are made.
        keep: What the estimates carry.
        estimand: What the intervals are to hold for. The measure's own affair only where it makes them
            itself; the declaration sees to all others (`quaver.estimation.estimands`).
        cuts: What `cells` has cut, so that a measure can be taken again without cutting anew; None where
            it is taken once.
        without: From a cell and its frame, the cell in which some prompts are missing; None where the measure
            need not be taken of it again.
    """

    measure: _Measure
    gathered: Gathered
    labels: LabelSet | None
    by: Sequence[str]
    columns: Columns | None
    group: str | None
    resampling: Resampling
    keep: frozenset[Keep] = frozenset()
    estimand: Estimand = "fixed"
    cuts: dict[Any, tuple[Gathered, list[Cell]]] | None = field(default=None, repr=False)
    without: Callable[[Cell, Gathered], Cell | None] | None = field(default=None, repr=False)
    _numbers: dict[tuple[str, Any], Floats | None] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    @property
    def frame(self) -> pl.DataFrame:
        """The annotations as a frame in memory."""
        return self.gathered.frame

    @property
    def is_retaken(self) -> bool:
        """Whether it is taken once more without some prompts: of that, only values and draws count."""
        return self.without is not None

    def of(self, frame: pl.DataFrame) -> Reading:
        """A reading of other annotations, in the same way."""
        return replace(self, gathered=Gathered(frame))

    def cells(
        self,
        *,
        raters: Sequence[str],
        within: Sequence[str] = (),
        gold: bool = False,
        missing: Missing | None = None,
        numbers: Sequence[str] = (),
    ) -> list[Cell]:
        """The annotations, a cell at a time, ready to be resampled.

        Args:
            raters: The roles whose combinations label an item independently.
            within: The roles whose combinations are strata.
            gold: Whether true labels are wanted.
            missing: What an answer without a label counts as; ``"category"`` makes these a label.
            numbers: Roles whose columns hold numbers from 0 to 1, to be arranged in ``Cell.numbers``.
        """
        how = (tuple(raters), tuple(within), gold, missing == "category", tuple(numbers))
        found = self._cut(*how)
        if self.without is not None:
            found = [less for cell in found if (less := self.without(cell, self.gathered)) is not None]
        return [replace(cell, sampler=self.sampler(cell)) for cell in found]

    def _cut(
        self,
        raters: tuple[str, ...],
        within: tuple[str, ...],
        gold: bool,
        unlabelled: bool,
        numbers: tuple[str, ...],
    ) -> list[Cell]:
        """The cells with all of their prompts; those that were cut before, where they are kept."""
        key = (id(self.gathered), raters, within, gold, unlabelled, numbers)
        if self.cuts is not None and key in self.cuts:
            return self.cuts[key][1]
        found = cells(
            self.gathered,
            raters=raters,
            within=within,
            by=self.by,
            labels=self.labels,
            columns=self.columns,
            group=self.group,
            missing="category" if unlabelled else "drop",
            gold=gold,
        )
        values = {role: self.numbers(role) for role in numbers}
        found = [
            replace(
                cell,
                label_set=self.labels,
                numbers={role: arranged(column, cell) for role, column in values.items()},
            )
            for cell in found
        ]
        if self.cuts is not None:
            self.cuts[key] = self.gathered, found
        return found

    def sampler(self, cell: Cell) -> Sampler:
        """What resamples the units of a cell."""
        return Sampler(
            cell.units,
            self.resampling,
            measure=self.measure.name,
            source=self.measure.source,
            where=cell.where,
            keep=self.keep,
        )

    def numbers(self, role: str, within: tuple[float, float] | None = (0.0, 1.0)) -> Floats | None:
        """A role's column as numbers, NaN where it is null; None where the frame has no such column."""
        if (role, within) not in self._numbers:
            self._numbers[role, within] = numbers_of(self.gathered, role, self.columns, within=within)
        return self._numbers[role, within]

    def column(self, role: str) -> str | None:
        """The one column that plays a role; None where the frame has none."""
        return column_for(self.gathered, role, self.columns)

    def measured(
        self, measure: _Measure, frame: pl.DataFrame | Gathered | None = None, **options: Any
    ) -> list[Estimate]:
        """What another measure gives, asked in the same way.

        Args:
            measure: The other measure.
            frame: Other annotations.
            **options: The other measure's own.
        """
        return measure(
            self.gathered if frame is None else frame,
            labels=self.labels,
            by=self.by,
            confidence_level=self.resampling.confidence_level,
            resamples=self.resampling.resamples,
            seed=self.resampling.seed,
            columns=self.columns,
            group=self.group,
            interval=self.resampling.interval,
            keep=self.keep,
            **options,
        )


def checked_keep(keep: Collection[Keep]) -> frozenset[Keep]:
    """What estimates are to carry.

    Raises:
        MeasureError: They cannot carry it.
    """
    known = get_args(Keep)
    if isinstance(keep, str) or not set(keep) <= set(known):
        expected = f"some of {', '.join(known)}"
        raise MeasureError("keep does not know this", where="keep", expected=expected, found=excerpt(keep))
    return frozenset(keep)
