"""p values of several comparisons, by hand."""

from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import binomtest

from quaver.estimation.intervals import effective, holm, level_of
from quaver.measures import differences, distribution_shift
from quaver.measures.correctness.factor_effects import factor_effects


def p_of(differences):
    """P of a mean of paired differences being 0, by the interval of a mean between -1 and 1."""
    each = np.array(differences, np.float64)
    variance = float(each.var(ddof=1)) / each.size
    return level_of(partial(effective, float(each.mean()), variance, each.size - 1, ends=(-1.0, 1.0)), 0.0)


@pytest.mark.parametrize(("gained", "lost", "same"), [(12, 0, 2), (11, 1, 0), (14, 2, 14), (9, 0, 40)])
def test_p_is_about_that_of_the_sign_test(gained, lost, same):
    p = p_of([1.0] * gained + [-1.0] * lost + [0.0] * same)
    exact = binomtest(gained, gained + lost).pvalue  # scipy's, exact
    assert 0.1 * exact < p < 6 * exact
    assert p == pytest.approx(p_of([-1.0] * gained + [1.0] * lost + [0.0] * same))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_never_makes_a_p_value_smaller_and_keeps_their_order(p):
    stepped = holm(p)
    assert all(before <= after <= 1 for before, after in zip(p, stepped, strict=True))
    order = np.argsort(p, kind="stable")
    assert (np.diff(np.array(stepped)[order]) >= 0).all()


def test_factor_effects_are_adjusted_over_all_that_are_compared():
    rng = np.random.default_rng(1)
    items, levels = 60, ("a", "b", "c")
    right = {"a": rng.random(items) < 0.9, "b": rng.random(items) < 0.3, "c": rng.random(items) < 0.3}
    frame = pl.DataFrame(
        [
            {"item": item, "variant": level, "factor": level, "gold": "x", "label": "x" if ok else "y"}
            for level in levels
            for item, ok in enumerate(right[level])
        ]
    )
    found = factor_effects(frame, factors=["factor"], reference={"factor": "c"})
    name = "factor_effects_accuracy_difference"
    differences = {one.cell["level"]: one for one in found if one.measure == name}
    compared = [one for one in found if "p" in one.details]
    # Two levels against the third, in compliance, accuracy and F1.
    assert len(compared) == 6
    assert {one.details["comparisons"] for one in compared} == {6}
    gains = right["a"].astype(float) - right["c"]
    flips = gains.sum() / np.sqrt((gains**2).sum())  # of the sign-flip test, standardised
    assert -ndtri(differences["a"].details["p"] / 2) == pytest.approx(flips, rel=0.2)
    assert differences["a"].details["p_holm"] < 0.001
    assert differences["b"].details["p_holm"] > 0.05
    assert not any("p" in one.details for one in found if one.measure == "factor_effects_accuracy")


def crossed(rng, sizes, items=40):
    """Answers to items under every combination of some factors' levels, right at random in 7 of 10."""
    names = [f"f{n}" for n in range(len(sizes))]
    rows = [
        {
            **{name: f"{level}" for name, level in zip(names, levels, strict=True)},
            "variant": str(levels),
            "item": item,
            "gold": "ab"[item % 2],
            "label": "ab"[(item + (rng.random() > 0.7)) % 2],
        }
        for levels in np.ndindex(*sizes)
        for item in range(items)
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize("reference", [None, {f"f{n}": "0" for n in range(4)}])
def test_both_sides_of_a_difference_are_one_test(reference):
    """Four factors of two levels: 4 differences in 3 outcomes (labelled, right, F1)."""
    found = factor_effects(crossed(np.random.default_rng(2), (2, 2, 2, 2)), reference=reference)
    tested = [one for one in found if "p" in one.details]
    assert {one.details["comparisons"] for one in tested} == {12}
    assert len({one.details["hypothesis"] for one in tested}) == 12
    values = {}
    for one in tested:
        values.setdefault(one.details["hypothesis"], set()).add(one.details["p"])
    assert {len(some) for some in values.values()} == {1}


def test_two_models_are_compared_once_whichever_is_named():
    frame = crossed(np.random.default_rng(3), (2,)).rename({"f0": "model"}).drop("variant")
    for measure in (differences, distribution_shift):
        found = measure(frame, between="model")
        assert {one.details["comparisons"] for one in found} == {1}
        assert all(one.details["p_holm"] == one.details["p"] for one in found)


@given(st.floats(0.001, 0.9), st.floats(1e-6, 0.05), st.integers(3, 200))
def test_p_is_under_a_level_exactly_where_the_interval_leaves_out_the_null(value, variance, freedom):
    p = level_of(lambda level: effective(value, variance, freedom, level, (-1.0, 1.0)), 0.0)
    for level in (0.9, 0.95, 0.99):
        low, _ = effective(value, variance, freedom, level, (-1.0, 1.0))
        if abs(p - (1 - level)) > 1e-5:
            assert (p < 1 - level) == (low > 0)
