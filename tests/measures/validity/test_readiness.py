"""Readiness: verdicts by hand, whose rows are used for what, and what is refused."""

import polars as pl
import pytest

from quaver.errors import MeasureError, UnknownName
from quaver.measures.validity.readiness import readiness


def frame(right, items=100, evaluator="e"):
    labels = ["a"] * right + ["b"] * (items - right)
    return pl.DataFrame(
        {"item": range(items), "variant": "v", "evaluator": evaluator, "label": labels, "gold": "a"}
    )


def verdicts(annotations, **options):
    found = readiness(annotations, **options)
    return {one.measure.removeprefix("readiness").strip("_"): one.details["verdict"] for one in found}


@pytest.mark.parametrize(
    ("right", "verdict"),
    [(95, "met"), (82, "undecided"), (60, "not met")],  # 0.8 beside ± 0.04, 0.08 and 0.1
)
def test_a_whole_interval_on_one_side_decides(right, verdict):
    assert verdicts(frame(right))["accuracy"] == verdict


def test_without_a_value_a_criterion_is_undecided_and_nothing_is_ready():
    found = verdicts(frame(100))  # one variant has no spread
    assert found["spread"] == "undecided"
    assert found[""] == "undecided"


def test_one_criterion_that_is_not_met_is_enough():
    found = readiness(frame(60))[-1]
    assert found.details["verdict"] == "not ready"
    assert (found.value, found.details["met"], found.details["missed"]) == (
        1 / 3,
        1,
        1,
    )  # compliance; accuracy


def test_labels_come_from_the_first_evaluator_and_flips_from_both():
    both = pl.concat([frame(95), frame(40, evaluator="other")])
    found = {one.measure: one for one in readiness(both, first="e", second="other")}
    assert found["readiness_accuracy"].value == 0.95
    assert found["readiness_flips"].value == 0.55
    assert found["readiness_flips"].details["verdict"] == "not met"
    assert found["readiness_flips"].cell == {}


def test_what_is_stated_is_what_is_judged():
    assert verdicts(frame(60), thresholds={"accuracy": 0.4})["accuracy"] == "met"
    with pytest.raises(UnknownName, match="'accuracy'"):
        readiness(frame(60), thresholds={"acuracy": 0.4})
    with pytest.raises(MeasureError, match="not a threshold"):
        readiness(frame(60), thresholds={"accuracy": 80})
    with pytest.raises(UnknownName, match="unknown evaluator 'token'"):
        readiness(frame(60), token="token")
