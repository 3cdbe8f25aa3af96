"""Rows that are labelled alike, put together: clusters of items over the columns that are shown."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from quaver.estimation.bootstrap import one_thread
from quaver.view.query_scope import Block, Scope

_SAMPLE = 4_000
_MOST_CLUSTERS = 12
_MOST_COLUMNS = 200
_ROUNDS = 20
_AT_ONCE = 4_000


@dataclass
class Clusters:
    """Clusters of rows.

    Attributes:
        order: The rows' places, cluster by cluster.
        numbers: The number of each row's cluster, in that order, from 1.
        sizes: How many rows each has.
        labels: The legend code of the label that is most frequent in each; 0 for none.
    """

    order: Any
    numbers: Any
    sizes: list[int]
    labels: list[int]

    def reversed(self) -> Clusters:
        """The same the other way round."""
        return Clusters(self.order[::-1], self.numbers[::-1], self.sizes[::-1], self.labels[::-1])


@one_thread()
def clustered(scope: Scope, rows: Any) -> Clusters:
    """Cluster rows: k-means of their labels, one indicator a label and column, on a sample that places all.

    The result is the same each time. Of very many columns, some that are spread evenly are looked at.
    """
    from scipy.cluster.vq import vq  # most people never sort by clusters

    count, width = len(rows), len(scope.columns.places)
    if not count or not width:
        sizes = [count] if count else []
        return Clusters(np.arange(count), np.ones(count, np.int64), sizes, [0] * len(sizes))
    some = np.unique(np.linspace(0, width - 1, min(width, _MOST_COLUMNS)).astype(np.int64))
    sample = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _SAMPLE)).astype(np.int64))]
    centres = _centres(_indicators(scope, np.asarray(sample), some))
    place, far = np.zeros(len(rows), np.int16), np.zeros(len(rows), np.float32)
    for start in range(0, len(rows), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        place[part], far[part] = vq(_indicators(scope, rows[part], some), centres)
    return _arranged(scope, rows, place, far)


def _indicators(scope: Scope, rows: Any, some: Any) -> Any:
    """One number a label (or no label) and column: 1 where it is the row's."""
    labels = len(scope.index.design.codes)
    codes = Block(scope, rows).codes[:, some]
    codes = np.minimum(codes, labels + 1)
    return (
        (codes[:, :, None] == np.arange(1, labels + 2, dtype=codes.dtype))
        .reshape(len(rows), -1)
        .astype(np.float32)
    )


def _centres(points: Any) -> Any:
    """The centres of k-means, which begin far from each other."""
    from scipy.cluster.vq import kmeans2

    distinct = len(np.unique(points, axis=0))
    wanted = min(_MOST_CLUSTERS, distinct, max(2, int(np.sqrt(len(points) / 2))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a cluster that has lost its points keeps its centre
        centres, _ = kmeans2(points, wanted, iter=_ROUNDS, minit="++", seed=0)
    return centres


def _arranged(scope: Scope, rows: Any, place: Any, far: Any) -> Clusters:
    """Clusters by their most frequent label, the largest first; in each, the most typical rows first."""
    modal, size = scope.statistics.modal[rows], int(place.max()) + 1
    sizes = np.bincount(place, minlength=size)
    counts = np.zeros((size, len(scope.index.design.meanings)), np.int64)
    np.add.at(counts, (place, modal), 1)
    labels = counts.argmax(axis=1)
    ranked = [int(one) for one in np.lexsort((-sizes, np.where(labels == 0, 1 << 30, labels))) if sizes[one]]
    rank = np.zeros(size, np.int64)
    rank[ranked] = np.arange(len(ranked))
    order = np.lexsort((far, rank[place]))
    return Clusters(
        order,
        rank[place][order] + 1,
        [int(sizes[one]) for one in ranked],
        [int(labels[one]) for one in ranked],
    )
