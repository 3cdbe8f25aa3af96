"""Labels that turn right or wrong with the evaluator, worked by hand."""

import numpy as np
import polars as pl
import pytest

from quaver.errors import MeasureError, UnknownName
from quaver.estimation.intervals import holm
from quaver.measures import differences, evaluator_flips, mcnemar


def rows(evaluator, labels, gold="abab", *, model="m", variant="p"):
    """An answer an item; a dot is no label."""
    return pl.DataFrame(
        {
            "model": model,
            "variant": variant,
            "item": [f"i{at}" for at in range(len(labels))],
            "repeat": 0,
            "evaluator": evaluator,
            "label": [None if label == "." else label for label in labels],
            "gold": list(gold),
        },
        schema_overrides={"label": pl.String},
    )


FRAME = pl.concat([rows("x", "a.ab"), rows("y", "bba.")])


def by_name(frame, **options):
    found = evaluator_flips(frame, first="x", second="y", **options)
    return {one.measure: one for one in found}


def test_the_flip_table_by_hand():
    # a→b is changed, .→b gained, a→a same, b→. lost.
    flips, gain, harm = evaluator_flips(FRAME, by=["variant"])
    assert flips.cell == {"variant": "p", "first": "x", "second": "y"}
    assert (flips.value, flips.n) == (0.75, 4)
    assert {kind: flips.details[kind] for kind in ("same", "gained", "lost", "changed")} == {
        "same": 1,
        "gained": 1,
        "lost": 1,
        "changed": 1,
    }
    # Right by x: i0, i2, i3; by y: i1, i2.
    assert (gain.details["first"], gain.details["second"], gain.value) == (0.75, 0.5, -0.25)
    assert harm.value == pytest.approx(2 / 3)
    assert (harm.details["answers"], harm.details["counted"], harm.n) == (3, 2, 3)
    assert any("x and y read 75.0%" in warning for warning in flips.warnings)


def test_what_cannot_be_known_says_why():
    found = by_name(FRAME.drop("gold"))
    assert found["evaluator_flips"].value == 0.75
    assert found["evaluator_flips_accuracy_gain"].reason == "no gold labels"
    wrong = pl.concat([rows("x", "...."), rows("y", "abab")])
    without = by_name(wrong)["evaluator_flips_newly_wrong"]
    assert without.value is None
    assert "right" in without.reason


def test_answers_that_one_alone_has_read_are_counted():
    (flips, *_) = evaluator_flips(FRAME.head(7), first="x", second="y")
    assert list(flips.excluded.values()) == [1]
    assert flips.value == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("options", "error"), [({"second": "z"}, UnknownName), ({"second": "x"}, MeasureError)]
)
def test_only_two_evaluators_that_are_there_are_compared(options, error):
    with pytest.raises(error):
        evaluator_flips(FRAME, first="x", **options)


def test_each_pair_that_was_not_named_is_compared():
    three = pl.concat([FRAME, rows("z", "abab")])
    found = evaluator_flips(three, resamples=0)
    assert [(one.cell["first"], one.cell["second"]) for one in found[::3]] == [("x", "y"), ("x", "z")]
    (only, *_) = evaluator_flips(three, second="x", resamples=0)
    assert (only.cell["first"], only.cell["second"]) == ("y", "x")
    (one,) = evaluator_flips(FRAME.head(4))
    assert one.value is None
    assert "evaluators" in str(one.reason)


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
