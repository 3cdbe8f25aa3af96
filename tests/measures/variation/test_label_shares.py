"""Shares of labels, of labelled answers and of all."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from quaver.core.records import Label, LabelSet
from quaver.errors import MeasureError
from quaver.measures.correctness.accuracy import accuracy
from quaver.measures.variation.label_shares import distinct_annotations, label_shares, output_uncertainty

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


def test_distinct_annotations():
    said = pl.DataFrame({"item": [1, 2, 3], "label": ["a", "I think b", "a"]})
    assert distinct_annotations(said)[0].value == 2
    assert distinct_annotations(said)[0].details["given"] == {"I think b": 1, "a": 2}
    assert distinct_annotations(said, labels=LABELS)[0].value == 1


def test_accuracy_beside_what_guessing_gives():
    frame = FRAME.with_columns(gold=pl.Series(["a", "a", "a", "a", "b", "b"]))
    (wrong,) = accuracy(frame, labels=LABELS)
    (left,) = accuracy(frame, labels=LABELS, missing="drop")
    assert (wrong.value, left.value) == (pytest.approx(2 / 6), pytest.approx(2 / 3))
    assert wrong.details["counted_wrong"] == wrong.value
    assert wrong.details["left_out"] == left.value
    assert wrong.details["chance"] == pytest.approx(1 / 3)
    assert (wrong.details["majority"], wrong.details["majority_label"]) == (pytest.approx(2 / 3), "a")


def test_distinct_annotations_are_the_answers_as_they_were_written():
    """As in the paper's figure: four strings, of which an evaluator makes two labels and a gap."""
    said = ["positive", "Positive.", "positive", None, "no idea", "negative"]
    read = ["positive", "positive", "positive", None, None, "negative"]
    status = ["valid", "valid", "valid", "error", "no_label", "valid"]
    frame = pl.DataFrame({"item": range(6), "label": read, "status": status, "output": said})
    (found,) = distinct_annotations(frame, labels=LABELS)
    assert found.value == 4
    assert found.details == {"answers": 5}  # no answer itself stands in an estimate
    assert "written" in found.method
    (labels,) = distinct_annotations(frame.drop("output"))
    assert (labels.value, labels.details["given"]) == (2, {"negative": 1, "positive": 3})
    (renamed,) = distinct_annotations(frame.rename({"output": "raw"}), columns={"output": "raw"})
    assert renamed.value == 4
    with pytest.raises(MeasureError, match="raw"):
        distinct_annotations(frame, columns={"output": "raw"})


def frame(probabilities):
    items = [f"i{i}" for i in range(len(probabilities))]
    labels = ["a"] * len(items)
    schema = {"item": pl.String, "label": pl.String, "probabilities": pl.List(pl.Float64)}
    return pl.DataFrame({"item": items, "label": labels, "probabilities": probabilities}, schema=schema)


def test_by_hand():
    (found,) = output_uncertainty(frame([[0.5, 0.5, 0], [1, 0, 0], None]))
    assert found.value == pytest.approx(np.log(2) / np.log(3) / 2)
    assert (found.n, found.excluded) == (2, {"no probabilities": 1})


def test_without_probabilities():
    assert output_uncertainty(frame([None, None]))[0].reason == "no label probabilities"
    assert output_uncertainty(frame([[1.0]]).drop("probabilities"))[0].reason == "no label probabilities"


@pytest.mark.parametrize("wrong", [[0.5, 0.4], [1.2, -0.2], [float("nan"), 1.0], [float("inf"), 0.0]])
def test_what_is_no_distribution(wrong):
    with pytest.raises(MeasureError) as caught:
        output_uncertainty(frame([[0.5, 0.5], wrong]))
    assert caught.value.where == "probabilities"
