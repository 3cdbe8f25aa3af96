"""Conclusions about true labels, from a designed gold sample and labels whose errors lean on a covariate."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.designed_gold import designed
from tests.measures.corrected.leaning_labels import leaning

from quaver.core.records import Label, LabelSet, Numbers
from quaver.errors import MeasureError
from quaver.measures import conclusion, corrected_conclusion

ASKED = {"formula": "share(yes) ~ x", "effect": "x > 0"}
_HERE = Path(__file__).parents[2] / "correction" / "ppi_python.json"
NUMBERS = json.loads(_HERE.read_text())["numbers"]
LABELS = LabelSet((Label("no", "no"), Label("yes", "yes")))


def by_name(found):
    return {one.measure: one for one in found}


@pytest.mark.parametrize("design", ["simple", "stratified", "poisson"])
@pytest.mark.parametrize("regression", ["linear", "logistic"])
def test_every_prompt_agrees_on_a_falsehood_and_the_corrected_estimate_does_not(design, regression):
    frame = designed(leaning(), 300, 1, design)
    found = conclusion(frame, **ASKED, regression=regression, resamples=50)
    naive = [one.details["verdict"] for one in found if one.measure == "conclusion"]
    assert naive == ["holds"] * 6
    corrected = found[0]
    assert corrected.measure == "conclusion_corrected"
    assert corrected.details["verdict"] == "not distinguishable"
    assert corrected.low <= 0 <= corrected.high


def test_precision_is_gained_and_said():
    frame = designed(leaning(slope=0.8), 300, 2)
    found = by_name(corrected_conclusion(frame, **ASKED))
    corrected, alone = found["conclusion_corrected"], found["conclusion_gold"]
    assert corrected.details["verdict"] == "holds"
    assert corrected.high - corrected.low < 0.85 * (alone.high - alone.low)
    assert corrected.details["effective_gold"] > 1.4 * corrected.details["gold"] == 1.4 * 300
    assert corrected.details["gold_alone"]["value"] == alone.value
    assert {"conclusion_ppi", "conclusion_dsl"} <= found.keys()


def test_gold_labels_without_a_design_are_refused():
    with pytest.raises(MeasureError) as caught:
        corrected_conclusion(leaning(items=50), **ASKED)
    assert "quaver gold" in caught.value.fix


def test_gold_labels_from_elsewhere_are_left_out_and_counted():
    frame = designed(leaning(items=500), 100, 3)
    from_worst = pl.when(pl.col("item") == frame.filter(~pl.col("gold_drawn"))["item"][0]).then(pl.lit("yes"))
    more = frame.with_columns(pl.coalesce("gold", from_worst).alias("gold"))
    one, other = (corrected_conclusion(some, **ASKED)[0] for some in (frame, more))
    assert (one.value, one.low) == (other.value, other.low)
    assert other.excluded["gold label outside the sample"] == 1


def test_a_rare_label_has_a_reason_instead_of_an_interval():
    frame = leaning(items=1000).with_columns(
        pl.when(pl.col("x") > 2.2).then(pl.col("gold")).otherwise(pl.lit("no")).alias("gold")
    )
    found = corrected_conclusion(designed(frame, 100, 4), **ASKED)
    assert all(one.value is None and one.low is None for one in found)
    assert found[0].reason
    assert found[0].details["verdict"] == "not distinguishable"


def test_populations_of_items_apart_and_groups_of_items():
    frame = designed(leaning(), 400, 5)
    found = corrected_conclusion(frame, **ASKED, by=["model", "half"], each=False)
    halves = [one for one in found if one.measure == "conclusion_corrected"]
    assert [one.cell["half"] for one in halves] == ["even", "odd"]
    assert "model" not in halves[0].cell
    assert sum(one.n for one in halves) == 400
    grouped = corrected_conclusion(frame, **ASKED, group="author", each=False)[0]
    assert grouped.unit == "author"
    assert grouped.low < grouped.value < grouped.high


def test_a_share_from_unequal_probabilities():
    frame = leaning(slope=0.5)
    truth = frame.filter(pl.col("variant") == "v0").select((pl.col("gold") == "yes").mean()).item()
    for design in ("stratified", "poisson"):
        found = corrected_conclusion(
            designed(frame, 300, 6, design), formula="share(yes) ~ 1", effect="Intercept > 0.1"
        )
        assert found[0].low <= truth <= found[0].high


def test_a_multinomial_regression_of_two_labels_is_a_logistic_one():
    frame = designed(leaning(slope=0.5), 300, 7)
    logistic = corrected_conclusion(frame, **ASKED, regression="logistic", labels=LABELS)
    other = corrected_conclusion(
        frame, formula="label ~ x", effect="yes:x > 0", regression="multinomial", labels=LABELS
    )
    for one, same in zip(logistic, other, strict=True):
        assert (one.value, one.low, one.high) == pytest.approx((same.value, same.low, same.high), abs=1e-8)


def test_weights_of_items_are_those_of_their_copies():
    frame = designed(leaning(items=600, prompts=2), 200, 8)
    twice = frame.with_columns(pl.when(pl.col("half") == "odd").then(2.0).otherwise(1.0).alias("counts"))
    copies = twice.filter(pl.col("half") == "odd").with_columns(pl.col("item") + "copy")
    weighted = corrected_conclusion(twice, **ASKED, weights="counts")
    copied = corrected_conclusion(pl.concat([twice, copies]), **ASKED)
    gold = [by_name(found)["conclusion_gold"].value for found in (weighted, copied)]
    assert gold[0] == pytest.approx(gold[1])


def test_two_corrected_estimates_of_the_same_items_are_compared_in_pairs():
    frame = designed(leaning(items=1000), 300, 9)
    options = {**ASKED, "each": False, "keep": ["draws"], "resamples": 200}
    first = corrected_conclusion(frame, **options)[0]
    second = corrected_conclusion(frame.filter(pl.col("variant") != "v5"), **options)[0]
    assert first.draws.units.count == 1000
    spread = np.sqrt(first.draws.variance)
    assert spread == pytest.approx(first.details["standard_error"], rel=0.15)
    assert np.corrcoef(first.draws.jackknife, second.draws.jackknife)[0, 1] > 0.9


def test_the_order_of_rows_does_not_matter():
    frame = designed(leaning(items=500), 200, 10)
    texts = frame.with_columns(pl.col("item").cast(pl.Categorical))
    other = frame.sample(fraction=1, shuffle=True, seed=1)
    first, *others = (corrected_conclusion(some, **ASKED) for some in (frame, texts, other))
    assert all([one.value for one in some] == pytest.approx([one.value for one in first]) for some in others)


def test_labels_as_they_are_are_drawn_by_weights_and_by_several_outcomes_too():
    frame = designed(leaning(items=600, prompts=2, slope=0.5), 200, 8)
    plain = {**ASKED, "regression": "logistic", "labels": LABELS, "resamples": 0}
    same = {"formula": "label ~ x", "effect": "yes:x > 0", "regression": "multinomial", "labels": LABELS}
    one, other = (
        [found.value for found in conclusion(frame, **options) if found.measure == "conclusion"]
        for options in (plain, {**same, "resamples": 0})
    )
    assert one == pytest.approx(other)
    twice = frame.with_columns(pl.when(pl.col("half") == "odd").then(2.0).otherwise(1.0).alias("counts"))
    copies = twice.filter(pl.col("half") == "odd").with_columns(pl.col("item") + "copy")
    weighted = conclusion(twice, **ASKED, weights="counts")
    copied = conclusion(pl.concat([twice, copies]), **ASKED)
    values = [
        {one.cell["variant"]: one.value for one in found if one.measure == "conclusion"}
        for found in (weighted, copied)
    ]
    assert values[0] == pytest.approx(values[1])
    first = next(one for one in weighted if one.measure == "conclusion")
    assert first.low < first.value < first.high
    assert "sandwich" in first.method


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
    return frame, Numbers(tuple(Label(one, one, value=float(one)) for one in known), "ratio")


@pytest.mark.parametrize("case", NUMBERS)
@pytest.mark.parametrize(
    ("term", "formula", "effect"),
    [
        ("mean None", "label ~ 1", "Intercept > 0"),
        ("linear 0 None", "label ~ x", "Intercept > 0"),
        ("linear 1 None", "label ~ x", "x > 0"),
    ],
)
def test_means_and_slopes_of_a_field_of_numbers_are_ppi_python_s(case, term, formula, effect):
    frame, labels = of_numbers(case)
    found = by_name(conclusion(frame, formula=formula, effect=effect, labels=labels))
    value, low, high = case["found"][term]
    assert found["conclusion_ppi"].value == pytest.approx(value, abs=1e-6)
    if term.startswith("mean"):  # elsewhere ppi-python tunes the interval once more
        error = found["conclusion_ppi"].details["standard_error"]
        assert 1.959963984540054 * error == pytest.approx((high - low) / 2, abs=1e-6)
    assert found["conclusion_corrected"].low < value < found["conclusion_corrected"].high


def test_numbers_few_of_which_decide_have_a_reason_that_speaks_of_numbers():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(200)
    y = np.exp(3 + rng.normal(0, 1.5, 200))
    frame, labels = of_numbers({"x": x, "y": y[:40].tolist(), "f": y.tolist(), "gold": 40})
    found = by_name(corrected_conclusion(frame, formula="label ~ x", effect="x > 0", labels=labels))
    assert "numbers" in found["conclusion_corrected"].reason
