"""The fit is checked against Laplace's approximation written out here, with its own derivatives."""

import sys

import numpy as np
import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.measures.correctness.mixed_logit import likelihood_ratio, mixed_logit

gpboost = pytest.importorskip("gpboost")


def study(groups=40, seed=3):
    rng = np.random.default_rng(seed)
    item, cell = np.divmod(np.arange(groups * 12), 12)
    treatment, temperature = cell % 3, (cell // 3) / 3
    eta = 0.6 + np.array([0, 0.5, -0.8])[treatment] - 0.6 * temperature + rng.normal(0, 1.0, groups)[item]
    return pl.DataFrame(
        {
            "question": item,
            "treatment": [f"T{k}" for k in treatment],
            "temperature": temperature,
            "correct": (rng.random(item.size) < 1 / (1 + np.exp(-eta))).astype(int),
        }
    )


def laplace(frame, matrix, theta):
    """Marginal log-likelihood: each group's integrand is replaced by the Gaussian at its mode."""
    beta, sd = theta[:-1], theta[-1]
    y, group = frame["correct"].to_numpy(), frame["question"].to_numpy()
    eta, count = matrix @ beta, group.max() + 1
    u = np.zeros(count)
    for _ in range(60):
        p = 1 / (1 + np.exp(-(eta + u[group])))
        slope = np.bincount(group, y - p) - u / sd**2
        curve = np.bincount(group, p * (1 - p)) + 1 / sd**2
        u += slope / curve
    full = eta + u[group]
    terms = np.bincount(group, y * full - np.log1p(np.exp(full))) - u**2 / (2 * sd**2)
    return float((terms - np.log(sd) - np.log(curve) / 2).sum())


def hessian(function, at, step=1e-3):
    size = at.size
    found = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            e, f = np.eye(size)[i] * step, np.eye(size)[j] * step
            found[i, j] = function(at + e + f) - function(at + e - f) - function(at - e + f)
            found[i, j] += function(at - e - f)
    return found / (4 * step**2)


@pytest.fixture(scope="module")
def fitted():
    frame = study()
    found = mixed_logit(frame, "correct ~ treatment + temperature", group="question")
    treatment = frame["treatment"].to_numpy()
    columns = [np.ones(frame.height), treatment == "T1", treatment == "T2", frame["temperature"].to_numpy()]
    return frame, found, np.stack(columns, 1).astype(float)


def test_it_is_the_maximum_of_the_laplace_likelihood(fitted):
    frame, found, matrix = fitted
    assert list(found.coefficients) == ["Intercept", "treatment[T1]", "treatment[T2]", "temperature"]
    theta = np.array([*(c.value for c in found.coefficients.values()), found.sd])
    best = laplace(frame, matrix, theta)
    assert found.log_likelihood == pytest.approx(best, abs=1e-6)
    for index in range(theta.size):
        for step in (-0.01, 0.01):
            assert laplace(frame, matrix, theta + step * np.eye(theta.size)[index]) < best


def test_standard_errors_are_those_of_its_curvature(fitted):
    frame, found, matrix = fitted
    theta = np.array([*(c.value for c in found.coefficients.values()), found.sd])
    expected = np.sqrt(np.diag(np.linalg.inv(-hessian(lambda t: laplace(frame, matrix, t), theta))))
    assert [c.se for c in found.coefficients.values()] == pytest.approx(expected[:-1], rel=0.02)


def test_the_likelihood_ratio_test(fitted):
    frame, larger, _ = fitted
    smaller = mixed_logit(frame, "correct ~ treatment", group="question")
    found = likelihood_ratio(smaller, larger)
    assert found["df"] == 1
    assert found["chi2"] == pytest.approx(2 * (larger.log_likelihood - smaller.log_likelihood))
    wald = larger.coefficients["temperature"].z ** 2
    assert found["chi2"] == pytest.approx(wald, rel=0.1)
    with pytest.raises(MeasureError, match="not the larger"):
        likelihood_ratio(larger, smaller)
    part = mixed_logit(frame.head(240), "correct ~ treatment", group="question")
    with pytest.raises(MeasureError, match="different data"):
        likelihood_ratio(part, larger)


def test_rows_may_be_in_any_order_and_the_level_too(fitted):
    frame, found, _ = fitted
    other = mixed_logit(
        frame.sample(fraction=1, shuffle=True, seed=1), "correct ~ treatment + temperature", group="question"
    )
    for name, one in found.coefficients.items():
        assert other.coefficients[name].value == pytest.approx(one.value, abs=1e-5)


def test_correct_is_made_of_label_and_gold():
    frame = study(12)
    labels = frame.with_columns(
        label=pl.when(pl.col("correct") == 1).then(pl.lit("a")).otherwise(None), gold=pl.lit("a")
    )
    plain = mixed_logit(frame, "correct ~ temperature", group="question")
    made = mixed_logit(labels.drop("correct"), "correct ~ temperature", group="question")
    assert made.coefficients == plain.coefficients
    gap = labels.drop("correct").with_columns(
        gold=pl.when(pl.col("question") > 0).then(pl.lit("a")).otherwise(None)
    )
    assert mixed_logit(gap, "correct ~ temperature", group="question").excluded == {"item without gold": 12}


@pytest.mark.parametrize(
    ("frame", "formula", "group", "where"),
    [
        (study(4), "correct ~ treatmnt", "question", "formula"),
        (study(4), "corect ~ treatment", "question", "formula"),
        (study(4), "correct ~ treatment", "item", "group"),
        (study(4).with_columns(question=pl.lit(1)), "correct ~ treatment", "question", "group"),
        (study(4).with_columns(correct=pl.lit(1)), "correct ~ treatment", "question", "formula"),
        (study(4).with_columns(correct=pl.lit(0.5)), "correct ~ treatment", "question", "formula"),
    ],
)
def test_bad_input_names_the_argument(frame, formula, group, where):
    with pytest.raises(MeasureError) as caught:
        mixed_logit(frame, formula, group=group)
    assert caught.value.where == where


def test_without_gpboost_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gpboost", None)
    with pytest.raises(MeasureError, match="need gpboost") as caught:
        mixed_logit(study(4), "correct ~ treatment", group="question")
    assert "quaver[stats]" in caught.value.fix


def test_nothing_is_printed(capfd):
    mixed_logit(study(8), "correct ~ temperature", group="question")
    assert capfd.readouterr().out == ""
