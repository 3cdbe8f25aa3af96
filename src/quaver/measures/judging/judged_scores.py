"""What a judge's grades count as, as numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quaver.core.records import LabelSet
from quaver.estimation.bootstrap import Floats

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
