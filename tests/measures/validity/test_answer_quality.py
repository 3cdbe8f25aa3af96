"""The rates of answers without a label, and why they have none."""

from __future__ import annotations

from itertools import combinations, product

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaver.agreement.alpha import krippendorff_alpha
from quaver.core.records import Label, LabelSet
from quaver.measures.correctness.factor_effects import factor_effects
from quaver.measures.evidence.verdict_evidence import answer_quality
from quaver.measures.validity.answer_quality import (
    MOST_REASONS,
    compliance,
    missing_bounds,
)

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


def failing(*reasons: str) -> pl.DataFrame:
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


def test_by_the_level_of_a_factor():
    frame = pl.DataFrame(
        {"item": [1, 2] * 2, "definition": ["no", "no", "yes", "yes"], "label": ["a", None, None, None]}
    )
    found = compliance(frame, by=["definition"])
    assert [(e.cell["definition"], e.value) for e in found] == [("no", 0.5), ("yes", 0.0)]
    assert [e.details["failures"] for e in found] == [{"no label": 1}, {"no label": 2}]


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


LABELS = LabelSet((Label("a", "a"), Label("b", "b"), Label("c", "c")))


def answers(*items: str, gold: str = "") -> pl.DataFrame:
    """A text an item, a letter an answer; a dot is no label."""
    rows = [
        (f"i{at}", repeat, None if letter == "." else letter, gold[at] if gold else None)
        for at, item in enumerate(items)
        for repeat, letter in enumerate(item)
    ]
    schema = {"item": pl.String, "repeat": pl.Int32, "label": pl.String, "gold": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def values(frame: pl.DataFrame) -> dict[str, float | None]:
    found = missing_bounds(frame, labels=LABELS, resamples=0)
    return {
        one.measure.removeprefix("missing_bounds_") + one.cell.get("label", ""): one.value for one in found
    }


def test_by_hand() -> None:
    # Eight answers, two missing. Right: 3, and 5 with the missing ones. a is given 4 times.
    found = values(answers("aa", "a.", ".b", "ba", gold="aabb"))
    assert (found["accuracy_least"], found["accuracy_most"]) == (5 / 8, 7 / 8)
    assert (found["share_leasta"], found["share_mosta"]) == (4 / 8, 6 / 8)
    assert (found["share_leastc"], found["share_mostc"]) == (0, 2 / 8)
    # aa agrees and ba does not; a. and .b may.
    assert (found["agreement_least"], found["agreement_most"]) == (1 / 4, 3 / 4)


def test_with_nothing_missing_the_two_are_one() -> None:
    frame = answers("ab", "aa", "bb", gold="aab")
    found = values(frame)
    for kind in ("accuracy", "agreement", "alpha"):
        assert found[f"{kind}_least"] == found[f"{kind}_most"]
    alpha = krippendorff_alpha(frame, item="item", rater="repeat", label="label", resamples=0)
    assert found["alpha_least"] == pytest.approx(alpha.value)


@settings(max_examples=40)
@given(st.lists(st.text("ab.", min_size=3, max_size=3), min_size=2, max_size=3))
def test_no_other_labels_give_less_or_more(items: list[str]) -> None:
    found = values(answers(*items))
    seen = []
    gaps = sum(item.count(".") for item in items)
    for filling in product("abc", repeat=gaps):
        letters = iter(filling)
        filled = [[next(letters) if letter == "." else letter for letter in item] for item in items]
        pairs = [pair for item in filled for pair in combinations(item, 2)]
        seen.append(sum(one == other for one, other in pairs) / 3)
        if len(seen) > 800:
            return
    assert found["agreement_least"] == pytest.approx(min(seen) / len(items))
    assert found["agreement_most"] == pytest.approx(max(seen) / len(items))


def test_what_cannot_be_known_says_why() -> None:
    found = {one.measure: one for one in missing_bounds(answers("a", ".", "b"), resamples=0)}
    assert found["missing_bounds_accuracy_least"].reason == "no gold labels"
    assert "fewer than two" in str(found["missing_bounds_agreement_most"].reason)
    assert found["missing_bounds_alpha_most"].value is None
    assert found["missing_bounds_share_most"].details == {"answers": 3, "missing": 1}
