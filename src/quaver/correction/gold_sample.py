"""Items, of which a designed sample has gold labels, and what is known of every one of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quaver.estimation.answer_grid import Ints
from quaver.estimation.bootstrap import Floats


@dataclass(frozen=True)
class GoldSample:
    """All items of the sampled population, with what a regression of their true labels needs.

    Attributes:
        matrix: The regression's columns, shape (items, columns).
        outcome: The true outcomes, shape (items, outcomes); NaN where an item has no gold label.
        probability: Each item's probability of being drawn.
        weights: What each item counts for in the population, 1 by default.
        clusters: Each item's group, from 0 without gaps; None where items are on their own.
        strata: Each item's stratum, from 0 without gaps, where a fixed number was drawn from each; None of
            a simple sample, and of items drawn independently of one another.
        independent: Whether each item was drawn by itself (Poisson sampling), so that how many were drawn
            is by chance.
    """

    matrix: Floats
    outcome: Floats
    probability: Floats
    weights: Floats
    clusters: Ints | None = None
    strata: Ints | None = None
    independent: bool = False

    @cached_property
    def gold(self) -> Ints:
        """The items with a gold label."""
        return np.flatnonzero(np.isfinite(self.outcome).all(1))

    @cached_property
    def all_weights(self) -> Floats:
        """Weights over all items, of sum 1."""
        return np.asarray(self.weights / self.weights.sum())

    @cached_property
    def gold_weights(self) -> Floats:
        """Weights over the items with a gold label, one over their probability, of sum 1."""
        given = self.weights[self.gold] / self.probability[self.gold]
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
        if self.strata is None:
            return np.zeros(self.gold.size, np.int64)
        return np.asarray(self.strata[self.gold])

    @cached_property
    def equal(self) -> bool:
        """Whether every item was as likely to be drawn as any other."""
        return bool(np.ptp(self.probability) < 1e-12 * self.probability.max(initial=1.0))

    def centred(self, values: Floats) -> Floats:
        """Numbers of the items with a gold label, less their stratum's weighted mean.

        Args:
            values: Shape (gold items,) or (gold items, numbers).
        """
        table = values.reshape(values.shape[0], -1)
        means = self.stratum_means(table)
        return np.asarray((table - means[self.gold_strata]).reshape(values.shape))

    def stratum_means(self, values: Floats) -> Floats:
        """Each stratum's weighted mean over its gold items, shape (strata, numbers)."""
        total = np.zeros((int(self.gold_strata.max(initial=0)) + 1, values.shape[1]))
        np.add.at(total, self.gold_strata, values * self.gold_weights[:, None])
        size = np.bincount(self.gold_strata, self.gold_weights, minlength=total.shape[0])
        return np.asarray(total / np.maximum(size, 1e-300)[:, None])

    @cached_property
    def small_strata(self) -> Floats:
        """What makes up for the mean taken from each gold item's stratum: √(n_h / (n_h − 1))."""
        sizes = np.bincount(self.gold_strata)[self.gold_strata].astype(np.float64)
        return np.asarray(np.sqrt(sizes / np.maximum(sizes - 1, 1.0)))

    def unit_sums(self, values: Floats) -> Floats:
        """Sums over each group of all items; the values themselves where items are on their own."""
        return values if self.clusters is None else np.asarray(np.bincount(self.clusters, values), np.float64)


def of_share(outcome: Floats, probability: Floats) -> GoldSample:
    """The sample for a mean: a regression on a constant, every item of the same weight.

    Args:
        outcome: Of every item; NaN where it has no gold label.
        probability: Of being drawn.
    """
    ones = np.ones((outcome.size, 1))
    return GoldSample(ones, outcome[:, None], probability, ones[:, 0])
