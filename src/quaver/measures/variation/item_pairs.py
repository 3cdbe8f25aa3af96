"""Pairs of items of one class, and how alike their label distributions are, without going through the pairs.

With the items sorted by p(v), Σ_ij |p_i(v) − p_j(v)| is a sum over the gaps between neighbouring values,
each counted once for every pair that it lies between. Few values are different, so what is summed under item
weights are the weights of the items at each value of each label: one sparse product for all samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

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
        self._items = len(counts)
        self._count()

    def _count(self) -> None:
        """Number each label's values above 0 in each class, in order, and say which items have them."""
        labels, none = self.shares.shape[1], np.zeros(0, np.int64)
        self._members = np.concatenate([none, *self.classes.values()])
        self._class = np.repeat(np.arange(len(self.classes)), [one.size for one in self.classes.values()])
        shares = self.shares[self._members]
        self._holder, label = np.nonzero(shares)
        values, value = _numbered(shares[self._holder, label])
        place = (self._class[self._holder] * labels + label) * values.size + value
        there, self._place = _numbered(place)
        level = values[there % max(values.size, 1)]
        of = there // max(values.size, 1)  # class and label
        first = np.flatnonzero(np.diff(of, prepend=-1))
        size = np.diff(first, append=of.size)
        self._gaps = np.where(np.isin(np.arange(of.size), first), level, np.diff(level, prepend=0.0))
        self._levels, self._first = level, np.repeat(first, size)
        self._ends, self._sizes, self._of = first + size, size, of // max(labels, 1)
        rows = np.concatenate([self._class, len(self.classes) + self._place])
        columns = np.concatenate([self._members, self._members[self._holder]])
        shape = (len(self.classes) + of.size, self._items)
        self._taken = sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=shape)
        self._in_class = self._taken[: len(self.classes)]

    def _sums(self, weights: Floats) -> tuple[Floats, Floats]:
        """Σ of consistencies and number of (ordered) pairs in each class, shapes (samples, classes)."""
        classes = len(self.classes)
        if not classes:
            return np.empty((len(weights), 0)), np.empty((len(weights), 0))
        found = self._taken @ np.ascontiguousarray(weights.T)
        total, at = found[:classes], found[classes:]
        # Copies of one item in a bootstrap sample are not a pair: they would be consistent by birth.
        pairs = total**2 - self._in_class @ np.ascontiguousarray(weights.T) ** 2
        if self._self_pairs:
            pairs = pairs + total
        upto = np.zeros((len(at) + 1, len(weights)))
        np.cumsum(at, 0, out=upto[1:])
        above = np.repeat(upto[self._ends], self._sizes, 0)
        above -= upto[:-1]
        apart = np.repeat(total, np.bincount(self._of), 0)
        apart -= above
        apart *= above
        apart *= self._gaps[:, None]
        distance = np.add.reduceat(apart, np.flatnonzero(np.diff(self._of, prepend=-1)), 0)
        return (pairs - distance).T, pairs.T

    def by_class(self, weights: Floats) -> Floats:
        """Each class's consistency, shape (samples, classes); NaN where it has no pair."""
        total, pairs = self._sums(weights)
        return np.asarray(np.where(pairs > 0, total / np.where(pairs > 0, pairs, 1), np.nan))

    def overall(self, weights: Floats) -> Floats:
        """Consistency over all classes, shape (samples, 1); NaN where there is no pair."""
        if not self._pooled:
            return over_strata(self.by_class)(weights)
        total, pairs = (one.sum(1) for one in self._sums(weights))
        return np.asarray(np.where(pairs > 0, total / np.where(pairs > 0, pairs, 1), np.nan)[:, None])

    def per_item(self) -> Floats:
        """Each item's mean consistency with the others of its class; NaN where there are none."""
        found = np.full(self._items, np.nan)
        if not self.classes:
            return found
        size = np.bincount(self._class)
        counts = np.bincount(self._place, minlength=self._levels.size).astype(np.float64)
        # Σ_j |p_i − p_j| from the sums below and above; the items without a label have p = 0.
        number, whole = (np.concatenate([[0.0], np.cumsum(one)]) for one in (counts, counts * self._levels))
        here = np.arange(self._levels.size)
        last = np.repeat(self._ends, self._sizes)
        above, over = number[last] - number[here], whole[last] - whole[here]
        below = size[self._of] - above
        apart = self._levels * (below - above) - (whole[here] - whole[self._first]) + over
        every = whole[last] - whole[self._first]  # Σ_j p_j, of an item that has none
        starts = np.flatnonzero(self._first == here)
        none = np.bincount(self._of[starts], every[starts], minlength=size.size)
        distance = np.bincount(self._holder, (apart - every)[self._place], minlength=self._members.size)
        others = size + self._self_pairs - 1
        enough = others[self._class] > 0
        mean = (distance + none[self._class]) / 2 / np.maximum(others[self._class], 1)
        found[self._members[enough]] = 1 - mean[enough]
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


def _numbered(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The different values, sorted, and each one's place among them."""
    found, place = np.unique(values, return_inverse=True)
    return found, place
