"""Tests of a contrast of regression coefficients at any value: the variance is that under the value tested.

An interval from an estimate and its standard error fails where one side of a contrast has few events: a
group of 30 without the label has no variance of its own, so that anything differs from it. Under the value
that is tested, the group's share is close to the others', and its variance is known. Of two groups this is
the test of Miettinen & Nurminen (1985), Statistics in Medicine 4, 213-226.

Outcomes lie between 0 and 1. With the levers a of the contrast, its value b = Σ a_i y_i, the restricted fit μ
at the value d, R = y − μ and v = μ(1 − μ)::

    V(d) = f · φ · (Σ a_i² v_i + ρ Σ_{i ≠ j in a group} a_i a_j √(v_i v_j))

- φ is the dispersion Σ R² / Σ v · n / (n − k + 1): 1 of labels that are there or not.
- ρ is the mean product of two items' Pearson residuals in a group.
- f allows for a dispersion that is not the data's: the variance that the residuals of the unrestricted fit
  show (HC0) over φ Σ a²v there, if it is above 1. In a comparison of groups it never is for labels that are
  there or not.
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
from quaver.estimation.regression import orthonormal

_LEAST = 1e-3
"""Pearson residuals are taken as of a variance no smaller than this."""
_TINY = 1e-300
_NEARLY_ONE = 1e-8
_MOST_LEVERAGE = 0.9
_PASSES = 3
_DOUBLINGS = 14
"""An end that many doublings of a standard error away is taken for the end of the range."""


class ScoreTest:
    """A contrast of least-squares coefficients, tested at any value.

    3 of 30 against 29 of 970: under no difference both shares are 32/1000, and 0.0701 / √(0.032 · 0.968 ·
    (1/30 + 1/970)) is 2.149:

    >>> group = np.repeat([1.0, 0.0], [30, 970])
    >>> label = np.concatenate([np.arange(30) < 3, np.arange(970) < 29]) * 1.0
    >>> test = ScoreTest(np.stack([np.ones(1000), group], 1), label, np.array([0.0, 1.0]))
    >>> round(test.statistic(0.0), 3)
    2.149

    Args:
        matrix: X, shape (items, columns).
        outcome: Of each item.
        contrast: c, shape (columns,).
        clusters: Each item's group, whole numbers from 0 without gaps, where items are not on their own.
        ends: The least and the largest outcome.

    Raises:
        ValueError: The columns depend on each other.

    Attributes:
        value: The contrast.
        lever: How far it moves with each item's outcome.
        width: Its largest possible value less its smallest.
        contributions: What each item adds to its error, as if the item had not drawn the fit to itself (HC3,
            MacKinnon & White 1985).
    """

    def __init__(
        self,
        matrix: Floats,
        outcome: Floats,
        contrast: Floats,
        clusters: NDArray[np.int64] | None = None,
        ends: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        solution = orthonormal(matrix, contrast)
        if solution is None:
            raise ValueError("columns that depend on each other")
        basis, turned = solution
        items, columns = matrix.shape
        self._scale, self._units = ends[1] - ends[0], Units(items, clusters)
        self._outcome = (outcome - ends[0]) / self._scale
        self.lever = lever = basis @ turned
        self._fit = basis @ (basis.T @ self._outcome)
        self._value = float(lever @ self._outcome)
        self._least = ends[0] * float(lever.sum())
        self.value = float(lever @ outcome)
        self._range = float(np.minimum(lever, 0).sum()), float(np.maximum(lever, 0).sum())
        self.width = self._scale * (self._range[1] - self._range[0])
        self._binary = bool(np.isin(self._outcome, (0.0, 1.0)).all())
        self._left: int = max(items - columns + 1, 1)
        self._freedom = math.inf  # of a test over groups: as many as there are, less the contrast's two sides
        self._pairs = self._spared = 0.0
        if clusters is not None:
            self._freedom = max(1.0, self._units.count - 2.0)
            self._pairs = _products(np.ones(items), self._units)
            # Directions that do not move the contrast.
            free = np.linalg.qr(np.column_stack([turned, np.eye(columns)]))[0][:, 1:columns]
            for column in np.linalg.qr(basis @ free)[0].T:
                self._spared += _products(column, self._units)
        mean, residual = np.clip(self._fit, 0.0, 1.0), self._outcome - self._fit
        working = mean * (1 - mean)
        leverage = np.minimum((basis**2).sum(1), _MOST_LEVERAGE)
        self.contributions = lever * residual * self._scale / (1 - leverage)
        self._ratio = variance_ratio(basis, lever, residual, self._units)
        width = self._range[1] - self._range[0]
        self._error = max(float(lever**2 @ working) ** 0.5, 1e-3 * width)
        plain = self._dispersion(working, residual, items) * float(lever**2 @ working)
        self._form = max(1.0, float(lever**2 @ residual**2) / max(plain, _TINY))

    def statistic(self, at: float) -> float:
        """(value − at) / √V(at): about standard normal where the contrast is ``at``."""
        return self._statistic((at - self._least) / self._scale)

    def p(self, at: float) -> float:
        """The two-sided p value of the contrast being ``at``."""
        return float(2 * special.stdtr(self._freedom, -abs(self.statistic(at))))

    def interval(self, confidence_level: float) -> Interval:
        """The interval of the contrast.

        The value is always inside; an end is the first value away from it that is rejected, or the end of
        what is possible.

        56 of 70 against 48 of 80. At a difference of 0.0528 least squares would give 0.7215 and 0.6687, and
        1.96 · √(0.7215 · 0.2785 / 70 + 0.6687 · 0.3313 / 80) = 0.2 − 0.0528:

        >>> group = np.repeat([1.0, 0.0], [70, 80])
        >>> label = np.concatenate([np.arange(70) < 56, np.arange(80) < 48]) * 1.0
        >>> test = ScoreTest(np.stack([np.ones(150), group], 1), label, np.array([0.0, 1.0]))
        >>> [round(end, 4) for end in test.interval(0.95)]
        [0.0528, 0.3344]
        """
        quantile = -float(special.stdtrit(self._freedom, (1 - confidence_level) / 2))
        low, high = (
            self._own(self._end(quantile, side, edge))
            for side, edge in zip((-1.0, 1.0), self._range, strict=True)
        )
        return Interval(low, high)

    def _own(self, value: float) -> float:
        """A value for outcomes from 0 to 1 in the unit of the outcomes that were given."""
        return self._scale * value + self._least

    def _statistic(self, at: float) -> float:
        """The statistic at a value in the unit of outcomes from 0 to 1."""
        # The least-squares fit where the contrast is held at a value, within 0 and 1
        lever = self.lever
        mean = np.clip(self._fit - lever * ((self._value - at) / float(lever @ lever)), 0.0, 1.0)
        for _ in range(_PASSES):
            gap = at - float(lever @ mean)
            if abs(gap) <= 1e-9 * (self._range[1] - self._range[0]):
                break
            movable = np.where(lever * gap > 0, mean < 1, mean > 0) * lever
            mean = np.clip(mean + movable * (gap / max(float(movable @ movable), _TINY)), 0.0, 1.0)
        score, variance = self._value - at, self._variance(mean * (1 - mean), self._outcome - mean)
        if abs(score) <= 1e-12:
            return 0.0
        return score / max(math.sqrt(max(variance, 0.0)), _TINY)

    def _dispersion(self, working: Floats, residual: Floats, left: int) -> float:
        """How much more outcomes vary than labels that are there or not, with so many items left over."""
        if self._binary:
            return 1.0
        return float(residual @ residual) / max(float(working.sum()), _TINY) * len(residual) / left

    def _variance(self, working: Floats, residual: Floats) -> float:
        """V, from the fit at a value."""
        lever, factor = self.lever, self._form * self._dispersion(working, residual, self._left)
        plain = float(lever**2 @ working)
        if not self._pairs:
            return factor * plain
        root = np.sqrt(working)
        pearson = residual / np.maximum(root, _LEAST**0.5)
        square = max(float(pearson @ pearson) / self._left, _TINY)
        share = (_products(pearson, self._units) + self._spared) / self._pairs / square
        together = plain + share * _products(lever * root, self._units)
        return factor * max(together, plain * self._ratio)

    def _end(self, quantile: float, side: float, edge: float) -> float:
        """The first value on one side of the contrast's that is rejected."""
        from scipy.optimize import brentq  # takes longer to load than a report to measure

        def excess(at: float) -> float:
            return abs(self._statistic(at)) - quantile

        inside, step = self._value, self._error
        for _ in range(_DOUBLINGS):
            outside = side * min(side * self._value + step, side * edge)
            if excess(outside) >= 0:
                return float(brentq(excess, inside, outside, xtol=1e-9 * step))
            if outside == edge:
                break
            inside, step = outside, 2 * step
        return edge


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
