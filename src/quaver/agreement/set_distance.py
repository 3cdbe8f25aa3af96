"""How far two sets of labels are apart, where several labels apply to one item."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from quaver.core.label_values import labels_in
from quaver.estimation.bootstrap import Floats

_SUBSET, _OVERLAP = 2 / 3, 1 / 3
"""MASI's weights of sets one of which holds the other, and of sets that overlap."""


def jaccard_distance(one: Collection[str], other: Collection[str]) -> float:
    """1 − |A ∩ B| / |A ∪ B|; 0 for two empty sets. Source: Jaccard (1912), New Phytologist 11, 37-50.

    >>> jaccard_distance({"food", "service"}, {"food"})
    0.5
    """
    return 1 - _shared(one, other)


def masi_distance(one: Collection[str], other: Collection[str]) -> float:
    """1 − M |A ∩ B| / |A ∪ B|, with M = 1, 2/3, 1/3 or 0: equal, one in the other, overlapping, disjoint.

    Source: Passonneau (2006), LREC, 831-836.

    >>> round(masi_distance({"food", "service"}, {"food"}), 6)
    0.666667
    """
    first, second = set(one), set(other)
    if first == second:
        return 0.0
    weight = _SUBSET if first <= second or second <= first else _OVERLAP
    return 1 - weight * _shared(first, second)


def _shared(one: Iterable[str], other: Iterable[str]) -> float:
    first, second = set(one), set(other)
    every = len(first | second)
    return len(first & second) / every if every else 1.0


DISTANCES: Final[Mapping[str, Callable[[Collection[str], Collection[str]], float]]] = {
    "jaccard": jaccard_distance,
    "masi": masi_distance,
}
"""The distance of each level at which labels are sets."""


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

    >>> set_distances(["food", "food; service", "[]"], "jaccard").tolist()
    [[0.0, 0.5, 1.0], [0.5, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    sets, apart = [labels_in(label) for label in labels], DISTANCES[level]
    result = np.zeros((len(sets), len(sets)))
    for index, one in enumerate(sets):
        for position in range(index):
            result[index, position] = result[position, index] = apart(one, sets[position])
    return result
