"""Tests of a contrast of regression coefficients at any value: the variance is that under the value tested.

An interval from an estimate and its standard error fails where one side of a contrast has few events: a
group of 30 without the label has no variance of its own, so that anything differs from it. Under the value
that is tested, the group's share is close to the others', and its variance is known. Of two groups this is
the test of Miettinen & Nurminen (1985), Statistics in Medicine 4, 213-226; in logistic regression, Rao's.

Outcomes lie between 0 and 1. With the levers a of the contrast, its value b = Σ a_i y_i, the restricted fit μ
at the value d, R = y − μ and v = μ(1 − μ)::

    V(d) = f · φ · (Σ a_i² v_i + ρ Σ_{i ≠ j in a group} a_i a_j √(v_i v_j))

- φ is the dispersion Σ R² / Σ v · n / (n − k + 1): 1 of labels that are there or not.
- ρ is the mean product of two items' Pearson residuals in a group.
- f allows for a regression whose form or whose dispersion is not the data's: the variance that the residuals
  of the unrestricted fit show (HC0) over φ Σ a²v there, if it is above 1. In a comparison of groups it never
  is for labels that are there or not.
- Where items are in groups, V(d) is no less than f · φ · Σ a²v times CR2 / HC2 (Bell & McCaffrey 2002), which
  sees effects that differ between groups.

``benchmarks/conclusions.py`` has the simulations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from quaver.estimation.grouped_items import Groups, variance_ratio
from quaver.estimation.jackknife import Floats
from quaver.estimation.regression import newton, orthonormal, products

_LEAST = 1e-3
"""Pearson residuals are taken as of a variance no smaller than this."""
_TINY = 1e-300
_PASSES = 3


class Restricted:
    """What a regression leaves where its contrast is held at a value.

    Attributes:
        lever: How far the contrast moves with each item's outcome, shape (items, 1) or (items, columns).
        working: v, the variance of each outcome under the value, shape (items, columns).
        residual: R.
    """

    __slots__ = ("lever", "residual", "working")

    def __init__(self, lever: Floats, mean: Floats, outcomes: Floats) -> None:
        self.lever, self.working, self.residual = lever, mean * (1 - mean), outcomes - mean

    @property
    def variance(self) -> Floats:
        """Σ a²v."""
        return np.asarray((self.lever**2 * self.working).sum(0))


class ScoreTest:
    """A contrast of regression coefficients in several columns of outcomes, tested at any value.

    Args:
        matrix: X, shape (items, columns), of full rank.
        outcomes: From 0 to 1, shape (items, columns of outcomes).
        contrast: c, shape (columns,).
        clusters: Each item's group, where items are not on their own.

    Attributes:
        value: The contrast in each column.
        error: About its standard error.
        range: Beyond which values it cannot be.
    """

    value: Floats
    error: Floats
    range: tuple[float, float]

    def __init__(
        self,
        matrix: Floats,
        outcomes: Floats,
        contrast: Floats,
        clusters: NDArray[np.int64] | None = None,
    ) -> None:
        found = orthonormal(matrix, contrast)
        if found is None:
            raise ValueError("columns that depend on each other")
        self._matrix, self._contrast = found
        self._outcomes, self._binary = outcomes, bool(((outcomes == 0) | (outcomes == 1)).all())
        self._groups = None if clusters is None else Groups(clusters)
        items, columns = matrix.shape
        # Directions that do not move the contrast, shape (columns, columns - 1).
        self._free = np.linalg.qr(np.column_stack([self._contrast, np.eye(columns)]))[0][:, 1:columns]
        self._spared = 0.0
        if self._groups is not None and columns > 1:
            nuisance = np.linalg.qr(self._matrix @ self._free)[0]
            self._spared = float(self._groups.products(nuisance).sum())
        self._left = max(items - columns + 1, 1)
        self._ratio: Floats | None = None
        self._form = self._unrestricted()

    def _unrestricted(self) -> Floats:
        """Fit without a restriction: `value`, `error`, CR2 / HC2, and f."""
        raise NotImplementedError

    def restricted(self, at: Floats) -> Restricted:
        """What is left where the contrast of each column is held at a value."""
        raise NotImplementedError

    def statistic(self, at: Floats) -> Floats:
        """(value − at) / √V(at) of each column: about standard normal where the contrast is ``at``."""
        raise NotImplementedError

    def variance(self, found: Restricted) -> Floats:
        """V at a value."""
        dispersion: Floats | float = 1.0
        if not self._binary:
            total = np.maximum(found.working.sum(0), _TINY)
            dispersion = (found.residual**2).sum(0) / total * len(self._matrix) / self._left
        plain = found.variance
        if self._groups is None or not self._groups.pairs or self._ratio is None:
            return np.asarray(self._form * (dispersion * plain))
        root = np.sqrt(found.working)
        pearson = found.residual / np.maximum(root, _LEAST**0.5)
        square = np.maximum((pearson**2).sum(0) / self._left, _TINY)
        share = (self._groups.products(pearson) + self._spared) / self._groups.pairs / square
        together = plain + share * self._groups.products(found.lever * root)
        return np.asarray(self._form * (dispersion * np.maximum(together, plain * self._ratio)))

    def _misfit(self, free: Restricted) -> Floats:
        """The factor f, from the unrestricted fit."""
        dispersion: Floats | float = 1.0
        if not self._binary:
            dispersion = (free.residual**2).sum(0) / np.maximum(free.working.sum(0), _TINY)
        robust = (free.lever**2 * free.residual**2).sum(0)
        return np.asarray(np.maximum(1.0, robust / np.maximum(dispersion * free.variance, _TINY)))


class LinearTest(ScoreTest):
    """The score test of least squares.

    3 of 30 against 29 of 970: under no difference both shares are 32/1000, and 0.0701 / √(0.032 · 0.968 ·
    (1/30 + 1/970)) is 2.149:

    >>> group = np.repeat([1.0, 0.0], [30, 970])
    >>> label = np.concatenate([np.arange(30) < 3, np.arange(970) < 29])[:, None] * 1.0
    >>> test = LinearTest(np.stack([np.ones(1000), group], 1), label, np.array([0.0, 1.0]))
    >>> test.statistic(np.zeros(1)).round(3).tolist()
    [2.149]
    """

    def _unrestricted(self) -> Floats:
        basis, outcomes = self._matrix, self._outcomes
        self._lever = basis @ self._contrast
        self._size = float(self._lever @ self._lever)
        self.value = self._lever @ outcomes
        self._fit = basis @ (basis.T @ outcomes)
        up, down = np.maximum(self._lever, 0).sum(), np.minimum(self._lever, 0).sum()
        self.range = (float(down), float(up))
        free = Restricted(self._lever[:, None], np.clip(self._fit, 0.0, 1.0), outcomes)
        free.residual = outcomes - self._fit
        if self._groups is not None:
            self._ratio = variance_ratio(basis, self._lever, free.residual, self._groups)
        self.error = np.maximum(free.variance**0.5, 1e-3 * (self.range[1] - self.range[0]))
        return self._misfit(free)

    def restricted(self, at: Floats) -> Restricted:
        """See `ScoreTest`: the least-squares fit at the value, within 0 and 1."""
        lever = self._lever[:, None]
        mean = np.clip(self._fit - lever * ((self.value - at) / self._size), 0.0, 1.0)
        for _ in range(_PASSES):
            gap = at - self._lever @ mean
            if (np.abs(gap) <= 1e-9 * (self.range[1] - self.range[0])).all():
                break
            movable = np.where(lever * gap > 0, mean < 1, mean > 0) * lever
            mean = np.clip(mean + movable * (gap / np.maximum((movable**2).sum(0), _TINY)), 0.0, 1.0)
        return Restricted(lever, mean, self._outcomes)

    def statistic(self, at: Floats) -> Floats:
        """See `ScoreTest`."""
        return _over(self.value - at, self.variance(self.restricted(at)))


class LogisticTest(ScoreTest):
    """Rao's score test of logistic regression: the same arguments, the contrast in log-odds.

    3 of 30 against 29 of 970 are no likelier in log-odds than in shares:

    >>> group = np.repeat([1.0, 0.0], [30, 970])
    >>> label = np.concatenate([np.arange(30) < 3, np.arange(970) < 29])[:, None] * 1.0
    >>> test = LogisticTest(np.stack([np.ones(1000), group], 1), label, np.array([0.0, 1.0]))
    >>> test.statistic(np.zeros(1)).round(3).tolist()
    [2.149]
    """

    range = (-np.inf, np.inf)

    def _unrestricted(self) -> Floats:
        columns = self._outcomes.shape[1]
        norm = float(self._contrast @ self._contrast)
        self._towards = self._matrix @ self._contrast / norm
        self._others = self._matrix @ self._free
        self._begin = np.zeros((columns, self._others.shape[1]))
        start = np.zeros((columns, self._matrix.shape[1]))
        found = newton(self._matrix, products(self._matrix), self._outcomes.T, start)
        self.value = found @ self._contrast
        self._begin = np.where(np.isfinite(found), found, 0.0) @ self._free
        free = self.restricted(np.where(np.isfinite(self.value), self.value, 0.0))
        self.error = free.variance**-0.5
        if self._groups is not None:  # in the least squares that the last step of each fit is
            self._ratio = np.empty(columns)
            for column in range(columns):
                root = np.sqrt(np.maximum(free.working[:, column], _TINY))
                basis = np.linalg.qr(self._matrix * root[:, None])[0]
                pearson = (free.residual[:, column] / np.maximum(root, _LEAST**0.5))[:, None]
                lever = free.lever[:, column] * root
                self._ratio[column] = variance_ratio(basis, lever, pearson, self._groups)[0]
        return self._misfit(free)

    def restricted(self, at: Floats) -> Restricted:
        """See `ScoreTest`: the likeliest fit at the value; levers are those of the score."""
        offset = self._towards * at[:, None]
        log_odds = offset
        if self._others.shape[1]:
            found = newton(self._others, products(self._others), self._outcomes.T, self._begin, offset)
            settled = np.asarray(np.isfinite(found).all(1))
            self._begin = np.where(settled[:, None], found, self._begin)
            log_odds = offset + self._begin @ self._others.T
        mean = special.expit(log_odds).T
        weight = mean * (1 - mean)
        lever = np.repeat(self._towards[:, None], at.size, 1)
        if self._others.shape[1]:
            for column in range(at.size):
                weighted = self._others * weight[:, column : column + 1]
                gram = np.linalg.pinv(self._others.T @ weighted)
                lever[:, column] -= self._others @ (gram @ (weighted.T @ self._towards))
        return Restricted(lever, mean, self._outcomes)

    def statistic(self, at: Floats) -> Floats:
        """See `ScoreTest`."""
        found = self.restricted(at)
        return _over((found.lever * found.residual).sum(0), self.variance(found))


def _over(score: Floats, variance: Floats) -> Floats:
    """Scores over standard errors: 0 where both are 0."""
    near = np.abs(score) <= 1e-12
    root = np.sqrt(np.maximum(variance, 0.0))
    return np.asarray(np.where(near, 0.0, score / np.where(near, 1.0, np.maximum(root, _TINY))))


_DOUBLINGS = 14
"""An end that many doublings of a standard error away is taken for infinite, or for the end of the range."""
_STEPS = 60
_NEAR = 1e-5
"""How well an end is known, as a share of its distance from the value."""


def score_interval(test: ScoreTest, confidence_level: float) -> tuple[Floats, Floats]:
    """The lower and upper ends of each column's interval.

    The value is always inside; an end is the first value away from it that is rejected, or the end of what is
    possible.

    Returns:
        Ends, each of shape (columns,); NaN where the value is.

    56 of 70 against 48 of 80. At a difference of 0.0528 least squares would give 0.7215 and 0.6687, and
    1.96 · √(0.7215 · 0.2785 / 70 + 0.6687 · 0.3313 / 80) = 0.2 − 0.0528:

    >>> from quaver.estimation.score_tests import LinearTest
    >>> group = np.repeat([1.0, 0.0], [70, 80])
    >>> label = np.concatenate([np.arange(70) < 56, np.arange(80) < 48])[:, None] * 1.0
    >>> test = LinearTest(np.stack([np.ones(150), group], 1), label, np.array([0.0, 1.0]))
    >>> [float(end[0].round(4)) for end in score_interval(test, 0.95)]
    [0.0528, 0.3344]
    """
    quantile = -float(special.ndtri((1 - confidence_level) / 2))
    low, high = (_end(test, quantile, side, edge) for side, edge in zip((-1.0, 1.0), test.range, strict=True))
    return low, high


def _end(test: ScoreTest, quantile: float, side: float, edge: float) -> Floats:
    """The first value on one side of each column's value that is rejected."""
    known = np.isfinite(test.value)
    value = np.where(known, test.value, 0.0)
    inside, under = value, np.full(value.size, -quantile)
    step = np.where(known & (test.error > 0), test.error, 1.0)
    for _ in range(_DOUBLINGS):
        outside = side * np.minimum(side * value + step, side * edge)
        over = np.abs(test.statistic(outside)) - quantile
        within = known & (over < 0) & (side * outside < side * edge)
        if not within.any():
            break
        inside, under = np.where(within, outside, inside), np.where(within, over, under)
        step = np.where(within, 2 * step, step)
    endless = over < 0
    for number in range(_STEPS):
        share = np.clip(under / np.minimum(under - over, -1e-300), 0.02, 0.98) if number % 3 < 2 else 0.5
        middle = inside + share * (outside - inside)
        found = np.abs(test.statistic(middle)) - quantile
        within = found < 0
        inside, under = np.where(within, middle, inside), np.where(within, found, under)
        outside, over = np.where(within, outside, middle), np.where(within, over, found)
        if (np.abs(outside - inside) <= _NEAR * np.abs(outside - value))[known & ~endless].all():
            break
    end = np.where(endless, edge, (inside + outside) / 2)
    return np.asarray(np.where(known, end, np.nan))
