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

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from quaver.estimation.grouped_items import by_unit
from quaver.estimation.intervals import Interval
from quaver.estimation.jackknife import Floats, Units
from quaver.estimation.regression import orthonormal, solved

_LEAST = 1e-3
"""Pearson residuals are taken as of a variance no smaller than this."""
_TINY = 1e-300
_NEARLY_ONE = 1e-8
_PASSES = 3

Fit = tuple[Floats, Floats, Floats]
"""How far the contrast moves with each item's outcome; v, the variance of each outcome; its residual."""


class ScoreTest:
    """A contrast of regression coefficients, tested at any value.

    Args:
        matrix: X, shape (items, columns), of full rank.
        outcome: Of each item, from 0 to 1.
        contrast: c, shape (columns,).
        clusters: Each item's group, whole numbers from 0 without gaps, where items are not on their own.

    Attributes:
        value: The contrast; NaN where it does not exist.
        error: About its standard error.
        range: Beyond which values it cannot be.
    """

    value: float
    error: float
    range: tuple[float, float]

    def __init__(
        self,
        matrix: Floats,
        outcome: Floats,
        contrast: Floats,
        clusters: NDArray[np.int64] | None = None,
    ) -> None:
        found = orthonormal(matrix, contrast)
        if found is None:
            raise ValueError("columns that depend on each other")
        items, columns = matrix.shape
        self._matrix, self._contrast = found
        self._outcome, self._units = outcome, Units(items, clusters)
        self._binary = bool(((outcome == 0) | (outcome == 1)).all())
        # Directions that do not move the contrast, shape (columns, columns - 1).
        self._free = np.linalg.qr(np.column_stack([self._contrast, np.eye(columns)]))[0][:, 1:columns]
        self._left: int = max(items - columns + 1, 1)
        self._pairs = self._spared = 0.0
        if clusters is not None:
            self._pairs = _products(np.ones(items), self._units)
            for column in np.linalg.qr(self._matrix @ self._free)[0].T:
                self._spared += _products(column, self._units)
        self._ratio = 1.0
        self._form = self._misfit(*self._unrestricted())

    def _unrestricted(self) -> Fit:
        """The fit without a restriction; sets `value`, `error`, and CR2 / HC2."""
        raise NotImplementedError

    def restricted(self, at: float) -> Fit:
        """The fit where the contrast is held at a value."""
        raise NotImplementedError

    def statistic(self, at: float) -> float:
        """(value − at) / √V(at): about standard normal where the contrast is ``at``."""
        raise NotImplementedError

    def variance(self, lever: Floats, working: Floats, residual: Floats) -> float:
        """V, from the fit at a value."""
        dispersion = 1.0
        if not self._binary:
            total = max(float(working.sum()), _TINY)
            dispersion = float(residual @ residual) / total * len(lever) / self._left
        plain = float(lever**2 @ working)
        if not self._pairs:
            return self._form * dispersion * plain
        root = np.sqrt(working)
        pearson = residual / np.maximum(root, _LEAST**0.5)
        square = max(float(pearson @ pearson) / self._left, _TINY)
        share = (_products(pearson, self._units) + self._spared) / self._pairs / square
        together = plain + share * _products(lever * root, self._units)
        return self._form * dispersion * max(together, plain * self._ratio)

    def _misfit(self, lever: Floats, working: Floats, residual: Floats) -> float:
        """The factor f, from the unrestricted fit."""
        dispersion = 1.0
        if not self._binary:
            dispersion = float(residual @ residual) / max(float(working.sum()), _TINY)
        robust, plain = float(lever**2 @ residual**2), float(lever**2 @ working)
        return max(1.0, robust / max(dispersion * plain, _TINY))


class LinearTest(ScoreTest):
    """The score test of least squares.

    3 of 30 against 29 of 970: under no difference both shares are 32/1000, and 0.0701 / √(0.032 · 0.968 ·
    (1/30 + 1/970)) is 2.149:

    >>> group = np.repeat([1.0, 0.0], [30, 970])
    >>> label = np.concatenate([np.arange(30) < 3, np.arange(970) < 29]) * 1.0
    >>> test = LinearTest(np.stack([np.ones(1000), group], 1), label, np.array([0.0, 1.0]))
    >>> round(test.statistic(0.0), 3)
    2.149
    """

    def _unrestricted(self) -> Fit:
        basis, outcome = self._matrix, self._outcome
        self._lever = lever = basis @ self._contrast
        self._fit = basis @ (basis.T @ outcome)
        self.value = float(lever @ outcome)
        self.range = float(np.minimum(lever, 0).sum()), float(np.maximum(lever, 0).sum())
        mean, residual = np.clip(self._fit, 0.0, 1.0), outcome - self._fit
        working = mean * (1 - mean)
        self._ratio = variance_ratio(basis, lever, residual, self._units)
        self.error = max(float(lever**2 @ working) ** 0.5, 1e-3 * (self.range[1] - self.range[0]))
        return lever, working, residual

    def restricted(self, at: float) -> Fit:
        """See `ScoreTest`: the least-squares fit at the value, within 0 and 1."""
        lever = self._lever
        mean = np.clip(self._fit - lever * ((self.value - at) / float(lever @ lever)), 0.0, 1.0)
        for _ in range(_PASSES):
            gap = at - float(lever @ mean)
            if abs(gap) <= 1e-9 * (self.range[1] - self.range[0]):
                break
            movable = np.where(lever * gap > 0, mean < 1, mean > 0) * lever
            mean = np.clip(mean + movable * (gap / max(float(movable @ movable), _TINY)), 0.0, 1.0)
        return lever, mean * (1 - mean), self._outcome - mean

    def statistic(self, at: float) -> float:
        """See `ScoreTest`."""
        return _over(self.value - at, self.variance(*self.restricted(at)))


class LogisticTest(ScoreTest):
    """Rao's score test of logistic regression: the same arguments, the contrast in log-odds.

    3 of 30 against 29 of 970 are no likelier in log-odds than in shares:

    >>> group = np.repeat([1.0, 0.0], [30, 970])
    >>> label = np.concatenate([np.arange(30) < 3, np.arange(970) < 29]) * 1.0
    >>> test = LogisticTest(np.stack([np.ones(1000), group], 1), label, np.array([0.0, 1.0]))
    >>> round(test.statistic(0.0), 3)
    2.149
    """

    range = (-np.inf, np.inf)

    def _unrestricted(self) -> Fit:
        contrast, ones = self._contrast, np.ones(len(self._matrix))
        self._towards = self._matrix @ contrast / float(contrast @ contrast)
        self._others = self._matrix @ self._free
        found = solved("logistic", self._matrix, self._outcome, ones)
        self.value = np.nan if found is None else float(found @ contrast)
        self._begin = np.zeros(self._free.shape[1]) if found is None else found @ self._free
        lever, working, residual = self.restricted(0.0 if found is None else self.value)
        self.error = float(lever**2 @ working) ** -0.5
        # In the least squares that the last step of the fit is.
        root = np.sqrt(np.maximum(working, _TINY))
        pearson = residual / np.maximum(root, _LEAST**0.5)
        basis = np.linalg.qr(self._matrix * root[:, None])[0]
        self._ratio = variance_ratio(basis, lever * root, pearson, self._units)
        return lever, working, residual

    def restricted(self, at: float) -> Fit:
        """See `ScoreTest`: the likeliest fit at the value; levers are those of the score."""
        others, log_odds, lever = self._others, self._towards * at, self._towards
        found = solved("logistic", others, self._outcome, np.ones(len(others)), log_odds, self._begin)
        if found is not None:
            self._begin = found
        mean = special.expit(log_odds + others @ self._begin)
        working = mean * (1 - mean)
        weighted = others * working[:, None]
        lever = lever - others @ (np.linalg.pinv(others.T @ weighted) @ (weighted.T @ lever))
        return lever, working, self._outcome - mean

    def statistic(self, at: float) -> float:
        """See `ScoreTest`."""
        lever, working, residual = self.restricted(at)
        return _over(float(lever @ residual), self.variance(lever, working, residual))


def _over(score: float, variance: float) -> float:
    """A score over its standard error: 0 where both are 0."""
    if abs(score) <= 1e-12:
        return 0.0
    return score / max(math.sqrt(max(variance, 0.0)), _TINY)


def _products(values: Floats, units: Units) -> float:
    """Σ v_i v_j over the ordered pairs of different items that share a group."""
    sums = by_unit(values[:, None], units)
    return float((sums**2).sum() - values @ values)


def reduced_levers(basis: Floats, lever: Floats, units: Units) -> Floats:
    """Levers whose squared sums with residuals are unbiased where outcomes are independent and alike.

    The variance of Σ a_i y_i from the residuals e of a least-squares fit is Σ_g (Σ_{i in g} w_i e_i)² with
    w_g = (I − H_gg)^(−1/2) a_g: HC2 where each item is a group of its own, else CR2. Source: Bell & McCaffrey
    (2002), Survey Methodology 28, 169-181; Pustejovsky & Tipton (2018), Journal of Business & Economic
    Statistics 36, 672-683.

    Of a mean of n items, w = a / √(1 − 1/n), and Σ w²e² = s²/n:

    >>> reduced_levers(np.full((4, 1), 0.5), np.full(4, 0.25), Units(4)).round(4).tolist()
    [0.2887, 0.2887, 0.2887, 0.2887]
    """
    if units.clusters is None:
        left = 1.0 - (basis**2).sum(1)
        return np.asarray(np.where(left > _NEARLY_ONE, lever / np.sqrt(np.maximum(left, _NEARLY_ONE)), 0.0))
    size = basis.shape[1]
    products = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), -1)
    hats, turned = np.linalg.eigh(by_unit(products, units).reshape(-1, size, size))
    left = 1.0 - hats
    power = np.where(left > _NEARLY_ONE, 1 / np.sqrt(np.maximum(left, _NEARLY_ONE)), 0.0) - 1
    factor = np.where(hats > _NEARLY_ONE, power / np.maximum(hats, _NEARLY_ONE), 0.5)
    along = by_unit(basis * lever[:, None], units)
    moved = np.einsum("gij,gj,gkj,gk->gi", turned, factor, turned, along)
    return np.asarray(lever + (basis * moved[units.clusters]).sum(1))


def variance_ratio(basis: Floats, lever: Floats, residual: Floats, units: Units) -> float:
    """The variance of a contrast with items in groups over that with items on their own: CR2 / HC2.

    Returns:
        1 where items are on their own, or no residual differs from 0.
    """
    on_their_own = reduced_levers(basis, lever, Units(units.items)) * residual
    in_groups = by_unit((reduced_levers(basis, lever, units) * residual)[:, None], units)
    alone = float(on_their_own @ on_their_own)
    return float((in_groups**2).sum()) / alone if alone > 0 else 1.0


_DOUBLINGS = 14
"""An end that many doublings of a standard error away is taken for infinite, or for the end of the range."""


def score_interval(test: ScoreTest, confidence_level: float) -> Interval:
    """The interval of a contrast; NaN where the contrast is.

    The value is always inside; an end is the first value away from it that is rejected, or the end of what is
    possible.

    56 of 70 against 48 of 80. At a difference of 0.0528 least squares would give 0.7215 and 0.6687, and
    1.96 · √(0.7215 · 0.2785 / 70 + 0.6687 · 0.3313 / 80) = 0.2 − 0.0528:

    >>> group = np.repeat([1.0, 0.0], [70, 80])
    >>> label = np.concatenate([np.arange(70) < 56, np.arange(80) < 48]) * 1.0
    >>> test = LinearTest(np.stack([np.ones(150), group], 1), label, np.array([0.0, 1.0]))
    >>> [round(end, 4) for end in score_interval(test, 0.95)]
    [0.0528, 0.3344]
    """
    if not np.isfinite(test.value):
        return Interval(np.nan, np.nan)
    quantile = -float(special.ndtri((1 - confidence_level) / 2))
    low, high = (_end(test, quantile, side, edge) for side, edge in zip((-1.0, 1.0), test.range, strict=True))
    return Interval(low, high)


def _end(test: ScoreTest, quantile: float, side: float, edge: float) -> float:
    """The first value on one side of the contrast's that is rejected."""
    from scipy.optimize import brentq  # takes longer to load than a report to measure

    def excess(at: float) -> float:
        return abs(test.statistic(at)) - quantile

    inside, step = test.value, test.error if test.error > 0 else 1.0
    for _ in range(_DOUBLINGS):
        outside = side * min(side * test.value + step, side * edge)
        if excess(outside) >= 0:
            return float(brentq(excess, inside, outside, xtol=1e-9 * step))
        if outside == edge:
            break
        inside, step = outside, 2 * step
    return edge
