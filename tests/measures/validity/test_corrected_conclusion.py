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


def test_numbers_few_of_which_decide_have_a_reason_that_speaks_of_numbers():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(200)
    given = [repr(one) for one in np.exp(3 + rng.normal(0, 1.5, 200)).tolist()]
    frame = pl.DataFrame({"item": range(200), "label": given, "x": x, "gold": [*given[:40], *[None] * 160]})
    frame = frame.with_columns(gold_drawn=pl.col("item") < 40, gold_probability=0.2)
    labels = occurring_numbers(sorted(given, key=float), "ratio")
    found = by_name(conclusion(frame, formula="label ~ x", effect="x > 0", labels=labels))
    assert "numbers" in found["conclusion_corrected"].reason
