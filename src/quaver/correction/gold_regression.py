"""A regression of true labels that few items have: the items, the design of the sample, and its solution.

A mean is a linear regression on a constant. Outcomes need not be whole: what a correction makes of them lies
anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quaver.estimation.coded_columns import Ints
from quaver.estimation.jackknife import Floats
from quaver.estimation.regression import Kind, expected, inverse_times


@dataclass(frozen=True)
class GoldRegression:
    """All items of the sampled population, and the contrast of a regression of their true labels.

    Attributes:
        matrix: The regression's columns, shape (items, columns).
        outcome: The true outcome of each item; NaN where an item has no gold label.
        probability: Each item's probability of being drawn.
        contrast: What each coefficient counts, shape (columns,).
        kind: Of regression.
        clusters: Each item's group, from 0 without gaps; None where items are on their own.
        strata: Each item's stratum, from 0 without gaps, where a fixed number was drawn from each; None of
            a simple sample, and of items drawn independently of one another.
    """

    matrix: Floats
    outcome: Floats
    probability: Floats
    contrast: Floats
    kind: Kind = "linear"
    clusters: Ints | None = None
    strata: Ints | None = None

    @property
    def mean(self) -> bool:
        """Whether it is a mean: a linear regression on a constant."""
        return self.kind == "linear" and self.matrix.shape[1] == 1 and bool(np.ptp(self.matrix) == 0)

    @property
    def counts_events(self) -> bool:
        """Whether the interval depends on how many events samples of this design have (not a mean's)."""
        return self.clusters is None and not self.mean

    @cached_property
    def gold(self) -> Ints:
        """The items with a gold label."""
        return np.flatnonzero(np.isfinite(self.outcome))

    @cached_property
    def gold_weights(self) -> Floats:
        """Weights over the items with a gold label, one over their probability, of sum 1."""
        given = 1 / self.probability[self.gold]
        return np.asarray(given / given.sum())

    @cached_property
    def units(self) -> Ints:
        """The group of each item with a gold label: itself, where items are on their own."""
        if self.clusters is None:
            return np.arange(self.gold.size)
        return np.unique(self.clusters[self.gold], return_inverse=True)[1].astype(np.int64)

    @cached_property
    def gold_strata(self) -> Ints:
        """The stratum of each item with a gold label; 0 of all where there are none."""
        return np.zeros(self.gold.size, np.int64) if self.strata is None else self.strata[self.gold]

    @cached_property
    def equal(self) -> bool:
        """Whether every item was as likely to be drawn as any other."""
        return bool(np.ptp(self.probability) < 1e-12 * self.probability.max(initial=1.0))

    def stratum_means(self, values: Floats) -> Floats:
        """Each stratum's weighted mean over its gold items."""
        total = np.bincount(self.gold_strata, self.gold_weights * values)
        return np.asarray(total / np.maximum(np.bincount(self.gold_strata, self.gold_weights), 1e-300))

    def centred(self, values: Floats) -> Floats:
        """Numbers of the items with a gold label, less their stratum's weighted mean."""
        return np.asarray(values - self.stratum_means(values)[self.gold_strata])

    @cached_property
    def small_strata(self) -> Floats:
        """What makes up for the mean taken from each gold item's stratum: √(n_h / (n_h − 1))."""
        sizes = np.bincount(self.gold_strata)[self.gold_strata].astype(np.float64)
        return np.asarray(np.sqrt(sizes / np.maximum(sizes - 1, 1.0)))

    def expected(self, coefficients: Floats) -> Floats:
        """What the regression expects of each item."""
        return expected(self.kind, self.matrix, coefficients)

    def levers(self, rows: Floats, mean: Floats, weights: Floats | float) -> Floats | None:
        """How far the contrast moves with the outcome of each of some items, times its weight."""
        slope = weights * (1.0 if self.kind == "linear" else mean * (1 - mean))
        found = inverse_times(rows.T @ (rows * np.broadcast_to(slope, len(rows))[:, None]), self.contrast)
        return None if found is None else np.asarray(rows @ found)


def of_mean(
    outcome: Floats, probability: Floats, clusters: Ints | None = None, strata: Ints | None = None
) -> GoldRegression:
    """The mean of an outcome: a regression on a constant."""
    return GoldRegression(
        np.ones((outcome.size, 1)), outcome, probability, np.ones(1), clusters=clusters, strata=strata
    )
