"""What a judge's grades count as, as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quaver.core.records import LabelSet
from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Encoded
from quaver.estimation.intervals import Interval
from quaver.estimation.means import differing, ratio
from quaver.estimation.statistic import Cell, Statistic

NO_SCORES = "the labels are no numbers"
ONE_SCORE = "there is only one score"


def scores_of(labels: Sequence[str], label_set: LabelSet | None) -> Floats | None:
    """What each label counts as: its number, or its place where labels are ordered; None where nothing.

    >>> scores_of(["poor", "good"], None).tolist()
    [1.0, 2.0]
    """
    numbers = numbers_of(labels)
    if numbers is None and (label_set is None or label_set.level != "nominal"):
        return np.arange(1.0, len(labels) + 1)
    return numbers


def numbers_of(labels: Sequence[str]) -> Floats | None:
    """What labels count as, as numbers; None where one is no number.

    >>> numbers_of(["1", "2.5"]).tolist(), numbers_of(["1", "good"])
    ([1.0, 2.5], None)
    """
    try:
        found = np.array([float(label) for label in labels], np.float64)
    except ValueError:
        return None
    return found if np.isfinite(found).all() else None


def mean_over_items(
    cell: Cell,
    values: Floats,
    said: Statistic,
    ends: tuple[float, float],
    details: Mapping[str, Any] | None = None,
) -> Statistic:
    """The mean of a number that each item has.

    Args:
        cell: The cell.
        values: A number an item, NaN where it has none.
        said: What is said of it, with the reason should no item have one.
        ends: The smallest and largest number that an item can have.
        details: Further numbers.

    Returns:
        The statistic; undefined where no item has a number.
    """
    known = np.isfinite(values)
    if not known.any():
        return said

    def further(value: float, share: float) -> Interval:
        """Where the mean may lie if such a share of further items may be anything."""
        low, high = ((1 - share) * value + share * end for end in ends)
        return Interval(low, high)

    return replace(
        said,
        reason=None,
        n=cell.units.touched(known),
        under=ratio(np.where(known, values, 0.0)[:, None], known.astype(np.float64)[:, None]),
        differing=differing(values, cell.units),
        ends=ends,
        spread=further,
        values=values,
        details=details or {},
    )


def shares_at(cell: Cell, levels: Encoded, level: str) -> Floats:
    """Each item's share of each label where a column has one level; NaN where it has no label there."""
    code = levels.values.index(level) if level in levels.values else -2
    at = np.where(cell.rows >= 0, levels.codes[np.maximum(cell.rows, 0)], -3)
    codes = np.where(at == code, cell.codes, -1).reshape(len(cell.items), -1)
    counts = np.stack([(codes == one).sum(1) for one in range(len(cell.labels))], 1).astype(np.float64)
    total = counts.sum(1, keepdims=True)
    return np.asarray(np.where(total > 0, counts / np.maximum(total, 1), np.nan))
