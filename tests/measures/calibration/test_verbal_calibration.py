import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.estimation.measure_input import beside
from quaver.measures import verbal_calibration


def answers(model, stated, token, right, phrasing="percent"):
    n = len(stated)
    return pl.DataFrame(
        {
            "item": [f"i{k}" for k in range(n)],
            "model": [model] * n,
            "phrasing": [phrasing] * n,
            "label": ["a"] * n,
            "gold": ["a" if yes else "b" for yes in right],
            "confidence": stated,
            "token": token,
        },
        schema_overrides={"confidence": pl.Float64, "token": pl.Float64},
    ).with_columns(gold=pl.lit("a"), label=pl.Series(["a" if yes else "b" for yes in right]))


RIGHT = [1, 1, 1, 0, 0]


def by_name(found):
    return {one.measure.removeprefix("verbal_calibration_"): one for one in found}


def test_the_four_differences_worked_by_hand():
    # stated .9 five times, 3 right: ECE |4.5 − 3| / 5 = .3; token .6: ECE 0; verbal − token .3
    found = by_name(verbal_calibration(answers("m", [0.9] * 5, [0.6] * 5, RIGHT)))
    assert found["ece"].value == pytest.approx(0.3)
    assert found["minus_accuracy"].value == pytest.approx(0.3)
    assert found["ece_gap"].value == pytest.approx(0.3)
    assert found["minus_token"].value == pytest.approx(0.3)


def test_differences_rest_on_the_answers_that_have_both():
    found = by_name(verbal_calibration(answers("m", [0.9] * 5, [None, 0.5, 0.5, 0.5, 0.5], RIGHT)))
    assert found["ece"].details["answers"] == 5
    assert found["ece_gap"].details["answers"] == 4
    assert found["ece_gap"].value == pytest.approx((3.6 - 2) / 4 - 0)
    assert found["minus_token"].value == pytest.approx(0.4)


def test_below_the_threshold_a_cell_is_undefined_and_says_what_it_would_be():
    frame = pl.concat(
        [
            answers("m", [0.9] * 5, [0.6] * 5, RIGHT),
            answers("n", [0.9, None, None, 0.9, 0.9], [0.6] * 5, RIGHT),
        ]
    )
    found = by_name(
        one for one in verbal_calibration(frame.drop("token"), by=["model"]) if one.cell["model"] == "n"
    )
    assert (found["ece"].value, found["ece"].reason) == (None, "parse rate 0.600 below 0.80")
    # .9 three times, one right: |2.7 − 1| / 3
    assert found["ece"].details["value_below_threshold"] == pytest.approx(1.7 / 3)
    assert all(one.value is not None for one in verbal_calibration(frame, by=["model"], threshold=0.6))


def test_a_threshold_outside_its_range_is_refused():
    with pytest.raises(MeasureError) as caught:
        verbal_calibration(answers("m", [0.9], [0.6], [1]), threshold=80)
    assert caught.value.where == "threshold"


def test_token_confidence_comes_from_the_evaluator_that_is_named():
    said = answers("m", [0.9] * 5, [0.6] * 5, RIGHT)
    both = pl.concat(
        [
            said.drop("token").with_columns(evaluator=pl.lit("said")),
            said.drop("token").with_columns(evaluator=pl.lit("logprob"), confidence=pl.lit(0.6)),
        ]
    )
    found = [(one.measure, one.value) for one in verbal_calibration(both, token="logprob")]
    assert found == [(one.measure, one.value) for one in verbal_calibration(said)]
    for frame, token in ((both, "nobody"), (said, "logprob")):
        with pytest.raises(MeasureError, match="two evaluators"):
            verbal_calibration(frame, token=token)
    with pytest.raises(MeasureError, match="of one of these evaluators"):
        beside(both, ("said", "logit"))
