"""The fit is checked against the likelihood integrated here on a fine grid, and against lme4."""

import numpy as np
import polars as pl
import pytest
from tests.measures.correctness.counted_answers import answers

from quaver.errors import MeasureError
from quaver.measures.correctness.mixed_logit import mixed_logit


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


def marginal(frame, matrix, theta):
    """Marginal log-likelihood: each group's integrand summed over a fine grid, nine deviations wide."""
    beta, sd = theta[:-1], theta[-1]
    y, group = frame["correct"].to_numpy(), frame["question"].to_numpy()
    z = np.linspace(-9, 9, 1201)
    eta = (matrix @ beta)[:, None] + sd * z
    of_group = np.zeros((group.max() + 1, z.size))
    np.add.at(of_group, group, y[:, None] * eta - np.logaddexp(0, eta))
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    return float(np.log((np.exp(of_group) * density).sum(1)).sum())


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


def test_it_is_the_maximum_of_the_likelihood(fitted):
    frame, found, matrix = fitted
    assert list(found.coefficients) == ["Intercept", "treatment[T1]", "treatment[T2]", "temperature"]
    theta = np.array([*(c.value for c in found.coefficients.values()), found.sd])
    best = marginal(frame, matrix, theta)
    assert found.log_likelihood == pytest.approx(best, abs=1e-6)
    for index in range(theta.size):
        for step in (-0.01, 0.01):
            assert marginal(frame, matrix, theta + step * np.eye(theta.size)[index]) < best


def test_standard_errors_are_those_of_its_curvature(fitted):
    frame, found, matrix = fitted
    theta = np.array([*(c.value for c in found.coefficients.values()), found.sd])
    expected = np.sqrt(np.diag(np.linalg.inv(-hessian(lambda t: marginal(frame, matrix, t), theta))))
    assert [c.se for c in found.coefficients.values()] == pytest.approx(expected[:-1], rel=0.02)


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


INTERCEPTS = {  # lme4 1.1-31, R 4.2.2, bobyqa with rhoend 1e-10, nAGQ 15: estimate and standard error
    "Intercept": (0.8504338094, 0.184429843),
    "treatment[T1]": (0.1260950302, 0.174519374),
    "treatment[T2]": (-0.8295768805, 0.169909242),
    "treatment[T3]": (-0.0475313449, 0.172492608),
    "treatment[T4]": (-0.9614477922, 0.170246100),
    "treatment[T5]": (-0.2967412951, 0.170963710),
    "temperature": (-0.7278679073, 0.133573413),
    "treatment[T1]:temperature": (0.4957243975, 0.190477169),
    "treatment[T2]:temperature": (0.4293562586, 0.186871391),
    "treatment[T3]:temperature": (0.0740337791, 0.188197135),
    "treatment[T4]:temperature": (0.3512550917, 0.187770179),
    "treatment[T5]:temperature": (0.4630563520, 0.187217241),
}


def test_a_random_intercept_alone_is_that_of_lme4():
    rows = answers("mixed_intercepts.csv")
    found = mixed_logit(rows, "correct ~ treatment * temperature")
    for name, (value, se) in INTERCEPTS.items():
        assert found.coefficients[name].value == pytest.approx(value, abs=2e-6)
        assert found.coefficients[name].se == pytest.approx(se, rel=1e-4)
    assert found.sd == pytest.approx(1.06512223, abs=2e-6)
    assert found.log_likelihood == pytest.approx(-3170.75754066, abs=1e-7)
    assert found.sd_ends[0] < found.sd < found.sd_ends[1]


def test_groups_are_what_intervals_take_for_independent():
    of = {f"q{at:02}": f"a{author}" for at, author in enumerate("035120413055121224434053")}
    rows = answers("mixed_slopes.csv").with_columns(author=pl.col("item").replace_strict(of))
    alone = mixed_logit(rows, "correct ~ treatment + temperature")
    grouped = mixed_logit(rows, "correct ~ treatment + temperature", group=["author", "item"])
    assert (grouped.group, grouped.groups, alone.groups) == ("author/item", 6, 24)
    for name, one in grouped.coefficients.items():
        assert one.value == pytest.approx(alone.coefficients[name].value)
        assert one.high - one.low > 2 * 2.57 * one.se  # t with 5 degrees of freedom


def test_effects_that_differ_between_items_are_no_effect():
    likely = sure = 0
    rng = np.random.default_rng(8)
    item, treatment = (one.ravel() for one in np.divmod(np.arange(16 * 2 * 10) // 10, 2))
    for _ in range(30):
        eta = rng.normal(0, 1, 16)[item] + rng.normal(0, 1, (16, 2))[item, treatment]
        frame = pl.DataFrame(
            {
                "item": item,
                "treatment": [f"T{k}" for k in treatment],
                "correct": (rng.random(item.size) < 1 / (1 + np.exp(-eta))).astype(int),
            }
        )
        found = mixed_logit(frame, "correct ~ treatment")
        one = found.coefficients["treatment[T1]"]
        likely += abs(one.value) > 1.96 * one.se
        sure += one.p < 0.05
        assert found.p_of(["treatment[T1]"]) >= one.p - 1e-9
    assert sure <= 4
    assert likely >= sure + 4


@pytest.mark.parametrize(("intercept", "sd"), [(0.4, 1.0), (2.0, 1.0), (4.5, 1.5)])
def test_intervals_of_the_intercept_hold_the_truth_however_many_answers_are_right(intercept, sd):
    """From 58 to 97% right, five answers to each of 200 items: 95% of 60 studies, less three deviations."""
    rng, held, ends = np.random.default_rng(11), 0, []
    for _ in range(60):
        odds = np.repeat(intercept + sd * rng.normal(size=200), 5)
        correct = (rng.random(1000) < 1 / (1 + np.exp(-odds))).astype(int)
        frame = pl.DataFrame({"item": np.repeat(np.arange(200), 5), "correct": correct})
        found = mixed_logit(frame, "correct ~ 1").coefficients["Intercept"]
        held += found.low <= intercept <= found.high
        ends.append(found.value)
    assert held >= 52
    assert abs(np.median(ends) - intercept) < 0.2
