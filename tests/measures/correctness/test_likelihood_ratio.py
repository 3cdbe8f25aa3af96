"""The likelihood-ratio test: lme4's numbers, the same random effects on both sides, simulated p values."""

from __future__ import annotations

import polars as pl
import pytest
from scipy.stats import f
from tests.measures.correctness.counted_answers import answers

from quaver.errors import MeasureError
from quaver.measures.correctness.likelihood_ratio import likelihood_ratio
from quaver.measures.correctness.mixed_logit import mixed_logit

pytest.importorskip("gpboost")


@pytest.fixture(scope="module")
def rows():
    return answers("mixed_slopes.csv")


@pytest.fixture(scope="module")
def larger(rows):
    return mixed_logit(rows, "correct ~ treatment * temperature")


def test_with_many_items_it_is_that_of_lme4():
    many = answers("mixed_intercepts.csv")
    both = [mixed_logit(many, f"correct ~ treatment {sign} temperature", random="intercept") for sign in "+*"]
    found = likelihood_ratio(*both)
    assert found["df"] == 5
    assert found["chi2"] == pytest.approx(12.746831, abs=1e-5)  # nAGQ 15
    assert found["p"] == found["p_chi2"] == pytest.approx(0.02587, abs=1e-5)


def test_with_few_items_p_is_simulated(rows, larger):
    found = likelihood_ratio(mixed_logit(rows, "correct ~ treatment + temperature"), larger)
    assert found["chi2"] == pytest.approx(0.113621127, abs=1e-4)  # lme4 1.1-31
    assert found["p_chi2"] == pytest.approx(0.944773027, abs=1e-4)
    assert found["p"] == pytest.approx(0.94, abs=0.1)
    assert found["p"] == 20 / found["draws"]  # as many as it takes for twenty that are as large
    again = likelihood_ratio(mixed_logit(rows, "correct ~ treatment + temperature"), larger, seed=1)
    assert again["draws"] != found["draws"]
    alone = likelihood_ratio(mixed_logit(rows, "correct ~ treatment + temperature"), larger, draws=0)
    assert alone["p_chi2"] == found["p_chi2"]


def test_p_is_of_f_where_items_are_what_the_terms_rest_on(rows):
    pair = [mixed_logit(rows, f"correct ~ {terms}") for terms in ("treatment", "treatment + temperature")]
    found = likelihood_ratio(*pair, draws=0)
    assert found["freedom"] == pair[1].coefficients["temperature"].freedom < 60
    assert found["p"] == pytest.approx(f.sf(found["chi2"], 1, found["freedom"]))
    assert found["p"] > found["p_chi2"]


def test_an_effect_of_all_items_is_found(rows):
    strong = rows.with_columns(correct=(rows["correct"] == 1) | (rows["treatment"] == "T1") & (rows["k"] < 3))
    both = [mixed_logit(strong, f"correct ~ {terms}") for terms in ("temperature", "temperature + treatment")]
    found = likelihood_ratio(*both, draws=39)
    assert (found["p"], found["draws"]) == (1 / 40, 0)  # no simulation could find less
    assert found["p_chi2"] < 1e-5


def test_both_models_have_the_random_effects_of_the_larger(rows, larger):
    smaller = [
        mixed_logit(rows, "correct ~ treatment + temperature", random=random)
        for random in ("auto", "intercept")
    ]
    found = [likelihood_ratio(one, larger, draws=0)["chi2"] for one in smaller]
    assert found[0] == found[1]


def test_models_that_are_not_nested_are_refused(rows, larger):
    smaller = mixed_logit(rows, "correct ~ treatment")
    with pytest.raises(MeasureError, match="not the larger"):
        likelihood_ratio(larger, smaller)
    part = mixed_logit(rows.filter(rows["item"] < "q12"), "correct ~ treatment")
    with pytest.raises(MeasureError, match="different data"):
        likelihood_ratio(part, larger)


def test_terms_that_add_nothing_take_no_simulation(rows):
    both = pl.concat([rows.with_columns(half=pl.lit(name)) for name in "ab"])
    pair = [
        mixed_logit(both, f"correct ~ {terms}", random="intercept")
        for terms in ("treatment", "treatment + half")
    ]
    found = likelihood_ratio(*pair)
    assert found["chi2"] == pytest.approx(0, abs=1e-6)
    assert (found["p"], found["draws"]) == (1.0, 0)
