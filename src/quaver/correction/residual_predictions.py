"""What predictions say beyond the regression's own columns.

A prediction corrects an estimate through what it adds to the columns: its residual in the same regression,
fitted to the predictions of all items. Over all items these residuals move no coefficient; over the gold
sample they do by chance alone, and what they do there is what can be subtracted.
"""

from __future__ import annotations

import numpy as np

from quaver.correction.gold_sample import GoldSample
from quaver.correction.regressions import Kind, expected, inverse_times, solved
from quaver.estimation.bootstrap import Floats


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
        found = predictions.copy()
        for outcome, (centre, tangent) in enumerate(self._fits):
            if centre is None:
                found[:, outcome] -= matrix @ tangent
            else:
                mean = expected("logistic", matrix, centre)
                found[:, outcome] -= mean + mean * (1 - mean) * (matrix @ tangent)
        return found

    def combined(self, coefficients: Floats) -> Floats:
        """A combination of all items' residuals, shape (items, outcomes).

        Args:
            coefficients: Of each predictor.
        """
        found = self._predictions @ coefficients
        matrix = self._sample.matrix
        for outcome, (centre, tangent) in enumerate(self._fits):
            along = matrix @ (tangent @ coefficients)
            if centre is not None:
                mean = expected("logistic", matrix, centre)[:, 0]
                along = float(coefficients.sum()) * mean + mean * (1 - mean) * along
            found[:, outcome] -= along
        return np.asarray(found)
