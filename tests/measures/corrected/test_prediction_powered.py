"""The corrected estimate beside ppi-python's, and where probabilities are unequal."""

import json
from pathlib import Path

import numpy as np
import pytest

from quaver.measures.corrected.estimators import GoldRegression, corrected, gold_alone, of_mean

MADE = json.loads((Path(__file__).parent / "ppi_python.json").read_text())
CASES = MADE["cases"] + MADE["numbers"]


def question(case, name):
    kind, *more = name.split()
    x = np.array(case["x"])
    outcome = np.full(x.size, np.nan)
    outcome[: case["gold"]] = case["y"]
    probability = np.full(x.size, case["gold"] / x.size)
    if kind == "mean":
        return of_mean(outcome, probability)
    matrix, contrast = np.stack([np.ones(x.size), x], 1), np.eye(2)
    return GoldRegression(matrix, outcome, probability, contrast[int(more[0])])


@pytest.mark.parametrize("case", CASES)
def test_a_mean_is_that_of_ppi_python_with_the_same_tuning(case):
    """Theirs subtracts the prediction's mean over the other items, ours over all: λ is (1 + n / N) times."""
    size, gold = len(case["x"]), case["gold"]
    for name, found in case["found"].items():
        tuning = name.split()[-1]
        if name.startswith("mean") and tuning != "None":
            made = corrected(question(case, name), np.array(case["f"]), float(tuning) * size / (size - gold))
            assert made.value == pytest.approx(found[0], abs=1e-6), name


@pytest.mark.parametrize("case", CASES)
def test_tuned_estimates_are_next_to_those_of_ppi_python(case):
    for name, found in case["found"].items():
        if name.endswith("None"):
            asked = question(case, name)
            made, alone = corrected(asked, np.array(case["f"])), gold_alone(asked)
            assert abs(made.value - found[0]) < alone.variance**0.5, name
            assert made.variance <= alone.variance


def test_a_prediction_that_is_constant_leaves_gold_alone():
    asked = question(CASES[0], "mean None")
    assert corrected(asked, np.ones(len(asked.matrix))).value == gold_alone(asked).value


@pytest.mark.parametrize("tuning", [None, 1.0])
def test_with_unequal_probabilities_it_is_unbiased(tuning):
    rng = np.random.default_rng(5)
    y = (rng.random(4000) < 0.3).astype(float)
    f = np.where(rng.random(4000) < 0.2, 1 - y, y)
    probability = np.where(f > 0, 0.1, 0.03)
    found = []
    for _ in range(200):
        drawn = rng.random(4000) < probability
        found.append(corrected(of_mean(np.where(drawn, y, np.nan), probability), f, tuning).value)
    assert np.mean(found) == pytest.approx(y.mean(), abs=4 * np.std(found) / 200**0.5)
