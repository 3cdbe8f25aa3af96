"""Forecasts of width are what happens where the prompts are right about how sure they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from quaver.gold.gold_draw import Design, Floats, Predicted, drawn, first_draw, probabilities
from quaver.gold.width_forecast import needed, observed_scale, regression_residuals, residuals

SIZE = 400


def population(seed: int = 3) -> Predicted:
    rng = np.random.default_rng(seed)
    sure = rng.choice([0.02, 0.1, 0.5, 0.9], SIZE, p=[0.3, 0.3, 0.2, 0.2])
    shares = np.stack([sure, 1 - sure], axis=1)
    return Predicted([f"i{at}" for at in range(SIZE)], ["a", "b"], shares, np.full(SIZE, 4.0))


@pytest.mark.parametrize("design", ["simple", "stratified", "poisson"])
def test_the_width_is_that_of_the_difference_estimator(design: Design) -> None:
    """Labels drawn as the prompts predict, items drawn anew, 200 times: the spread of the estimates."""
    predicted = population()
    p = predicted.probabilities[:, 0]
    strata = predicted.disagreement if design == "stratified" else None
    worth = None if design == "simple" else predicted.doubt
    before = first_draw(list(predicted.items), strata)
    chances = probabilities(before, 80, design, worth)
    rng = np.random.default_rng(1)
    found = []
    for seed in range(200):
        truth = rng.random(SIZE) < p
        here = drawn(before, 80, seed, design, worth=worth)["drawn"].to_numpy()
        found.append(p.mean() + (here / chances * (truth - p)).sum() / SIZE)
    of_items = 4 * 1.96**2 * p.var() / SIZE  # that the items themselves are a sample
    width = np.sqrt(4 * 1.96**2 * np.var(found) + of_items)
    assert residuals(predicted).width(chances) == pytest.approx(width, rel=0.14)


def test_gold_alone_is_what_textbooks_say() -> None:
    """Simple sampling without models: 1.96 times the root of p (1 - p) / n on either side."""
    found = residuals(population()).alone
    chances = np.full(SIZE, 100 / SIZE)
    expected = 2 * 1.959964 * np.sqrt(found.spread[0] / 100)
    assert found.width(chances) == pytest.approx(expected)


def test_the_sample_that_is_needed_is_the_smallest() -> None:
    found = residuals(population())

    def simple(size: float) -> Floats:
        return np.full(SIZE, size / SIZE)

    size = needed(found, simple, 0.15)
    assert size is not None
    assert found.width(simple(size)) <= 0.15 < found.width(simple(size - 1))
    assert needed(found, simple, 0.01) is None


def test_gold_labels_show_that_prompts_were_too_sure() -> None:
    predicted = population()
    draw = drawn(first_draw(list(predicted.items)), 200, 1)
    rng = np.random.default_rng(2)
    as_expected = {
        item: "a" if rng.random() < p else "b"
        for item, p in zip(predicted.items, predicted.probabilities[:, 0], strict=True)
    }
    against = {
        item: "b" if p > 0.5 else "a" for item, p in zip(as_expected, predicted.shares[:, 0], strict=True)
    }
    expected = residuals(predicted)
    assert observed_scale(expected, predicted, draw, as_expected) == pytest.approx(1, abs=0.25)
    assert observed_scale(expected, predicted, draw, against) > 2
    assert observed_scale(expected, predicted, draw, dict(list(against.items())[:5])) == 1


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
