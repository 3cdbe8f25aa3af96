"""Many predictions as one: a ridge regression on the gold labels, cross-fitted and tuned.

Each gold item's prediction comes from the other folds' items alone, so that a prediction never knows the
label that it corrects.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quaver.correction.regressions import GoldSample, Kind, expected, inverse_times, solved
from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Ints


def vote_shapes(votes: Floats) -> Floats:
    """The share of votes m, its powers, those of 1 - m, and which side has the majority.

    Returns:
        Shape (items, outcomes, shapes), each from 0 to 1. No shapes of numbers that are no votes.

    Three of four prompts name the label:

    >>> vote_shapes(np.array([[[1.0, 1.0, 1.0, 0.0]]])).ravel().round(3).tolist()
    [0.75, 0.562, 0.938, 0.316, 0.996, 1.0]
    """
    if not votes.size or votes.min() < 0 or votes.max() > 1:
        return np.zeros((*votes.shape[:2], 0))
    share = votes.mean(2)
    # Both tails alike, so that what is said of a label mirrors what is said of its absence.
    above, below = share**2, (1 - share) ** 2
    majority = (1 + np.sign(share - 0.5)) / 2
    return np.stack([share, above, 1 - below, above**2, 1 - below**2, majority], 2)


class Residuals:
    """Residuals of predictions in a regression over all items.

    In a linear regression, those of least squares. In the others, each outcome's mean over the predictions is
    fitted by a logistic regression, and each prediction's residual is taken in the tangent at that fit.

    Args:
        sample: The items.
        predictions: Shape (items, outcomes, predictors), without gaps.
        kind: Of regression.
    """

    def __init__(self, sample: GoldSample, predictions: Floats, kind: Kind) -> None:
        self._sample, self._predictions = sample, predictions
        self._fits: list[tuple[Floats | None, Floats]] = []
        for outcome in range(predictions.shape[1]):
            own = predictions[:, outcome]
            centre = None if kind == "linear" else self._centre(own)
            self._fits.append((centre, self._tangent(own, centre)))

    def _centre(self, own: Floats) -> Floats | None:
        """The logistic regression of the mean prediction; None where it has no solution."""
        mean = np.clip(own.mean(1, keepdims=True), 0.0, 1.0)
        return solved("logistic", self._sample.matrix, mean, self._sample.all_weights)

    def _tangent(self, own: Floats, centre: Floats | None) -> Floats:
        """How each prediction lies beside the centre, shape (columns, predictors)."""
        matrix, weights = self._sample.matrix, self._sample.all_weights
        if centre is None:
            slope, left = weights, own
        else:
            mean = expected("logistic", matrix, centre)
            slope, left = weights * (mean * (1 - mean))[:, 0], own - mean
        found = inverse_times(matrix.T @ (matrix * slope[:, None]), matrix.T @ (left * weights[:, None]))
        return np.zeros((matrix.shape[1], own.shape[1])) if found is None else found

    def gold(self) -> Floats:
        """Residuals of the items with a gold label, shape (gold items, outcomes, predictors)."""
        rows = self._sample.gold
        return self._of(self._sample.matrix[rows], self._predictions[rows])

    def _of(self, matrix: Floats, predictions: Floats) -> Floats:
        result = predictions.copy()
        for outcome, (centre, tangent) in enumerate(self._fits):
            if centre is None:
                result[:, outcome] -= matrix @ tangent
            else:
                mean = expected("logistic", matrix, centre)
                result[:, outcome] -= mean + mean * (1 - mean) * (matrix @ tangent)
        return result

    def combined(self, coefficients: Floats) -> Floats:
        """A combination of all items' residuals, shape (items, outcomes)."""
        found = self._predictions @ coefficients
        matrix = self._sample.matrix
        for outcome, (centre, tangent) in enumerate(self._fits):
            along = matrix @ (tangent @ coefficients)
            if centre is not None:
                mean = expected("logistic", matrix, centre)[:, 0]
                along = float(coefficients.sum()) * mean + mean * (1 - mean) * along
            found[:, outcome] -= along
        return np.asarray(found)


_FOLDS = 25
_PENALTIES = 10.0 ** np.arange(-2.0, 2.1, 0.5)
"""Of the ridge, in units of the predictors' mean variance."""


class Stack(NamedTuple):
    """How predictions are combined.

    Attributes:
        fold: Each gold item's fold.
        coefficients: Each fold's, fitted without it, shape (folds, predictors).
        tuning: What they were multiplied with, from 0 (the predictions are of no use) to 1.
    """

    fold: Ints
    coefficients: Floats
    tuning: float

    @property
    def mean(self) -> Floats:
        """The folds' mean coefficients, weighted by their items."""
        sizes = np.bincount(self.fold, minlength=len(self.coefficients))
        return np.asarray(sizes @ self.coefficients / max(sizes.sum(), 1))


def stacked_predictors(
    sample: GoldSample, target: Floats, predictors: Floats, seed: int, *, alone: int = 0
) -> Stack:
    """Combine predictors of what each gold item does to an estimate.

    Among ridge regressions of several penalties, single predictors and their mean, the one that predicts best
    across folds is taken, times the number from 0 to 1 that leaves the least variance.
    """
    fold = folds_of(sample, seed)
    folds = int(fold.max(initial=0)) + 1
    if folds < 2 or not predictors.shape[1]:
        return unused(sample, predictors.shape[1])
    root = sample.gold_weights / sample.gold_weights.max()
    x, y = sample.centred(predictors) * root[:, None], sample.centred(target) * root
    products, moments = _without_one(x, y, fold, folds)
    candidates = _single(products, moments)[:, -alone:] if alone else _candidates(products, moments)
    guessed = np.einsum("ik,ick->ic", x, candidates[fold])
    best = int(((y[:, None] - guessed) ** 2).sum(0).argmin())
    own = guessed[:, best]
    square = float(own @ own)
    tuning = float(np.clip(own @ y / square, 0.0, 1.0)) if square > 0 else 0.0
    return Stack(fold, candidates[:, best] * tuning, tuning)


def folds_of(sample: GoldSample, seed: int) -> Ints:
    """Each gold item's fold: its group's, where items are in groups."""
    count = int(sample.units.max(initial=-1)) + 1
    order = np.random.default_rng(seed).permutation(count)
    return np.asarray(order[sample.units] % max(min(_FOLDS, count), 1), np.int64)


def unused(sample: GoldSample, predictors: int) -> Stack:
    """No use of any prediction."""
    return Stack(np.zeros(sample.gold.size, np.int64), np.zeros((1, predictors)), 0.0)


def _without_one(x: Floats, y: Floats, fold: Ints, folds: int) -> tuple[Floats, Floats]:
    """Sums of products without each fold, shape (folds, …)."""
    size = x.shape[1]
    products, moments = np.zeros((folds, size, size)), np.zeros((folds, size))
    for one in range(folds):
        some = x[fold == one]
        products[one], moments[one] = some.T @ some, some.T @ y[fold == one]
    return products.sum(0) - products, moments.sum(0) - moments


def _candidates(products: Floats, moments: Floats) -> Floats:
    """Each fold's coefficients of each candidate, shape (folds, candidates, predictors)."""
    size = moments.shape[1]
    spread, basis = np.linalg.eigh(products)
    spread = np.maximum(spread, 0.0)
    scale = np.maximum(spread.mean(1), 1e-300)
    turned = np.einsum("fqk,fq->fk", basis, moments)
    shrunk = turned[:, None] / (spread[:, None] + _PENALTIES[None, :, None] * scale[:, None, None])
    ridge = np.einsum("fqk,fck->fcq", basis, shrunk)
    if size == 1:
        return np.asarray(ridge)
    mean = moments.mean(1) / np.maximum(products.mean((1, 2)), 1e-9 * scale)
    together = np.broadcast_to(mean[:, None, None] / size, (len(mean), 1, size))
    return np.concatenate([ridge, _single(products, moments), together], 1)


def _single(products: Floats, moments: Floats) -> Floats:
    """Each fold's coefficients of each predictor by itself, shape (folds, predictors, predictors)."""
    squares = np.einsum("fkk->fk", products)
    least = np.maximum(squares, 1e-9 * np.maximum(squares.mean(1, keepdims=True), 1e-300))
    return np.asarray(np.eye(moments.shape[1]) * (moments / least)[:, :, None])
