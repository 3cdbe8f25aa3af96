"""The annotations of one cell of the data as an array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import Estimate, LabelSet
from quaver.estimation.answer_grid import Grid, Ints
from quaver.estimation.bootstrap import Draws, Floats, Resampling, Units, Weighted
from quaver.estimation.statistic import Sampler, Statistic


@dataclass(frozen=True, slots=True)
class Cell:
    """The annotations of one cell, as an array.

    Attributes:
        where: The cell: the value of each column in ``by``.
        grid: The label that each rater gave to each item.
        labels: The label of each code. With ``missing="category"`` the last is `NO_LABEL`.
        items: The items' ids, sorted.
        strata: What each stratum is, by column.
        raters: The raters' names, sorted.
        gold: Code of each item's true label, -1 where unknown; None where the frame has no gold.
        clusters: The group of each item, as integers from 0; None where items are resampled.
        unit: What is resampled: ``"item"`` or the group's column.
        counted: How many answers are not a label, by status or kind; whether they were left out is the
            measure's affair.
        label_set: The label set that was given.
        numbers: Columns of numbers that the measure reads, by role, shape as ``codes``; NaN where there is
            none.
        sampler: What resamples its units.
    """

    where: dict[str, str]
    grid: Grid
    labels: tuple[str, ...]
    items: tuple[str, ...]
    strata: tuple[dict[str, str], ...]
    raters: tuple[str, ...]
    gold: NDArray[np.int32] | None = None
    clusters: Ints | None = None
    unit: str = "item"
    counted: dict[str, int] = field(default_factory=dict)
    label_set: LabelSet | None = None
    numbers: Mapping[str, Floats] = field(default_factory=dict)
    sampler: Sampler | None = field(default=None, repr=False, compare=False)

    def draws(self, under: Weighted) -> Draws:
        """A function of item weights on the data, on the resamples, and with each unit left out."""
        assert self.sampler is not None, "only the cells of a reading are resampled"
        return self.sampler.draws(under)

    def estimated(self, statistic: Statistic, draws: Draws | None = None) -> Estimate:
        """The estimate of a statistic of this cell; ``draws`` where they are not those of its units."""
        assert self.sampler is not None, "only the cells of a reading are resampled"
        return self.sampler.estimated(statistic, draws)

    @property
    def expected(self) -> set[int]:
        """The codes of the labels that the label set has, whether or not they occur; none without a set."""
        asked = () if self.label_set is None else self.label_set.codes
        return {self.labels.index(label) for label in asked if label in self.labels}

    @property
    def resampling(self) -> Resampling:
        """How this cell is resampled."""
        assert self.sampler is not None, "only the cells of a reading are resampled"
        return self.sampler.resampling

    @property
    def units(self) -> Units:
        """What is resampled."""
        return Units(len(self.items), self.clusters, self.unit)

    @property
    def codes(self) -> NDArray[np.int32]:
        """Label codes, shape (items, strata, raters); -1 where there is none."""
        return self.grid.codes

    @property
    def unanswered(self) -> NDArray[np.bool_]:
        """True where an answer came without a label, shape as ``codes``."""
        return self.grid.unanswered

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """True where such an answer is valid all the same, as tied scores are, shape as ``codes``."""
        return self.grid.undecided

    @property
    def rows(self) -> NDArray[np.int32]:
        """The frame's row of each annotation, shape as ``codes``; -1 where there is none.

        Further columns (a confidence, a factor's level) are arranged by it.
        """
        return self.grid.rows

    @property
    def valid(self) -> NDArray[np.bool_]:
        """True where an answer did as it was asked, shape as ``codes``."""
        return (self.codes >= 0) & ~self.unanswered | self.undecided

    def counts(self) -> NDArray[np.float64]:
        """How many raters gave each label to each item, shape (items, strata, labels): read-only."""
        return self.grid.counts(len(self.labels))


def never_labelled(cell: Cell) -> tuple[str, ...]:
    """A warning where items have no label at all, and so agree perfectly where that is one more label.

    Args:
        cell: Read with ``missing="category"``.
    """
    asked = (cell.codes >= 0).any((1, 2))
    never = int((asked & ~((cell.codes >= 0) & ~cell.unanswered).any((1, 2))).sum())
    if not never:
        return ()
    return (
        f"{never:,} of {int(asked.sum()):,} items never got a label: having none every time counts as "
        "agreement",
    )
