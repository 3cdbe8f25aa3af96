"""What a judge's grades count as, as numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell

NO_SCORES = "the labels are no numbers"
ONE_SCORE = "there is only one score"


def scores_of(cell: Cell) -> Floats | None:
    """What each label of a cell counts as; None where it counts as nothing."""
    numbers = numbers_of(cell.labels)
    if numbers is None and (cell.label_set is None or cell.label_set.level != "nominal"):
        return np.arange(1.0, len(cell.labels) + 1)
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
