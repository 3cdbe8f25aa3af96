import numpy as np
import polars as pl
import pytest
from scipy import stats

from quaver.errors import MeasureError
from quaver.estimation.multiple_testing import holm
from quaver.measures.correctness.differences import differences, mcnemar


def study(right, repeats=1, **more):
    """From right answers, shape (items, conditions × repeats), the repeats side by side."""
    right = np.asarray(right, bool)
    item, column = np.indices(right.shape)
    return pl.DataFrame(
        {
            "item": [f"i{k:04}" for k in item.ravel()],
            "variant": [f"v{k // repeats}" for k in column.ravel()],
            "repeat": column.ravel() % repeats,
            "label": np.where(right.ravel(), "a", "b"),
            "gold": "a",
        }
    )


def test_each_against_the_mean_of_the_others():
    right = [[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0]]
    found = differences(study(right))
    accuracy = np.mean(right, 0)
    expected = [accuracy[k] - (accuracy.sum() - accuracy[k]) / 2 for k in range(3)]
    assert [one.value for one in found] == pytest.approx(expected)
    assert [one.cell["variant"] for one in found] == ["v0", "v1", "v2"]
    assert {one.details["test"] for one in found} == {"McNemar by unit"}


def test_exact_mcnemar_against_a_reference():
    right = [[1, 0]] * 9 + [[0, 1]] * 2 + [[1, 1]] * 20
    (found,) = differences(study(right), reference="v1")
    assert found.value == pytest.approx(7 / 31)
    assert found.details["p"] == pytest.approx(stats.binomtest(2, 11).pvalue)
    assert (found.details["better"], found.details["worse"]) == (9, 2)
    assert found.details["p_holm"] == found.details["p"]


def test_without_repeats_the_clustered_test_is_mcnemars():
    apart = np.repeat([1.0, -1.0, 0.0], [14, 5, 30])
    assert mcnemar(apart, np.arange(49))["chi2"] == pytest.approx((14 - 5) ** 2 / (14 + 5))


def test_repeating_every_answer_adds_no_evidence():
    rng = np.random.default_rng(0)
    right = rng.random((60, 2)) < [0.8, 0.6]
    once = differences(study(right), reference="v1")[0]
    often = differences(study(np.repeat(right, 5, axis=1), repeats=5), reference="v1")[0]
    assert often.value == pytest.approx(once.value)
    assert (often.low, often.high) == pytest.approx((once.low, once.high))
    square = (right[:, 0].sum() - right[:, 1].sum()) ** 2 / (right[:, 0] != right[:, 1]).sum()
    assert often.details["chi2"] == pytest.approx(float(square))


def test_only_items_that_both_answered_count():
    frame = study([[1, 0], [1, 1], [0, 0], [1, 0]]).filter(
        ~((pl.col("item") == "i0003") & (pl.col("variant") == "v1"))
    )
    (found,) = differences(frame, reference="v1")
    assert found.n == 3
    assert found.value == pytest.approx(1 / 3)


def test_unanswered_are_wrong_or_left_out():
    frame = study([[1, 1], [1, 1]]).with_columns(
        label=pl.when((pl.col("item") == "i0000") & (pl.col("variant") == "v0")).then(None).otherwise("label")
    )
    assert differences(frame, reference="v1")[0].value == pytest.approx(-0.5)
    assert differences(frame, reference="v1", missing="drop")[0].value == 0


def test_holm_by_hand():
    # sorted .01 .02 .03 .04 times 4 3 2 1: .04 .06 .06 .04 -> running maximum
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([]) == []


def test_an_unknown_reference_is_refused():
    with pytest.raises(MeasureError) as caught:
        differences(study([[1, 0]]), reference="v9")
    assert caught.value.where == "reference"


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (study([[1], [0]]), "fewer than two conditions"),
        (study([[1, 0]]).with_columns(gold=pl.lit(None, pl.String)), "no gold labels"),
    ],
)
def test_undefined_with_the_reason(frame, reason):
    assert [one.reason for one in differences(frame)] == [reason]
