"""The mixed model as a measure: the fit's own numbers, and why there are none."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.measures.correctness.mixed_effects import mixed_effects
from quaver.measures.correctness.mixed_logit import mixed_logit


def answers(items: int = 30, seed: int = 3) -> pl.DataFrame:
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


def test_they_are_the_numbers_of_the_fit() -> None:
    frame = answers()
    found = mixed_effects(frame, formula="correct ~ treatment * temperature", resamples=0)
    whole = mixed_logit(frame, "correct ~ treatment * temperature")
    plain = mixed_logit(frame, "correct ~ treatment + temperature")
    effects = {one.cell["term"]: one.value for one in found if one.measure == "mixed_effects"}
    assert effects == pytest.approx({name: one.value for name, one in whole.coefficients.items()}, abs=1e-4)
    (sd,) = [one for one in found if one.measure == "mixed_effects_sd"]
    assert (sd.cell, sd.value) == ({"term": "1 | item"}, pytest.approx(whole.sd))
    assert sd.low is not None
    assert sd.low < sd.value < sd.high
    last = found[-1]
    assert last.measure == "mixed_effects_interactions"
    chi2 = 2 * (whole.log_likelihood - plain.log_likelihood)
    assert (last.value, last.details["df"]) == pytest.approx((chi2, 1), abs=1e-3)
    assert last.details["p"] >= last.details["p_chi2"]


def test_groups_are_the_units() -> None:
    frame = answers(40).with_columns(author=pl.col("item") // 4)
    found = mixed_effects(frame, formula="correct ~ treatment", group="author", resamples=0)
    assert {(one.n, one.unit) for one in found} == {(10, "author")}
    whole = mixed_logit(
        frame.with_columns(correct=pl.col("label") == "a"), "correct ~ treatment", group=["author", "item"]
    )
    values = [(one.value, one.low) for one in found if one.measure == "mixed_effects"]
    assert values == [pytest.approx((one.value, one.low), abs=1e-6) for one in whole.coefficients.values()]
    between = mixed_effects(
        frame.with_columns(pl.col("author").cast(pl.String)),
        formula="correct ~ author",
        group="author",
        resamples=0,
    )
    assert "author[1]" in {one.cell.get("term") for one in between}


def test_a_level_that_is_always_right_has_no_estimate() -> None:
    always = pl.when(pl.col("treatment") == "T1").then(pl.lit("a")).otherwise("label").alias("label")
    found = mixed_effects(answers().with_columns(always), formula="correct ~ treatment")
    (one,) = [one for one in found if one.cell.get("term") == "treatment[T1]"]
    assert one.value is None
    assert "always" in str(one.reason)


@pytest.mark.parametrize("formula", ["correct ~ tretment", "label ~ treatment", "correct"])
def test_a_formula_that_cannot_be_meant_is_an_error(formula: str) -> None:
    with pytest.raises(MeasureError) as caught:
        mixed_effects(answers(4), formula=formula)
    assert caught.value.where == "formula"
