"""What a verdict may vouch for: classes, groups, texts without a label, and coders."""

import polars as pl
import pytest

from quaver.core.records import Label, LabelSet
from quaver.measures.evidence.label_flips import likeness
from quaver.measures.evidence.verdict_evidence import verdict_evidence

LABELS = LabelSet(tuple(Label(code, code) for code in "ab"))


def frame(labels, gold, **columns):
    """A row a text, of one prompt."""
    items = [str(at) for at in range(len(labels))]
    return pl.DataFrame({"item": items, "variant": "v", "label": labels, "gold": list(gold), **columns})


def by_name(found):
    names = ("group", "level", "label")
    vouched = "class_", "group_", "label_right", "unlabelled_texts", "coders_differ"
    return {
        (one.measure, *(one.cell[name] for name in names if name in one.cell)): one
        for one in found
        if one.measure.startswith(vouched)
    }


def test_the_recall_of_each_class_in_each_group_and_what_has_no_label():
    labels = ["a", "a", None, "b", "a", "b", "a", None]
    party = ["x", "x", "x", "x", "y", "y", "y", None]
    found = by_name(
        verdict_evidence(frame(labels, "aaabbbba", party=party), labels=LABELS, compared=["party"])
    )
    values = {name: one.value for name, one in found.items()}
    assert values == {
        ("unlabelled_texts",): 0.25,
        ("class_found", "a"): 0.5,
        ("class_found", "b"): 0.5,
        ("label_right", "a"): 0.5,
        ("label_right", "b"): 1.0,
        ("group_wrong", "party", "x"): 0.25,
        ("group_wrong", "party", "y"): pytest.approx(2 / 3),
        ("group_class_found", "party", "x", "a"): pytest.approx(2 / 3),
        ("group_class_found", "party", "x", "b"): 1.0,
        ("group_class_found", "party", "y", "b"): pytest.approx(1 / 3),
    }
    details = found["class_found", "a"].details
    assert (details["texts"], details["found"], details["parts"]) == (4, 2, 7)


def test_coders_are_compared_with_most_of_the_others():
    columns = {"ann": ["a", "a", "b"], "bo": ["a", "b", "b"], "cy": ["a", "b", "a"]}
    found = by_name(
        verdict_evidence(frame(["a", "b", "b"], "abb", **columns), labels=LABELS, coders=[*columns])
    )
    # of the second and third text one coder differs from two that agree; the others face a tie
    assert found["coders_differ",].value == pytest.approx(2 / 5)


def test_on_a_scale_each_group_is_held_against_all_texts_and_steps_that_are_never_given_are_named():
    scale = LabelSet(tuple(Label(code, code) for code in "123"), "ordinal")
    labels = ["1", "1", "3", "3", "3", "1", None]
    party = [*"xxxyyy", None]
    found = by_name(verdict_evidence(frame(labels, "1231132", party=party), labels=scale, compared=["party"]))
    # of the pairs a label and the label of another text, by chance: 1 is two steps from 3, one from 2
    chance = sum((int(one or 0) - int(other)) ** 2 / 4 for one in labels[:-1] for other in "123113") / 36
    assert found["class_found", "2"].details == {"texts": 2, "parts": 3, "found": 0}
    assert found["group_agreement", "party", "x"].value == pytest.approx(1 - (1 / 4) / 3 / chance)
    assert found["group_agreement", "party", "y"].value == pytest.approx(1 - (4 / 4) * 3 / 3 / chance)
    assert [name for name in found if name[0] in ("class_found", "group_wrong")] == [("class_found", "2")]


@pytest.mark.parametrize(
    ("second", "third", "named"),
    [
        ("2" * 14 + "3" * 6, "3" * 14 + "2" * 6, []),
        ("2" * 10 + "3" * 10, "3" * 10 + "2" * 10, []),
        ("3" * 16 + "2" * 4, "2" * 16 + "3" * 4, ["2", "3"]),
    ],
)
def test_two_steps_are_named_where_texts_of_the_higher_one_get_lower_labels(second, third, named):
    scale = LabelSet(tuple(Label(code, code) for code in "1234"), "ordinal")
    given, true = [*"1" * 20, *second, *third, *"4" * 20], "".join(code * 20 for code in "1234")
    found = by_name(verdict_evidence(frame(given, true), labels=scale))
    assert [name[1] for name in found if name[0] == "class_found"] == named


@pytest.mark.parametrize(
    ("level", "expected"),
    [("ordinal", [1.0, 0.75, 0.0]), ("interval", [1.0, 1 - 1 / 81, 0.0]), ("ratio", [1.0, 0.834, 0.0])],
)
def test_how_alike_two_labels_are(level, expected):
    labels = LabelSet(tuple(Label(str(v), str(v), value=v) for v in (1.0, 2.0, 10.0)), level)
    like = likeness(labels)
    assert like[0].tolist() == pytest.approx(expected, abs=1e-3)


def test_a_step_between_neighbours_weighs_little_on_a_scale():
    scale = LabelSet(tuple(Label(code, code) for code in "12345"), "ordinal")
    rows = [
        (str(at), prompt, str(min(5, 1 + at % 5 + (prompt == "w")))) for at in range(50) for prompt in "vw"
    ]
    answers = pl.DataFrame(rows, schema=["item", "variant", "label"], orient="row")
    ordinal, nominal = (
        {one.measure: one.value for one in verdict_evidence(answers, labels=labels)}
        for labels in (scale, LabelSet(scale.labels))
    )
    assert ordinal["flips_prompts"] == nominal["flips_prompts"]
    assert (nominal["flips_agreement"] or 0.0) < 0.3
    assert (ordinal["flips_agreement"] or 0.0) > 0.6


@pytest.mark.parametrize(
    ("bare", "expected"),
    [
        ("the long ones", {"trait": "with more than 51 words", "shared": 8}),
        ("one party", {"trait": "whose party is “x”", "shared": 10}),
        ("every sixth", {}),
    ],
)
def test_what_items_without_a_label_have_in_common_is_named_where_it_is_clear(bare, expected):
    at = range(60)
    is_bare = {"the long ones": lambda n: n >= 50, "one party": lambda n: n % 5 == 0 and n < 50}
    without = is_bare.get(bare, lambda n: n % 6 == 0)
    labels = [None if without(n) else "ab"[n % 2] for n in at]
    party = ["x" if n % 5 == 0 else "y" for n in at]
    answers = frame(labels, "ab" * 30, party=party).with_columns(text_words=pl.Series(at))
    one = by_name(verdict_evidence(answers, labels=LABELS, compared=["party"]))["unlabelled_texts",]
    names = {"trait", "shared"} & {*one.details}
    assert {name: one.details[name] for name in names} == expected


def test_calls_that_all_failed_say_nothing_of_labels():
    answers = frame([None] * 3, "aba").with_columns(status=pl.lit("error"), text_words=pl.Series([3, 4, 5]))
    found = {one.measure: one.value for one in verdict_evidence(answers, labels=LABELS)}
    assert found["failed_calls"] == 1.0
    assert found["label_in_use"] is None
    assert found["correct_answers"] == 0.0
    assert "unlabelled_texts" not in found
