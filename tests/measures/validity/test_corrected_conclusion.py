"""Conclusions about true labels, from a designed gold sample and labels whose errors lean on a covariate."""

import numpy as np
import polars as pl
import pytest
from tests.designed_gold import designed
from tests.measures.corrected.leaning_labels import leaning

from quaver.core.label_values import occurring_numbers
from quaver.measures import conclusion

ASKED = {"formula": "share(yes) ~ x", "effect": "x > 0"}


def by_name(found):
    return {one.measure: one for one in found}


@pytest.mark.parametrize("design", ["simple", "stratified", "poisson"])
def test_every_prompt_agrees_on_a_falsehood_and_the_corrected_estimate_does_not(design):
    frame = designed(leaning(), 300, 1, design)
    found = conclusion(frame, **ASKED, resamples=50)
    naive = [one.details["verdict"] for one in found if one.measure == "conclusion"]
    assert naive == ["holds"] * 6
    corrected = found[0]
    assert corrected.measure == "conclusion_corrected"
    assert corrected.details["verdict"] == "not distinguishable"
    assert corrected.low <= 0 <= corrected.high


def test_precision_is_gained_and_said():
    frame = designed(leaning(slope=0.8), 300, 2)
    found = by_name(conclusion(frame, **ASKED))
    corrected, alone = found["conclusion_corrected"], found["conclusion_gold"]
    assert corrected.details["verdict"] == "holds"
    assert corrected.high - corrected.low < 0.85 * (alone.high - alone.low)
    assert corrected.details["effective_gold"] > 1.4 * corrected.details["gold"] == 1.4 * 300
    assert corrected.details["gold_alone"]["value"] == alone.value


def test_gold_labels_from_elsewhere_are_left_out_and_counted():
    frame = designed(leaning(items=500), 100, 3)
    from_worst = pl.when(pl.col("item") == frame.filter(~pl.col("gold_drawn"))["item"][0]).then(pl.lit("yes"))
    more = frame.with_columns(pl.coalesce("gold", from_worst).alias("gold"))
    one, other = (conclusion(some, **ASKED)[0] for some in (frame, more))
    assert (one.value, one.low) == (other.value, other.low)
    assert other.excluded["gold label outside the sample"] == 1


def test_a_rare_label_has_a_reason_instead_of_an_interval():
    frame = leaning(items=1000).with_columns(
        pl.when(pl.col("x") > 2.2).then(pl.col("gold")).otherwise(pl.lit("no")).alias("gold")
    )
    found = conclusion(designed(frame, 100, 4), **ASKED)
    assert all(one.value is None and one.low is None for one in found[:2])
    assert found[0].reason
    assert found[0].details["verdict"] == "not distinguishable"


def test_populations_of_items_apart_and_groups_of_items():
    frame = designed(leaning(), 400, 5)
    found = conclusion(frame, **ASKED, by=["model", "half"])
    halves = [one for one in found if one.measure == "conclusion_corrected"]
    assert [one.cell["half"] for one in halves] == ["even", "odd"]
    assert "model" not in halves[0].cell
    assert sum(one.n for one in halves) == 400
    grouped = conclusion(frame, **ASKED, group="author")[0]
    assert grouped.unit == "author"
    assert grouped.low < grouped.value < grouped.high


def test_a_share_from_unequal_probabilities():
    frame = leaning(slope=0.5)
    truth = frame.filter(pl.col("variant") == "v0").select((pl.col("gold") == "yes").mean()).item()
    for design in ("stratified", "poisson"):
        found = conclusion(
            designed(frame, 300, 6, design), formula="share(yes) ~ 1", effect="Intercept > 0.1"
        )
        assert found[0].low <= truth <= found[0].high


def test_two_corrected_estimates_of_the_same_items_are_compared_in_pairs():
    frame = designed(leaning(items=1000), 300, 9)
    options = {**ASKED, "keep_draws": True, "resamples": 200}
    first = conclusion(frame, **options)[0]
    second = conclusion(frame.filter(pl.col("variant") != "v5"), **options)[0]
    assert first.draws.jackknife.units.count == 1000
    spread = np.sqrt(first.draws.jackknife.variance)
    assert spread == pytest.approx(first.details["standard_error"], rel=0.15)
    assert np.corrcoef(first.draws.jackknife.left, second.draws.jackknife.left)[0, 1] > 0.85


def of_numbers(case):
    """A frame of a field of numbers, and the label set of those that occur."""
    size, drawn = len(case["x"]), case["gold"]
    gold = [repr(one) for one in case["y"]] + [None] * (size - drawn)
    given = [repr(one) for one in case["f"]]
    known = sorted({one for one in (*gold, *given) if one is not None}, key=float)
    frame = pl.DataFrame(
        {
            "item": range(size),
            "label": given,
            "x": case["x"],
            "gold": gold,
            "gold_drawn": [True] * drawn + [False] * (size - drawn),
            "gold_probability": drawn / size,
        }
    )
    return frame, occurring_numbers(known, "ratio")


def test_numbers_few_of_which_decide_have_a_reason_that_speaks_of_numbers():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(200)
    y = np.exp(3 + rng.normal(0, 1.5, 200))
    frame, labels = of_numbers({"x": x, "y": y[:40].tolist(), "f": y.tolist(), "gold": 40})
    found = by_name(conclusion(frame, formula="label ~ x", effect="x > 0", labels=labels))
    assert "numbers" in found["conclusion_corrected"].reason
