"""The width that is forecast of a regression's effect is what happens where the prompts are right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special
from tests.gold.test_width_forecast import SIZE, population

from quaver.gold.conclusion_residuals import regression_residuals

RNG = np.random.default_rng(4)
X = np.stack([np.ones(SIZE), RNG.normal(size=SIZE), RNG.random(SIZE) < 0.3], axis=1).astype(float)
EFFECT = np.array([0.0, 1.0, 0.0])
NUMBERS = np.array([1.0, 0.0])


@pytest.mark.parametrize("logistic", [False, True])
def test_the_width_is_that_of_the_corrected_coefficient(logistic: bool) -> None:
    """Labels as the prompts predict, drawn 2,000 times with unequal probabilities."""
    predicted = population()
    p = predicted.probabilities[:, 0]
    chances = np.clip(0.1 + 0.2 * predicted.doubt, 0, 1)
    found = regression_residuals(predicted, X, EFFECT, NUMBERS, "x", logistic=logistic)
    if logistic:
        fitted = _fitted(p)
        information = X.T @ (X * (fitted * (1 - fitted))[:, None])
    else:
        fitted = X @ np.linalg.lstsq(X, p, rcond=None)[0]
        information = X.T @ X
    part = X @ np.linalg.solve(information, EFFECT)
    truth = RNG.random((2000, SIZE)) < p
    drawn = RNG.random((2000, SIZE)) < chances
    estimates = ((drawn / chances * (truth - p) + p) * part).sum(1)
    of_items = ((part * (p - fitted)) ** 2).sum()
    width = 2 * 1.959964 * np.sqrt(estimates.var() + of_items)
    assert found.width(chances) == pytest.approx(width, rel=0.05)
    assert found.alone.width(chances) > found.width(chances)


def _fitted(p: np.ndarray) -> np.ndarray:
    beta = np.zeros(3)
    for _ in range(50):
        mean = special.expit(X @ beta)
        beta += np.linalg.solve(X.T @ (X * (mean * (1 - mean))[:, None]), X.T @ (p - mean))
    return np.asarray(special.expit(X @ beta))


def test_items_without_a_value_take_no_part() -> None:
    predicted = population()
    lacking = X.copy()
    lacking[:100, 1] = np.nan
    found = regression_residuals(predicted, lacking, EFFECT, NUMBERS, "x")
    assert (found.squares[:100] == 0).all()
    assert np.isfinite(found.squares).all()
