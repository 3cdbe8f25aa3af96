"""How far two sets of labels are apart, where several labels apply to one item."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quaver.core.label_values import labels_in
from quaver.estimation.bootstrap import Floats

_SUBSET, _OVERLAP = 2 / 3, 1 / 3
"""MASI's weights of sets one of which holds the other, and of sets that overlap."""


def members(sets: Sequence[str]) -> tuple[list[str], Floats]:
    """The labels in some sets, and which of them each set holds, shape (sets, labels).

    >>> labels, held = members(["food;service", "[]", "food"])
    >>> labels, held.tolist()
    (['food', 'service'], [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    """
    read = [labels_in(one) for one in sets]
    labels = list(dict.fromkeys(label for one in read for label in one))
    return labels, np.array([[float(label in one) for label in labels] for one in read]).reshape(
        len(read), -1
    )


def set_distances(labels: Sequence[str], level: str) -> Floats:
    """The distance of each two labels that are sets, shape (labels, labels).

    ``jaccard`` is 1 − |A ∩ B| / |A ∪ B|, and 0 for two empty sets (Jaccard 1912, New Phytologist 11, 37-50).
    ``masi`` is 1 − M |A ∩ B| / |A ∪ B|, with M = 1, 2/3 or 1/3: equal, one in the other, or neither
    (Passonneau 2006, LREC, 831-836).

    >>> set_distances(["food", "food; service", "[]"], "jaccard").tolist()
    [[0.0, 0.5, 1.0], [0.5, 0.0, 1.0], [1.0, 1.0, 0.0]]
    >>> set_distances(["food", "food; service"], "masi")[0].round(6).tolist()
    [0.0, 0.666667]
    """
    held = members(labels)[1]
    sizes, both = held.sum(1), held @ held.T
    either = sizes[:, None] + sizes - both
    shared = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    if level == "masi":
        within = both == np.minimum(sizes[:, None], sizes)
        shared *= np.where(both == either, 1.0, np.where(within, _SUBSET, _OVERLAP))
    return np.asarray(1 - shared)
