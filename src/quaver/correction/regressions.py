"""Weighted regressions with one outcome or several: means, linear, logistic and multinomial ones.

Coefficients have the shape (outcomes, columns): a mean is a linear regression on a constant, a logistic
regression has one outcome, a multinomial one an outcome for each label but the reference. Outcomes need not
be whole: what a correction makes of them lies anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Ints

Kind = Literal["linear", "logistic", "multinomial"]
"""Which regression."""

_STEPS = 60
_FAR = 5.0
"""A step of Newton's may move no item's log-odds by more than this."""
_STRAYED = 30.0
"""Log-odds beyond which the columns tell the outcomes apart: there is no finite solution."""
_SINGULAR = 1e12


def expected(kind: Kind, matrix: Floats, coefficients: Floats) -> Floats:
    """What a regression expects of each item.

    Returns:
        Shape (items, outcomes). A reference label has what the others leave.

    >>> expected("multinomial", np.ones((1, 1)), np.log([[2.0], [1.0]])).tolist()
    [[0.5, 0.25]]
    """
    log_odds = matrix @ coefficients.T
    if kind == "linear":
        return np.asarray(log_odds)
    top = np.maximum(log_odds.max(1, keepdims=True), 0.0)
    odds = np.exp(log_odds - top)
    return np.asarray(odds / (np.exp(-top) + odds.sum(1, keepdims=True)))


def information(kind: Kind, matrix: Floats, mean: Floats, weights: Floats) -> Floats:
    """How the estimating equations move with the coefficients: Σ w (∂μ/∂η) ⊗ x xᵀ.

    Returns:
        Shape (outcomes × columns, outcomes × columns).
    """
    columns, outcomes = matrix.shape[1], mean.shape[1]
    if kind == "linear":
        return np.asarray(np.kron(np.eye(outcomes), matrix.T @ (matrix * weights[:, None])))
    found = np.empty((outcomes, columns, outcomes, columns))
    for one in range(outcomes):
        for other in range(one, outcomes):
            slope = mean[:, one] * ((one == other) - mean[:, other]) * weights
            found[one, :, other] = found[other, :, one] = matrix.T @ (matrix * slope[:, None])
    return found.reshape(outcomes * columns, outcomes * columns)


def solved(kind: Kind, matrix: Floats, outcome: Floats, weights: Floats) -> Floats | None:
    """The coefficients b with Σ w x (y − μ(x b)) = 0.

    Returns:
        Shape (outcomes, columns); None where the columns determine each other, or tell the outcomes apart.

    A share of 3 in 4, in log-odds ln 3:

    >>> found = solved("logistic", np.ones((4, 1)), np.array([[1.0], [1.0], [1.0], [0.0]]), np.ones(4))
    >>> float(np.exp(found[0, 0]).round(9))
    3.0
    """
    return balanced(kind, matrix, (outcome * weights[:, None]).T @ matrix, weights)


def balanced(kind: Kind, matrix: Floats, moments: Floats, weights: Floats) -> Floats | None:
    """The coefficients b with Σ w μ(x b) xᵀ = moments; None where there are none."""
    if kind == "linear":
        found = inverse_times(matrix.T @ (matrix * weights[:, None]), moments.T)
        return None if found is None else found.T
    coefficients = np.zeros(moments.shape)
    for _ in range(_STEPS):
        mean = expected(kind, matrix, coefficients)
        left = moments - (mean * weights[:, None]).T @ matrix
        step = inverse_times(information(kind, matrix, mean, weights), left.ravel())
        if step is None:
            return None
        moved = np.abs(matrix @ step.reshape(moments.shape).T)
        reach = float(moved.max(initial=0.0))
        coefficients = coefficients + step.reshape(moments.shape) * min(1.0, _FAR / max(reach, 1e-300))
        if float(np.abs(matrix @ coefficients.T).max(initial=0.0)) > _STRAYED:
            return None
        if reach < 1e-10:
            return coefficients
    return None


def inverse_times(system: Floats, right: Floats) -> Floats | None:
    """The solution of a symmetric system; None where there is none worth the name.

    >>> inverse_times(np.array([[1.0, 1.0], [1.0, 1.0]]), np.ones(2)) is None
    True
    """
    if not np.isfinite(system).all() or not np.isfinite(right).all():
        return None
    scale = np.sqrt(np.maximum(np.abs(np.diag(system)), 1e-300))
    even = system / np.outer(scale, scale)
    sizes = np.abs(np.linalg.eigvalsh(even))
    if not sizes.min(initial=np.inf) > sizes.max(initial=0.0) / _SINGULAR:
        return None
    scaled = np.linalg.solve(even, (right.T / scale).T)
    return np.asarray((scaled.T / scale).T)


def levers(
    kind: Kind, matrix: Floats, mean: Floats, weights: Floats, contrast: Floats, rows: Floats
) -> Floats | None:
    """How far a contrast of the coefficients moves with the outcome of each of some items, times its weight.

    Returns:
        Shape (items asked for, outcomes); None where the columns determine each other.
    """
    found = inverse_times(information(kind, matrix, mean, weights), contrast.ravel())
    return None if found is None else np.asarray(rows @ found.reshape(contrast.shape).T)


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
        """Numbers of the items with a gold label, less their stratum's weighted mean."""
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
    """The sample for a mean: a regression on a constant, every item of the same weight."""
    ones = np.ones((outcome.size, 1))
    return GoldSample(ones, outcome[:, None], probability, ones[:, 0])
