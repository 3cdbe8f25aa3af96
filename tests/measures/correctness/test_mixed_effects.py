"""The mixed model as a measure, whose coefficients tests/numerics holds against lme4: groups, and reasons."""

import numpy as np
import polars as pl
import pytest
from tests.measures.correctness.counted_answers import answers as counted
from tests.samples import drawn

from quaver.errors import MeasureError
from quaver.measures.correctness.mixed_effects import mixed_effects


def answers(items=30, seed=3):
    rng = np.random.default_rng(seed)
    item, place = np.divmod(np.arange(items * 8), 8)
    treatment, heat, repeat = place % 2, place // 2 % 2, place // 4
    eta = 0.4 + 0.9 * treatment - 0.7 * heat + rng.normal(0, 1, items)[item]
    right = rng.random(item.size) < 1 / (1 + np.exp(-eta))
    return pl.DataFrame(
        {
            "item": item,
            "variant": [f"T{k}" for k in treatment],
            "treatment": [f"T{k}" for k in treatment],
            "decoding": [f"at{k}" for k in heat],
            "temperature": heat.astype(float),
            "repeat": repeat,
            "label": np.where(right, "a", "b"),
            "gold": "a",
        }
    )


def test_the_interactions_are_tested_by_their_likelihood_ratio():
    frame = answers()
    found = mixed_effects(frame, formula="correct ~ treatment * temperature")
    plain = mixed_effects(frame, formula="correct ~ treatment + temperature", resamples=0)
    (sd,) = [one for one in found if one.measure == "mixed_effects_sd"]
    assert sd.cell == {"term": "1 | item"}
    assert sd.low < sd.value < sd.high
    assert all(one.interval is None for one in plain if one.cell.get("term") in ("Intercept", "1 | item"))
    last = found[-1]
    assert last.measure == "mixed_effects_interactions"
    chi2 = 2 * (sd.details["log_likelihood"] - plain[-1].details["log_likelihood"])
    assert (last.value, last.details["df"]) == pytest.approx((chi2, 1), abs=1e-3)
    assert last.details["p"] >= last.details["p_chi2"]


def test_a_level_that_is_always_right_has_no_estimate():
    always = pl.when(pl.col("treatment") == "T1").then(pl.lit("a")).otherwise("label").alias("label")
    found = mixed_effects(answers().with_columns(always), formula="correct ~ treatment")
    (one,) = [one for one in found if one.cell.get("term") == "treatment[T1]"]
    assert one.value is None
    assert "always" in str(one.reason)


@pytest.mark.parametrize("formula", ["correct ~ tretment", "label ~ treatment", "correct"])
def test_a_formula_that_cannot_be_meant_is_an_error(formula):
    with pytest.raises(MeasureError) as caught:
        mixed_effects(answers(4), formula=formula)
    assert caught.value.where == "formula"


def labelled(frame):
    """Right and wrong answers as labels."""
    repeat = pl.int_range(pl.len()).over("item")
    return frame.with_columns(label=pl.col("correct").cast(pl.String), gold=pl.lit("1"), repeat=repeat)


def fit(frame, formula, group=None):
    """The coefficients by name, and the standard deviation of the intercepts."""
    found = mixed_effects(labelled(frame), formula=formula, group=group)
    effects = {one.cell["term"]: one for one in found if one.measure == "mixed_effects"}
    return effects, next(one for one in found if one.measure == "mixed_effects_sd")


@pytest.mark.parametrize(
    ("change", "why"), [({"item": 1}, "too few units"), ({"label": pl.lit("a")}, "does not vary")]
)
def test_what_cannot_be_fitted_has_a_reason(change, why):
    frame = answers(4).with_columns(**change)
    if "item" in change:
        frame = frame.with_columns(repeat=pl.int_range(pl.len()))
    (one,) = mixed_effects(frame, formula="correct ~ treatment")
    assert why in one.reason


def test_groups_are_what_intervals_take_for_independent():
    of = {f"q{at:02}": f"a{author}" for at, author in enumerate("035120413055121224434053")}
    rows = counted("mixed_slopes.csv").with_columns(author=pl.col("item").replace_strict(of))
    alone, _ = fit(rows, "correct ~ treatment + temperature")
    grouped, sd = fit(rows, "correct ~ treatment + temperature", group="author")
    assert (sd.unit, sd.n) == ("author", 6)
    for name, one in grouped.items():
        assert one.value == pytest.approx(alone[name].value)
        assert one.high - one.low > 2 * 2.57 * one.details["se"]  # t with 5 degrees of freedom


@pytest.mark.long
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
        one = fit(frame, "correct ~ treatment")[0]["treatment[T1]"]
        likely += abs(one.value) > 1.96 * one.details["se"]
        sure += one.details["p"] < 0.05
    assert sure <= 4
    assert likely >= sure + 4


def test_items_that_are_nearly_always_right_or_wrong_are_fitted_too():
    """From 0, Newton's method for an item's mode would step to and fro: few items have both, sd 3."""
    rng = np.random.default_rng([1, 50, 5, 40, 30])
    item, place = np.divmod(np.arange(250), 5)
    treatment = place % 2
    odds = 4.0 + 0.5 * treatment + rng.normal(0, 3.0, 50)[item]
    correct = (rng.random(250) < 1 / (1 + np.exp(-odds))).astype(int)
    columns = {"item": item, "correct": correct, "treatment": [f"T{k}" for k in treatment]}
    found = fit(pl.DataFrame(columns), "correct ~ treatment")[0]
    assert found["Intercept"].low <= 4.0 <= found["Intercept"].high
    assert found["treatment[T1]"].low <= 0.5 <= found["treatment[T1]"].high


@pytest.mark.long
@pytest.mark.parametrize(("intercept", "sd"), drawn([(0.4, 1.0), (2.0, 1.0), (4.5, 1.5), (3.9, 1.0)], 4))
def test_intervals_of_the_intercept_hold_the_truth_however_many_answers_are_right(intercept, sd):
    """From 58 to 97% right, one of four each day, five answers to each of 200 items: 95% of 60, less 3 sd."""
    rng, held, ends = np.random.default_rng(11), 0, []
    for _ in range(60):
        odds = np.repeat(intercept + sd * rng.normal(size=200), 5)
        correct = (rng.random(1000) < 1 / (1 + np.exp(-odds))).astype(int)
        frame = pl.DataFrame({"item": np.repeat(np.arange(200), 5), "correct": correct})
        found = fit(frame, "correct ~ 1")[0]["Intercept"]
        held += found.low <= intercept <= found.high
        ends.append(found.value)
    assert held >= 52
    assert abs(np.median(ends) - intercept) < 0.2
