"""PPI++ and DSL: the numbers of ppi-python, and formulas worked with other means."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.correction.simulated_labels import labels
from tests.correction.simulated_labels import question as simulated

from quaver.correction.estimators import Question, gold_alone
from quaver.correction.prediction_powered import dsl, ppi
from quaver.correction.regressions import GoldSample, of_share

HERE = Path(__file__).parent
R_DSL = json.loads((HERE / "r_dsl.json").read_text())["found"]
MADE = json.loads((HERE / "ppi_python.json").read_text())
CASES, NUMBERS = MADE["cases"], MADE["numbers"]
Z = 1.959963984540054


def question(case, name):
    kind, *more = name.split()
    x = np.array(case["x"])
    ones = np.ones(x.size)
    outcome = np.full(x.size, np.nan)
    outcome[: case["gold"]] = case["y"]
    if kind == "mean":
        sample = of_share(outcome, np.full(x.size, case["gold"] / x.size))
        return Question(sample, np.ones((1, 1)))
    matrix, contrast = np.stack([ones, x], 1), np.eye(2)
    if more[0] == "constant":
        matrix, contrast, more[0] = matrix[:, :1], np.ones((1, 1)), "0"
    sample = GoldSample(matrix, outcome[:, None], np.full(x.size, case["gold"] / x.size), ones)
    return Question(sample, contrast[[int(more[0])]], kind)


@pytest.mark.parametrize("case", CASES + NUMBERS)
def test_values_and_intervals_are_those_of_ppi_python(case):
    prediction = np.array(case["f"])[:, None]
    for name, found in case["found"].items():
        if "own" in name or "theirs" in name:
            continue
        point, low, high = found
        tuning = name.split()[-1]
        made = ppi(question(case, name), prediction, None if tuning == "None" else float(tuning))
        assert made.value == pytest.approx(point, abs=1e-6), name
        if tuning != "None" or name.startswith("mean"):  # elsewhere it tunes the interval once more
            half = Z * made.spread.variance**0.5
            assert (made.value - half, made.value + half) == pytest.approx((low, high), abs=1e-6), name


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("at", [0, 1])
def test_a_tuned_logistic_coefficient_has_the_tuning_that_is_best_for_it_alone(case, at):
    """ppi-python tunes all of a logistic regression's coefficients together, also if one is asked for."""
    asked, prediction = question(case, f"logistic {at}"), np.array(case["f"])[:, None]
    tuning, point = case["found"][f"logistic {at} own"]
    made, together = ppi(asked, prediction), ppi(asked, prediction, case["found"][f"theirs {at}"])
    assert made.tuning == pytest.approx(tuning, abs=1e-6)
    assert made.value == pytest.approx(point, abs=1e-6)
    assert made.spread.variance < together.spread.variance * 1.02
    assert abs(made.value - together.value) < made.spread.variance**0.5 / 10


def test_power_tuning_never_does_worse_than_either_end():
    for case in CASES:
        for name in ("mean None", "linear 1 None"):
            asked, prediction = question(case, name), np.array(case["f"])[:, None]
            best, none, whole = (ppi(asked, prediction, at).spread.variance for at in (None, 0.0, 1.0))
            assert best <= min(none, whole) * 1.02


def test_predictions_that_are_constant_leave_gold_alone():
    asked = question(CASES[0], "mean None")
    made = ppi(asked, np.ones((len(asked.sample.matrix), 1)))
    assert made.tuning == 0
    assert made.value == pytest.approx(gold_alone(asked).value)


def test_dsl_is_least_squares_on_design_adjusted_outcomes():
    case = CASES[1]
    asked = question(case, "linear 1 None")
    sample, f = asked.sample, np.array(case["f"])
    adjusted = f.copy()
    share = case["gold"] / f.size
    adjusted[: case["gold"]] += (np.array(case["y"]) - f[: case["gold"]]) / share
    solution = np.linalg.lstsq(sample.matrix, adjusted, rcond=None)[0]
    left = adjusted - sample.matrix @ solution
    bread = np.linalg.inv(sample.matrix.T @ sample.matrix)
    meat = (sample.matrix * left[:, None] ** 2).T @ sample.matrix
    made = dsl(asked, f[:, None, None], fitted=False)
    assert made.value == pytest.approx(solution[1], abs=1e-12)
    assert made.spread.variance == pytest.approx((bread @ meat @ bread)[1, 1], rel=1e-10)


@pytest.mark.parametrize("name", R_DSL)
def test_dsl_has_the_values_and_standard_errors_of_r(name):
    """``r_dsl.R`` says how they were made."""
    draw, model, *clusters = name.split()
    table = np.genfromtxt(HERE / "r_dsl.csv", delimiter=",", names=True)
    size = len(table)
    matrix = np.stack([np.ones(size), table["x"], table["z"]], 1)
    matrix = matrix[:, :1] if model == "mean" else matrix
    gold = table[draw]
    share = np.isfinite(gold).mean()
    probability = table["probability"] if draw == "unequal" else np.full(size, share)
    group = table["group"].astype(int) - 1 if clusters else None
    sample = GoldSample(matrix, gold[:, None], probability, np.ones(size), group)
    kind = {"mean": "linear", "lm": "linear", "logit": "logistic"}[model]
    wider = 1.0 if group is None else 30 / 29  # R counts groups as if they were very many
    values, errors = R_DSL[name]
    for at, (value, error) in enumerate(zip(values, errors, strict=True)):
        made = dsl(Question(sample, np.eye(len(values))[[at]], kind), table["f"][:, None, None], fitted=False)
        assert made.value == pytest.approx(value, abs=1e-9)
        assert made.spread.variance == pytest.approx(error**2 * wider, rel=1e-8)


def test_dsl_with_unequal_probabilities_is_unbiased():
    rng = np.random.default_rng(5)
    y = (rng.random(4000) < 0.3).astype(float)
    f = np.where(rng.random(4000) < 0.2, 1 - y, y)
    probability = np.where(f > 0, 0.1, 0.03)
    found = []
    for _ in range(200):
        drawn = rng.random(4000) < probability
        sample = of_share(np.where(drawn, y, np.nan), probability)
        found.append(dsl(Question(sample, np.ones((1, 1))), f[:, None, None], fitted=False).value)
    assert np.mean(found) == pytest.approx(y.mean(), abs=4 * np.std(found) / 200**0.5)


def test_with_unequal_probabilities_the_variance_allows_for_heavy_items():
    """Each draws the regression to itself: the variance is larger than the published one, and jackknifed."""
    rng = np.random.default_rng(5)
    x, y, given = labels(rng, 2000, 0.5)
    worth = np.where(np.arange(2000) % 8 == 0, 1.0, 8.0)
    probability = 60 * worth / worth.sum()
    asked = simulated(x, y, rng.random(2000) < probability, probability)
    alone, found = gold_alone(asked), ppi(asked, given[:, [0]], tuning=0.0)
    assert found.value == pytest.approx(alone.value)
    weights = asked.sample.gold_weights
    published = ((weights * (found.residuals - weights @ found.residuals)) ** 2).sum()
    assert 1.05 * published < found.spread.variance < alone.spread.variance
