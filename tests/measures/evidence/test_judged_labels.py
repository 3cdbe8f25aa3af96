"""Labels where they are given, and prompts that deviate, with numbers worked by hand."""

import polars as pl
import pytest

from quaver.core.label_values import occurring_numbers
from quaver.core.records import Label, LabelSet
from quaver.measures.evidence.verdict_evidence import verdict_evidence

LABELS = LabelSet(tuple(Label(code, code) for code in "abc"))


def answers(rows, gold):
    """A row an answer: prompts by name, each with a label a text (a blank is none)."""
    return pl.DataFrame(
        [
            (str(at), prompt, label if label != " " else None, gold[at] if gold else None)
            for prompt, labels in rows.items()
            for at, label in enumerate(labels)
        ],
        schema={"item": pl.String, "variant": pl.String, "label": pl.String, "gold": pl.String},
        orient="row",
    )


def named(frame, measure):
    found = verdict_evidence(frame, labels=LABELS)
    return {
        one.cell.get("label", one.cell.get("variant", "")): one
        for one in found
        if one.measure == measure and ("variant" in one.cell) == measure.startswith("prompt_")
    }


def test_a_label_is_right_in_the_share_of_its_uses_that_are_the_gold_label():
    frame = answers({"p": "aabb ", "q": "aaabb"}, gold="aabbc")
    found = named(frame, "label_right")
    # a: four uses right, one of a b; b: two and one right, one of the c; c is never given
    assert {label: one.value for label, one in found.items()} == {
        "a": pytest.approx(4 / 5),
        "b": pytest.approx(3 / 4),
    }
    assert found["a"].details["uses"] == pytest.approx(5 / 9)
    assert found["b"].details["texts"] == 3


def test_what_is_left_without_a_label_that_is_surely_wrong_is_judged_by_itself():
    gold = "a" * 40 + "b" * 40 + "c" * 40
    given = "a" * 40 + "b" * 40 + "b" * 40  # each b of two is a c
    frame = answers({"p": given, "q": given}, gold)
    (others,) = named(frame, "others_wrong").values()
    assert others.value == 0.0
    assert others.details["without"] == ["b"]
    assert others.details["share"] == pytest.approx(2 / 3)
    assert not named(answers({"p": gold, "q": gold}, gold), "others_wrong")


def test_a_prompt_is_held_against_the_others_on_the_same_texts_and_its_move_is_named():
    gold = "aaaabbbbcc"
    frame = answers({"p": gold, "q": gold, "r": "aaaabbbbaa"}, gold)
    found = named(frame, "prompt_worse")
    # r is wrong in 2 of 10, p and q in none; p is that much better than the mean of q and r
    assert found["r"].value == pytest.approx(0.2)
    assert found["p"].value == found["q"].value == pytest.approx(-0.1)
    details = found["r"].details
    assert [details[name] for name in ("source", "target", "moved", "usual")] == ["c", "a", 1.0, 0.0]


def test_without_gold_labels_a_prompt_is_held_against_the_other_prompts_labels():
    same = "aaaabbbbcc"
    frame = answers({"p": same, "q": same, "r": same, "s": "aaaabbbbaa"}, None)
    found = named(frame, "prompt_apart")
    # of the pairs of s and another prompt a fifth differ, of two others none; of p's a third of that
    assert found["s"].value == pytest.approx(0.2)
    assert found["p"].value == pytest.approx(0.2 / 3 - 2 * 0.2 / 3)
    assert found["s"].details["source"] == "c"


def test_without_gold_labels_a_label_is_held_against_what_other_prompts_give():
    found = named(answers({"p": "aaac", "q": "aaca", "r": "aaaa"}, None), "label_kept")
    # a: 3 · 2 pairs in each of two texts, and 4 of 6 about each of the others, of which 2 agree; c: never
    assert found["a"].value == pytest.approx((6 + 6 + 2 + 2) / (6 + 6 + 4 + 4))
    assert found["c"].value == 0.0
    assert found["c"].details["texts"] == 2
    assert not named(answers({"p": "aaac", "q": "aaca"}, "aaaa"), "label_kept")


def test_sets_are_judged_label_by_label():
    sets = ["a", "a;b", "b", "[]", "a;b"]
    labels = LabelSet(tuple(Label(code, code) for code in ("a", "b", "a;b", "[]")), "masi")
    gold = ["a", "a;b", "b", "b", "a"]
    rows = {"item": [str(at) for at in range(5)], "variant": "v", "label": sets, "gold": gold}
    found = verdict_evidence(pl.DataFrame(rows), labels=labels)
    recall = {one.cell["label"]: one.value for one in found if one.measure == "class_found"}
    right = {one.cell["label"]: one.value for one in found if one.measure == "label_right"}
    # gold has a in 3 texts and b in 3; the answers give a 3 times, all right, and b 3 times, twice right
    assert recall == {"a": 1.0, "b": pytest.approx(2 / 3)}
    assert right == {"a": 1.0, "b": pytest.approx(2 / 3)}


def test_numbers_are_held_against_what_the_gold_labels_add_up_to():
    codes = [0.0, 10.0, 30.0, 90.0]
    numbers = occurring_numbers([f"{code:g}" for code in codes], "ratio")
    frame = pl.DataFrame(
        {"item": list("wxyz"), "label": ["0", "30", "90", "10"], "gold": ["0", "10", "30", "10"]}
    )
    found = {one.measure: one.value for one in verdict_evidence(frame, labels=numbers)}
    assert found["gold_total"] == pytest.approx((130 - 50) / 50)
