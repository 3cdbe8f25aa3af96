"""Shares and accuracy on all items, from a designed gold sample."""

import numpy as np
import polars as pl
import pytest
from tests.designed_gold import designed
from tests.measures.corrected.leaning_labels import leaning

from quaver.core.records import Label, LabelSet
from quaver.errors import MeasureError
from quaver.measures import corrected_accuracy, corrected_share


def true_share(frame):
    return frame.unique("item").select((pl.col("gold") == "yes").mean()).item()


@pytest.mark.parametrize("design", ["simple", "stratified", "poisson"])
def test_a_share_is_that_of_the_true_labels(design):
    frame = leaning(seed=3)
    truth = true_share(frame)
    found = corrected_share(designed(frame, 300, 1, design))
    yes = next(one for one in found if one.cell["label"] == "yes")
    assert yes.low <= truth <= yes.high
    assert yes.details["naive"]["low"] > truth  # every prompt says yes too often
    # Strata by label have the gain of the label already.
    assert yes.details["effective_gold"] >= yes.details["gold"] * (1 if design == "stratified" else 1.2)
    assert sum(one.value for one in found) == pytest.approx(1, abs=0.05)


def test_the_share_of_a_rare_label_is_corrected_and_covers():
    frame = leaning(items=1000, seed=5).with_columns(
        gold=pl.when(pl.col("x") > 2.0).then(pl.col("gold")).otherwise(pl.lit("no"))
    )
    found = corrected_share(designed(frame, 200, 3))
    yes = next(one for one in found if one.cell["label"] == "yes")
    alone = yes.details["gold_alone"]
    assert yes.low <= true_share(frame) <= yes.high
    assert yes.high - yes.low <= 1.02 * (alone["high"] - alone["low"])


@pytest.mark.parametrize("missing", ["wrong", "drop"])
def test_accuracy_is_that_on_all_items_though_hard_items_were_drawn_more_often(missing):
    whole = leaning(seed=6)
    rng = np.random.default_rng(0)
    whole = whole.with_columns(label=pl.when(pl.Series(rng.random(whole.height) < 0.9)).then("label"))
    found = corrected_accuracy(designed(whole, 400, 4, "poisson"), missing=missing)
    assert len(found) == 6
    known = whole if missing == "wrong" else whole.drop_nulls("label")
    right = (pl.col("label") == pl.col("gold")).fill_null(value=False).mean()
    truths = dict(known.group_by("variant").agg(right).iter_rows())
    covered = [one.low <= truths[one.cell["variant"]] <= one.high for one in found]
    assert sum(covered) >= 5
    for one in found:
        alone = one.details["gold_alone"]
        assert one.high - one.low <= 1.02 * (alone["high"] - alone["low"])


@pytest.mark.parametrize("measure", [corrected_share, corrected_accuracy])
def test_without_a_design_there_is_no_estimate(measure):
    with pytest.raises(MeasureError):
        measure(leaning(items=40))


def test_gold_labels_that_are_still_to_come_are_a_reason():
    frame = designed(leaning(items=60), 20, 7).with_columns(gold=pl.lit(None, pl.String))
    found = [*corrected_share(frame), *corrected_accuracy(frame)]
    assert {one.reason for one in found} == {"fewer than two gold labels"}


def test_the_corrected_share_of_a_label_of_sets_is_that_of_the_sets_that_hold_it():
    sets = ["tax", "tax;war", "war", "[]"] * 40
    labels = LabelSet(tuple(Label(one, one) for one in ("tax", "tax;war", "war", "[]")), "jaccard")
    frame = pl.DataFrame({"item": range(160), "label": sets, "gold": sets, "gold_probability": 0.5})
    frame = frame.with_columns(gold_drawn=pl.col("item") % 8 < 4)
    found = {one.cell["label"]: one.value for one in corrected_share(frame, labels=labels)}
    assert found == {"tax": pytest.approx(0.5), "war": pytest.approx(0.5)}
