import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaver.core.records import Label, LabelSet
from quaver.measures.correctness.f1 import f1

LABELS = LabelSet(tuple(Label(code, code) for code in "abc"))


def frame_of(gold, given):
    schema = {"item": pl.Int64, "gold": pl.String, "label": pl.String}
    return pl.DataFrame({"item": range(len(gold)), "gold": list(gold), "label": list(given)}, schema=schema)


def direct(gold, given):
    """Each label's F1 from precision and recall, and the macro mean over labels that occur."""
    each = {}
    for label in sorted({*gold, *(g for g in given if g)}):
        right = sum(a == b == label for a, b in zip(gold, given, strict=True))
        precision = right / given.count(label) if label in given else 0
        recall = right / gold.count(label) if label in gold else 0
        each[label] = 2 * precision * recall / (precision + recall) if right else 0.0
    return each, float(np.mean(list(each.values())))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["a", "b", "c", None])), min_size=1))
def test_equals_its_definition(pairs):
    gold, given = [g for g, _ in pairs], [a for _, a in pairs]
    found = {(e.measure, e.cell.get("label")): e for e in f1(frame_of(gold, given), resamples=0)}
    each, macro = direct(gold, given)
    assert found["f1_macro", None].value == pytest.approx(macro)
    for label, value in each.items():
        assert found["f1_label", label].value == pytest.approx(value)


def test_micro_is_accuracy_where_all_is_answered_and_not_otherwise():
    assert f1(frame_of("aabb", "abbb"))[1].value == pytest.approx(0.75)
    frame = frame_of(list("aabb"), ["a", "b", None, "b"])
    # TP 2, answers 3, gold labels 4: 2·2 / 7; left out: 2 of 3
    assert f1(frame)[1].value == pytest.approx(4 / 7)
    assert f1(frame, missing="drop")[1].value == pytest.approx(2 / 3)


def test_labels_that_do_not_occur_have_no_f1_and_do_not_count():
    found = f1(frame_of("aabb", "abbb"), labels=LABELS)
    assert found[0].value == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert found[-1].cell == {"label": "c"}
    assert found[-1].value is None
    assert "occur" in str(found[-1].reason)
    assert found[0].details["labels"] == 2


def test_precision_is_of_what_was_given_and_recall_of_what_is_true():
    # b is given 4 times, 2 of them rightly, and is the gold label of 3
    (of_b,) = [one for one in f1(frame_of("bbbaa", "bbabb")) if one.cell.get("label") == "b"]
    assert (of_b.details["precision"], of_b.details["recall"]) == (2 / 4, pytest.approx(2 / 3))


def test_the_unanswered_as_a_class_of_their_own():
    """As scikit-learn counts a class N/A; the micro-F1 is then accuracy, and the macro-F1 knows the class."""
    gold, given = list("aabbcc"), ["a", None, "b", "b", None, "a"]
    frame = pl.DataFrame({"item": range(6), "label": given, "gold": gold})
    macro, micro, *each = f1(frame, missing="category")
    assert micro.value == pytest.approx(3 / 6)
    # a: 1 right of 2 given and 2 gold; b: 2 of 2 and 2; c: none of 0 and 2; N/A: none of 2 and 0.
    assert [one.value for one in each] == pytest.approx([1 / 2, 1.0, 0.0, 0.0])
    assert macro.value == pytest.approx((1 / 2 + 1 + 0 + 0) / 4)
    assert each[-1].cell["label"] == "no label"
    assert "class" in micro.method
    assert micro.low is None or micro.low <= micro.value <= micro.high
    whole = frame.with_columns(label=pl.col("label").fill_null("a"))
    assert [one.value for one in f1(whole, missing="category")[:2]] == [one.value for one in f1(whole)[:2]]


def test_labels_without_gold_lower_the_macro_f1_and_are_warned_of():
    """Of 12 a all, of 10 b 8 and of 2 c none are right, and d is nobody's gold label."""
    frame = pl.DataFrame(
        {
            "item": range(24),
            "label": ["a"] * 12 + ["b"] * 8 + ["d"] * 2 + ["b"] * 2,
            "gold": ["a"] * 12 + ["b"] * 10 + ["c"] * 2,
        }
    )
    macro, *_ = f1(frame)
    assert macro.value == pytest.approx((1 + 16 / 20 + 0 + 0) / 4)
    assert macro.details["with_gold"] == 3
    assert any("occurs nowhere" in text for text in macro.warnings)
