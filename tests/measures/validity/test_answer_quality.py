"""The rates of answers without a label, and why they have none."""

import polars as pl
import pytest

from quaver.measures.correctness.factor_effects import factor_effects
from quaver.measures.evidence.verdict_evidence import answer_quality
from quaver.measures.validity.answer_quality import MOST_REASONS, compliance

FRAME = pl.DataFrame(
    {
        "item": [1, 1, 2, 2, 3, 3],
        "repeat": [0, 1] * 3,
        "label": ["a", "b", "a", None, None, None],
        "status": ["valid", "valid", "valid", "refused", "empty", "empty"],
    }
)


def test_it_says_what_the_others_were():
    (found,) = compliance(FRAME)
    assert found.value == 0.5
    assert found.details["without a label"] == {"empty": 2, "refused": 1}
    assert found.details["failures"] == {"empty": 2, "refused": 1}
    assert [e.value for e in compliance(FRAME, by=["repeat"])] == pytest.approx([2 / 3, 1 / 3])


def test_a_rate_of_one_is_not_certain():
    (found,) = compliance(pl.DataFrame({"item": list(range(100)), "label": ["a"] * 100}))
    assert (found.value, found.high) == (1, 1)
    assert found.low == pytest.approx(0.025 ** (1 / 100))
    assert found.details["failures"] == {}


def test_items_without_any_answer_are_counted():
    frame = FRAME.with_columns(status=pl.Series(["valid", "valid", "valid", "error", "error", "error"]))
    failed, bare, _ = answer_quality(frame)
    assert (failed.details["times"], failed.details["calls"], failed.details["items"]) == (3, 6, 1)
    assert (bare.details["times"], bare.details["items"]) == (0, 0)


def failing(*reasons):
    """An item an answer, none of them with a label."""
    frame = pl.DataFrame({"item": range(len(reasons)), "reason": reasons})
    return frame.with_columns(label=pl.lit(None, pl.String), status=pl.lit("no_label"))


def test_alike_reasons_are_counted_together():
    frame = failing('the first character is "T"', 'the first character is "S"', "2 labels found: a, b")
    (found,) = compliance(frame)
    assert list(found.details["failures"].values()) == [2, 1]
    assert next(iter(found.details["failures"])).endswith(" …")


def test_reasons_without_end_are_not_all_listed():
    (found,) = compliance(failing(*(f"reason {number}" for number in range(MOST_REASONS + 5))))
    assert len(found.details["failures"]) == MOST_REASONS + 1
    assert found.details["failures"]["other reasons"] == 5


def test_a_valid_answer_without_a_label_complies():
    # Of scores, 0.5 for each of two labels is what was asked for, and prefers none.
    frame = pl.DataFrame(
        {
            "item": [1, 2, 3, 4],
            "label": ["a", None, None, None],
            "status": ["valid", "valid", "no_label", None],
            "reason": [None, "2 labels share the highest score: a, b", "no score", None],
        }
    )
    (found,) = compliance(frame)
    assert found.value == 0.5
    assert found.details["failures"] == {"no label": 1, "no_label: no score": 1}
    assert found.details["without a label"] == {"no label": 1, "no_label": 1, "valid, without a label": 1}
    by_factor = factor_effects(frame.with_columns(output=pl.Series(["x", "x", "y", "y"])), factors=["output"])
    levels = {e.cell["level"]: e.value for e in by_factor if e.measure == "factor_effects_compliance"}
    assert levels == {"x": 1.0, "y": 0.0}
