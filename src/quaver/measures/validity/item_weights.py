"""Items that were drawn with unequal probabilities, each weighted by one over its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Floats, Weighted
from quaver.estimation.cell import Cell
from quaver.estimation.column_roles import UnknownColumn
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Statistic

_SAID = "items weighted by one over their probability of being drawn"


class ItemWeights:
    """What each item of a cell counts for.

    Args:
        cell: The cell.
        each: The weight of each item, of mean 1 over those that count; None where all count alike.
    """

    def __init__(self, cell: Cell, each: Floats | None = None) -> None:
        self.cell, self.each = cell, each
        self._last: tuple[Weighted, Weighted] | None = None

    @property
    def whole(self) -> Floats:
        """The items' weights in the data as they are, shape (1, items)."""
        return np.ones((1, len(self.cell.items))) if self.each is None else self.each[None]

    def estimated(self, statistic: Statistic) -> Estimate:
        """The estimate of a statistic of the cell, in the data and in each resample under these weights."""
        if self.each is None or statistic.under is None:
            return self.cell.estimated(statistic)
        if self._last is None or self._last[0] is not statistic.under:
            own, each = statistic.under, self.each

            def under(weights: Floats) -> Floats:
                return own(weights * each)

            self._last = own, under
        method = f"{statistic.method}, {_SAID}"
        return self.cell.estimated(replace(statistic, under=self._last[1], method=method))


def drawn_weights(
    cell: Cell, reading: Reading, probability: str | None, counted: Floats
) -> tuple[Floats, Floats | None]:
    """Which items count, and the weight of each.

    Args:
        cell: The cell.
        reading: What the cell is of.
        probability: The column with each item's probability of being drawn, empty where it was not.
        counted: Which items would count, were they drawn.

    Returns:
        Without a column, the items that would count, and None; so too where all were as likely to be drawn.

    Raises:
        UnknownColumn: There is no such column.
    """
    if probability is None or not cell.rows.size:
        return counted, None
    if probability not in reading.gathered.columns:
        raise UnknownColumn(probability, reading.gathered.columns, where="probability")
    chances = reading.gathered[probability].cast(float).fill_null(np.nan).to_numpy()
    row = cell.rows.reshape(len(cell.items), -1).max(1)
    chance = np.where(row >= 0, chances[row], np.nan)
    counted = counted * (chance > 0)
    some = chance[counted > 0]
    if not some.size or np.ptp(some) < 1e-9 * some.max():
        return counted, None
    each = np.where(counted > 0, 1 / np.where(counted > 0, chance, 1.0), 0.0)
    return counted, each * some.size / each.sum()
