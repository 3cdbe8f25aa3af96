"""p values of several comparisons, by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaver.measure.factor_effects import factor_effects
from quaver.measure.multiple import bootstrap_p, holm


def test_a_difference_that_is_always_on_one_side() -> None:
    assert bootstrap_p(np.full(999, 0.2)) == pytest.approx(2 / 1000)
    assert bootstrap_p(np.full(999, -0.2)) == pytest.approx(2 / 1000)


def test_a_difference_of_nothing_is_no_difference() -> None:
    assert bootstrap_p(np.zeros(999)) == 1.0
    assert bootstrap_p(np.array([np.nan, np.nan])) == 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_never_makes_a_p_value_smaller_and_keeps_their_order(p: list[float]) -> None:
    stepped = holm(p)
    assert all(before <= after <= 1 for before, after in zip(p, stepped, strict=True))
    order = np.argsort(p, kind="stable")
    assert (np.diff(np.array(stepped)[order]) >= 0).all()


def test_factor_effects_are_adjusted_over_all_that_are_compared() -> None:
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
    assert differences["a"].details["p"] == pytest.approx(2 / 1001)
    assert differences["a"].details["p_holm"] == pytest.approx(12 / 1001)
    assert differences["b"].details["p_holm"] > 0.05
    assert not any("p" in one.details for one in found if one.measure == "factor_effects_accuracy")
