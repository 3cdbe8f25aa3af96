"""How wide the interval of a corrected estimate will be, before its gold labels are collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import polars as pl
from scipy import special

from quaver.gold.gold_draw import Floats, Predicted

_Z = 1.959963984540054

Sampling = Callable[[float], Floats]
"""Each item's probability of being in a sample of a size."""


@dataclass(frozen=True, slots=True)
class Residuals:
    """What the intervals of corrected estimates depend on, for each item and estimate.

    Attributes:
        squares: The square that is expected of an item's part in the corrected estimate, times the number of
            items: of the difference between its gold label's number and the prediction of it; shape (items,
            estimates).
        total: The same where nothing predicts: of the difference from the mean, or from the regression.
        names: What the estimates are of: labels whose shares are estimated, or a conclusion.
    """

    squares: Floats
    total: Floats
    names: tuple[str, ...]

    @property
    def spread(self) -> Floats:
        """Each estimate's variance, times the number of items, where every item has a gold label."""
        spread: Floats = self.total.mean(0)
        return spread

    def width(self, probabilities: Floats) -> float:
        """The widest 95% interval of these estimates, from end to end, with these probabilities.

        The variance of an estimate is ``Σ (1 / π_i − 1) e_i² / N² + s² / N``: that of the difference
        estimator (Särndal, Swensson & Wretman 1992, ch. 6) for the drawn items, and that of the items
        themselves as a sample of texts like these. Of the share of a label, ``e_i² = p_i (1 − p_i)`` where
        the prompts' labels give it the probability ``p_i``.
        """
        size = probabilities.size
        weight = np.where(probabilities > 0, 1 / np.maximum(probabilities, 1e-300) - 1, inf)
        variance = (weight[:, None] * self.squares).sum(0) / size**2 + self.spread / size
        return float(2 * _Z * np.sqrt(variance.max()))

    def scaled(self, by: float) -> Residuals:
        """The same with larger or smaller squares: as gold labels show them to be."""
        return Residuals(self.squares * by, self.total, self.names)

    @property
    def alone(self) -> Residuals:
        """The same where nothing predicts the gold labels: gold alone."""
        return Residuals(self.total, self.total, self.names)


def residuals(predicted: Predicted) -> Residuals:
    """What the labels' shares depend on, as the prompts' labels lead one to expect."""
    p = predicted.probabilities
    mean = p.mean(0)
    return Residuals(p * (1 - p), np.broadcast_to(mean * (1 - mean), p.shape), tuple(predicted.labels))


def observed_scale(
    expected: Residuals, predicted: Predicted, draw: pl.DataFrame, gold: Mapping[str, str]
) -> float:
    """By how much the squared residuals of the gold labels so far exceed the expected ones.

    A ratio of two Horvitz-Thompson totals over the drawn items that have a label; 1 before there are ten.
    """
    places = {item: index for index, item in enumerate(predicted.items)}
    codes = {code: index for index, code in enumerate(predicted.labels)}
    known = [
        (places[item], codes[gold[item]], probability)
        for item, probability in draw.filter("drawn").select("item", "probability").iter_rows()
        if item in gold and item in places and gold[item] in codes
    ]
    if len(known) < 10:
        return 1.0
    rows, columns = np.array([one[0] for one in known]), np.array([one[1] for one in known])
    weight = 1 / np.array([one[2] for one in known])
    truth = np.zeros((rows.size, len(codes)))
    truth[np.arange(rows.size), columns] = 1.0
    found = ((truth - predicted.probabilities[rows]) ** 2).sum(1) @ weight
    return float(found / (expected.squares[rows].sum(1) @ weight))


def needed(found: Residuals, sampling: Sampling, width: float, least: int = 2) -> int | None:
    """The smallest sample whose interval is at most this wide; None where all items do not do it."""
    most = len(found.squares)
    if 2 * _Z * sqrt(float(found.spread.max()) / most) > width:
        return None
    low, high = min(least, most), most
    while low < high:
        middle = (low + high) // 2
        if found.width(sampling(middle)) <= width:
            high = middle
        else:
            low = middle + 1
    return low


_STEPS = 25


def regression_residuals(
    predicted: Predicted,
    matrix: Floats,
    contrast: Floats,
    values: Floats,
    name: str,
    *,
    logistic: bool = False,
    weights: Floats | None = None,
) -> Residuals:
    """What the interval of a regression's effect depends on, as the prompts' labels lead one to expect.

    An item's outcome enters the effect by ``a_i = w_i c (X' W X)⁻¹ x_i``, with ``W`` the weights, times
    ``μ (1 − μ)`` in a logistic regression. Its gold label is expected to differ from its prediction by
    ``σ²_i = Σ_c p_ic v_c² − (Σ_c p_ic v_c)²``, and from the regression by ``σ²_i`` plus the square of the
    prediction's own distance from it.

    Of four items, two in each group, a difference of groups is the difference of two means, and each outcome
    counts for one half:

    >>> two = Predicted(list("1234"), ["a", "b"], np.full((4, 2), 0.5), np.full(4, 4.0))
    >>> matrix = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    >>> found = regression_residuals(two, matrix, np.array([0.0, 1.0]), np.array([1.0, 0.0]), "difference")
    >>> (found.squares[:, 0] / 16).round(9).tolist()  # (1 / 2)² × 0.25
    [0.0625, 0.0625, 0.0625, 0.0625]
    """
    p = predicted.probabilities
    mean = p @ values
    spread = np.maximum(p @ values**2 - mean**2, 0.0)
    return _residuals(matrix, contrast, mean, spread, weights, name, logistic=logistic)


def multinomial_residuals(
    predicted: Predicted, matrix: Floats, contrast: Floats, values: Floats, name: str, weights: Floats
) -> Residuals:
    """The same of a multinomial regression's effect: of the label that it is most about.

    Its log-odds against the reference are explained by the logistic regression of the items that have one of
    them (Begg & Gray 1984, Biometrika 71, 11-18); an item is one of these with the probability of both.

    >>> two = Predicted(list("1234"), ["a", "b"], np.full((4, 2), 0.5), np.full(4, 4.0))
    >>> given = np.ones((4, 1)), np.ones((1, 1)), np.array([[0.0], [1.0]])
    >>> one = multinomial_residuals(two, *given, "odds", np.ones(4)).squares
    >>> other = regression_residuals(two, given[0], np.ones(1), np.array([0.0, 1.0]), "odds", logistic=True)
    >>> bool(np.allclose(one, other.squares))
    True
    """
    outcome = int(np.abs(contrast).sum(1).argmax())
    label, reference = int(values[:, outcome].argmax()), int(values.sum(1).argmin())
    p = predicted.probabilities
    both = p[:, label] + p[:, reference]
    mean = p[:, label] / both
    found = _residuals(
        matrix, contrast[outcome], mean, mean * (1 - mean), weights * both, name, logistic=True
    )
    return Residuals(found.squares / both[:, None], found.total / both[:, None], found.names)


def _residuals(
    matrix: Floats,
    contrast: Floats,
    mean: Floats,
    spread: Floats,
    weights: Floats | None,
    name: str,
    *,
    logistic: bool,
) -> Residuals:
    """The squares that items' outcomes, of a mean and a variance, bring into an effect."""
    size = len(matrix)
    given = np.ones(size) if weights is None else weights
    complete = np.asarray(np.isfinite(matrix).all(1)) & np.isfinite(given)
    counts, x = np.where(complete, given, 0.0), np.where(complete[:, None], matrix, 0.0)
    fitted, information = _fitted(x, mean, counts, logistic=logistic)
    part = counts * (x @ np.linalg.pinv(information) @ contrast)
    squares = (size * part) ** 2 * spread
    total = squares + (size * part) ** 2 * (mean - fitted) ** 2
    return Residuals(squares[:, None], total[:, None], (name,))


def _fitted(x: Floats, mean: Floats, counts: Floats, *, logistic: bool) -> tuple[Floats, Floats]:
    """The regression's expected outcomes, and its information matrix."""
    if not logistic:
        information = x.T @ (x * counts[:, None])
        return x @ (np.linalg.pinv(information) @ (x.T @ (counts * mean))), information
    beta = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        fitted = special.expit(x @ beta)
        information = x.T @ (x * (counts * fitted * (1 - fitted))[:, None])
        step = np.linalg.pinv(information) @ (x.T @ (counts * (mean - fitted)))
        beta = beta + np.clip(step, -2.0, 2.0)
        if np.abs(step).max(initial=0.0) < 1e-9:
            break
    return special.expit(x @ beta), information
