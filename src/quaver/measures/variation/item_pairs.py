"""Pairs of items of one class, and how alike their label distributions are, without going through the pairs.

With the items sorted by p(v), Σ_ij |p_i(v) − p_j(v)| is a sum over the gaps between neighbouring values,
each counted once for every pair that it lies between.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaver.estimation.bootstrap import Floats
from quaver.estimation.means import over_strata


class Pairs:
    """The within-class pairs of one stratum's items, as functions of item weights.

    Args:
        counts: Label counts, shape (items, labels). Items without any do not take part.
        classes: Each item's class, -1 for none.
        self_pairs: Whether an item is paired with itself.
        pooled: Whether all pairs have equal weight, or all classes.
    """

    def __init__(
        self,
        counts: Floats,
        classes: NDArray[np.integer[Any]],
        *,
        self_pairs: bool = False,
        pooled: bool = False,
    ) -> None:
        predictions = counts.sum(1)
        takes_part = (predictions > 0) & (classes >= 0)
        self.shares = counts / np.maximum(predictions, 1)[:, None]
        self.classes = {
            int(code): np.flatnonzero(takes_part & (classes == code))
            for code in np.unique(classes[takes_part])
        }
        self._self_pairs, self._pooled = self_pairs, pooled
        self._sorted = {code: self._sort(items) for code, items in self.classes.items()}

    def _sort(self, items: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]]:
        """For each label: the items in order of p, the last place of each value but the top, the gaps."""
        found = []
        for p in self.shares[items].T:
            order = np.argsort(p, kind="stable")
            ends = np.flatnonzero(np.diff(p[order]) > 0)
            if ends.size:
                found.append((items[order], ends, p[order][ends + 1] - p[order][ends]))
        return found

    def _sums(self, code: int, weights: Floats) -> tuple[Floats, Floats]:
        """Σ of consistencies and number of (ordered) pairs in one class, for each sample."""
        own = weights[:, self.classes[code]]
        total = own.sum(1)
        # Copies of one item in a bootstrap sample are not a pair: they would be consistent by birth.
        pairs = total**2 - (own**2).sum(1) + (total if self._self_pairs else 0)
        distance = np.zeros(len(weights))
        for order, ends, gaps in self._sorted[code]:
            below = np.cumsum(weights[:, order], 1)[:, ends]
            distance += (below * (total[:, None] - below)) @ gaps
        return pairs - distance, pairs

    def of_class(self, code: int, weights: Floats) -> Floats:
        """One class's consistency, one value a sample; NaN where it has no pair."""
        total, pairs = self._sums(code, weights)
        return np.asarray(np.where(pairs > 0, total / np.where(pairs > 0, pairs, 1), np.nan))

    def by_class(self, weights: Floats) -> Floats:
        """Each class's consistency, shape (samples, classes); NaN where it has no pair."""
        columns = [self.of_class(code, weights) for code in self.classes]
        return np.stack(columns, 1) if columns else np.empty((len(weights), 0))

    def overall(self, weights: Floats) -> Floats:
        """Consistency over all classes, shape (samples, 1); NaN where there is no pair."""
        if not self._pooled:
            return over_strata(self.by_class)(weights)
        total, pairs = np.zeros(len(weights)), np.zeros(len(weights))
        for code in self.classes:
            more, n = self._sums(code, weights)
            total, pairs = total + more, pairs + n
        return np.asarray(np.where(pairs > 0, total / np.where(pairs > 0, pairs, 1), np.nan)[:, None])

    def per_item(self) -> Floats:
        """Each item's mean consistency with the others of its class; NaN where there are none."""
        found = np.full(len(self.shares), np.nan)
        for items in self.classes.values():
            size = items.size
            if size + self._self_pairs < 2:
                continue
            distance = np.zeros(size)
            for p in self.shares[items].T:
                order = np.argsort(p, kind="stable")
                below = np.cumsum(p[order]) - p[order]
                place = np.arange(size)
                # Σ_j |p_i − p_j| from the sums below and above the i-th in order.
                distance[order] += p[order] * (2 * place + 1 - size) + p.sum() - p[order] - 2 * below
            found[items] = 1 - distance / 2 / (size - (not self._self_pairs))
        return found

    def matrix(self, code: int) -> Floats:
        """The consistency of every pair of items of a class, shape (items, items), in memory at once."""
        p = self.shares[self.classes[code]]
        distance = np.zeros((len(p), len(p)))
        for column in p.T:
            distance += np.abs(column[:, None] - column)
        return np.asarray(1 - distance / 2)


def alike(counts: Floats) -> Floats:
    """The consistency of each pair of items of one class, mean over the strata, shape (items, items).

    Args:
        counts: Label counts, shape (items, strata, labels).
    """
    one_class = np.zeros(len(counts), np.int64)
    layers = [Pairs(counts[:, stratum], one_class).matrix(0) for stratum in range(counts.shape[1])]
    return np.asarray(np.mean(layers, 0))
