"""Shares of labels, of labelled answers and of all."""

import polars as pl
import pytest

from quaver.core.records import Label, LabelSet
from quaver.measures.correctness.accuracy import accuracy
from quaver.measures.variation.label_shares import label_shares

FRAME = pl.DataFrame(
    {
        "item": [1, 1, 2, 2, 3, 3],
        "repeat": [0, 1] * 3,
        "label": ["a", "b", "a", None, None, None],
        "status": ["valid", "valid", "valid", "refused", "empty", "empty"],
    }
)
LABELS = LabelSet((Label("a", "a"), Label("b", "b"), Label("c", "c")))


def test_shares_of_the_answers_with_a_label():
    found = label_shares(FRAME, labels=LABELS)
    assert [(e.cell["label"], e.value) for e in found] == [
        ("a", pytest.approx(2 / 3)),
        ("b", pytest.approx(1 / 3)),
        ("c", 0),
    ]
    assert found[0].excluded == {"empty": 2, "refused": 1}
    assert found[0].n == 2
    # Nobody said c: the exact binomial bound, of two items.
    assert (found[2].low, found[2].high) == (0, pytest.approx(1 - 0.025**0.5))


def test_shares_of_all_answers():
    found = label_shares(FRAME, labels=LABELS, missing="category")
    assert [e.value for e in found] == pytest.approx([1 / 3, 1 / 6, 0, 1 / 2])
    assert found[3].cell["label"] == "no label"


def test_accuracy_beside_what_guessing_gives():
    frame = FRAME.with_columns(gold=pl.Series(["a", "a", "a", "a", "b", "b"]))
    (wrong,) = accuracy(frame, labels=LABELS)
    (left,) = accuracy(frame, labels=LABELS, missing="drop")
    assert (wrong.value, left.value) == (pytest.approx(2 / 6), pytest.approx(2 / 3))
    assert wrong.details["counted_wrong"] == wrong.value
    assert wrong.details["left_out"] == left.value
    assert wrong.details["chance"] == pytest.approx(1 / 3)
    assert (wrong.details["majority"], wrong.details["majority_label"]) == (pytest.approx(2 / 3), "a")
