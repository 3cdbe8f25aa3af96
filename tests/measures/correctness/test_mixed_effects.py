"""The mixed model as a measure: the fit's own numbers, and why there are none."""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.measures.correctness.likelihood_ratio import likelihood_ratio
from quaver.measures.correctness.mixed_effects import mixed_effects
from quaver.measures.correctness.mixed_logit import mixed_logit

pytest.importorskip("gpboost")


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


@pytest.mark.long
def test_they_are_the_numbers_of_the_fit() -> None:
    frame = answers()
    found = mixed_effects(frame, formula="correct ~ treatment * temperature", resamples=0)
    whole = mixed_logit(frame, "correct ~ treatment * temperature")
    plain = mixed_logit(frame, "correct ~ treatment + temperature")
    effects = {one.cell["term"]: one.value for one in found if one.measure == "mixed_effects"}
    assert effects == pytest.approx({name: one.value for name, one in whole.coefficients.items()}, abs=1e-4)
    last = found[-1]
    assert last.measure == "mixed_effects_interactions"
    assert (last.value, last.details["df"]) == pytest.approx(
        (likelihood_ratio(plain, whole)["chi2"], 1), abs=1e-3
    )


def test_it_says_which_random_effects_it_has_and_why_not_others() -> None:
    found = mixed_effects(answers(60), formula="correct ~ treatment * temperature", resamples=0)
    sds = {one.cell["term"]: one for one in found if one.measure == "mixed_effects_sd"}
    assert sds["1 | item"].value == pytest.approx(1, abs=0.4)
    assert sds["1 | item"].details["groups"] == 60
    lost = {name: one.reason for name, one in sds.items() if one.value is None}
    assert lost
    assert all("left out" in str(reason) for reason in lost.values())
    (one,) = [one for one in found if one.cell.get("term") == "treatment[T1]"]
    assert set(one.details["left_out"]) == set(lost)
    assert "(1 | item)" in one.method
    alone = mixed_effects(answers(60), formula="correct ~ treatment * temperature", random="intercept")
    assert [one.cell["term"] for one in alone if one.measure == "mixed_effects_sd"] == ["1 | item"]


def test_with_groups_the_items_within_them_have_random_effects_too() -> None:
    frame = answers(40).with_columns(author=pl.col("item") // 4)
    found = mixed_effects(frame, formula="correct ~ treatment", group="author", resamples=0)
    names = {one.cell["term"] for one in found if one.measure == "mixed_effects_sd"}
    assert names == {"1 | author", "1 | item", "1 | author:treatment", "1 | item:treatment"}
    assert {(one.n, one.unit) for one in found} == {(10, "author")}
    whole = mixed_logit(
        frame.with_columns(correct=pl.col("label") == "a"), "correct ~ treatment", group=["author", "item"]
    )
    values = [one.value for one in found if one.measure == "mixed_effects"]
    assert values == pytest.approx([one.value for one in whole.coefficients.values()], abs=1e-6)
    between = mixed_effects(
        frame.with_columns(pl.col("author").cast(pl.String)),
        formula="correct ~ author",
        group="author",
        resamples=0,
    )
    assert "author[1]" in {one.cell.get("term") for one in between}


def test_p_of_the_interactions_is_simulated_with_few_items_and_resamples() -> None:
    formula = "correct ~ treatment * temperature"
    for items, resamples, draws in ((12, 19, 19), (12, 0, 0), (50, 19, 0)):
        (*_, last) = mixed_effects(answers(items), formula=formula, resamples=resamples)
        assert last.details["draws"] == draws
        assert draws or last.details["p"] == pytest.approx(last.details["p_chi2"], abs=0.01)


def test_a_level_that_is_always_right_has_no_estimate() -> None:
    always = pl.when(pl.col("treatment") == "T1").then(pl.lit("a")).otherwise("label").alias("label")
    found = mixed_effects(answers().with_columns(always), formula="correct ~ treatment")
    (one,) = [one for one in found if one.cell.get("term") == "treatment[T1]"]
    assert one.value is None
    assert "always" in str(one.reason)


def test_without_the_extra_the_reason_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpboost", None)
    found = mixed_effects(answers(4), formula="correct ~ treatment", random="slopes")[0]
    assert found.value is None
    assert "pip install 'quaver[stats]'" in str(found.reason)


@pytest.mark.parametrize("formula", ["correct ~ tretment", "label ~ treatment", "correct"])
def test_a_formula_that_cannot_be_meant_is_an_error(formula: str) -> None:
    with pytest.raises(MeasureError) as caught:
        mixed_effects(answers(4), formula=formula)
    assert caught.value.where == "formula"
