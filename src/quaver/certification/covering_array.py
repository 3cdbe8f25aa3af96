"""A few rows in which every pair of levels of two factors meets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

Row = dict[str, Any]


def covering_array(factors: Mapping[str, Sequence[Any]]) -> list[Row]:
    """Rows that hold each pair of levels of two factors at least once, by a greedy search.

    Each row is the one among all combinations with the most pairs that no row has yet (Cohen, Dalal,
    Fredman & Patton 1997, IEEE Trans. Software Engineering 23, 437-444); of several such rows the first whose
    levels were used least: the same rows every time.

    Args:
        factors: The levels of each.

    >>> rows = covering_array({"a": [1, 2], "b": [1, 2], "c": [1, 2]})
    >>> len(rows), rows[0]
    (6, {'a': 1, 'b': 1, 'c': 1})
    """
    names = list(factors)
    pairs = list(combinations(range(len(names)), 2))
    every = list(product(*(range(len(levels)) for levels in factors.values())))
    left = {(i, row[i], j, row[j]) for row in every for i, j in pairs}
    used: Counter[tuple[int, int]] = Counter()
    rows = []

    def worth(row: tuple[int, ...]) -> tuple[int, float]:
        new = sum((i, row[i], j, row[j]) in left for i, j in pairs)
        return new, -sum(used[i, level] for i, level in enumerate(row))

    while left:
        best = max(every, key=worth)
        used.update(enumerate(best))
        left -= {(i, best[i], j, best[j]) for i, j in pairs}
        rows.append({name: factors[name][level] for name, level in zip(names, best, strict=True)})
    return rows
