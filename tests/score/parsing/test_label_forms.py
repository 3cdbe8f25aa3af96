import pytest

from quaver.core.calls import Response
from quaver.core.records import Label
from quaver.score.parsing.label_forms import forms_of
from quaver.score.parsing.parsed_answer import Answer
from quaver.testing.tasks import TASKS, task


def mentioned(name, text):
    forms = forms_of(*TASKS[name])
    return [m.codes[0] if m.codes else "not" for m in forms.mentions(Answer(Response(text)))]


@pytest.mark.parametrize(
    ("name", "text", "codes"),
    [
        # Rule 1: what the variant asks for wins over codes and names.
        ("swapped", "A", ["B"]),
        ("swapped", "B, that is Dole", ["A", "B"]),
        ("letters", "A: Clinton", ["clinton", "clinton"]),
        ("digits", "0 (Bill Clinton)", ["clinton", "clinton"]),
        # Rule 2: case and separators.
        ("names", "CLINTON bob_dole Bob-Dole", ["clinton", "dole", "dole"]),
        ("scale", "very\nnegative", ["vn"]),
        # Rule 3: whole words, the longest first.
        ("scale", "very positive", ["vp"]),
        ("names", "Clintons, Doles, condole, dole_", ["dole"]),
        ("tone", "positively", []),
        ("chinese", "这段文字是负面的", ["n"]),
        ("names", "Clinton\u0301", []),
        # Rule 4: numbers.
        ("digits", "0.5 -1 1,000 1% 0-1 10 2,1 +1 1 %", []),
        ("digits", "1. 0, 1) (0)", ["dole", "clinton", "dole", "clinton"]),
        ("numbers", "4/5 or 4 out of 5, 1 to 5", ["pos", "pos"]),
        # Rule 5: letters.
        ("choice", "A voter", []),
        ("choice", "Yes. A voter", []),
        ("choice", "It is A because", ["A"]),
        ("choice", "it is a fact that b is", []),
        ("choice", '(b) c) "d"', ["B", "C", "D"]),
        ("choice", "a", ["A"]),
        ("choice", "First,\nc.\nthen", ["C"]),
        ("choice", "A's B2 C_ D'oh", ["C"]),
        # Rule 6: negations.
        ("tone", "not positive", ["not"]),
        ("tone", "neither positive nor negative", ["not", "not"]),
        ("tone", "without any positive or negative words, neutral", ["not", "not", "neu"]),
        ("tone", "not entirely negative", ["not"]),
        ("choice", 'known as "A False Dichotomy"', []),
        ("tone", "It isn't a very positive text, but negative", ["not", "neg"]),
        ("tone", "not only positive", ["pos"]),
        ("tone", "more negative than positive", ["neg", "not"]),
        ("tone", "not. Positive", ["pos"]),
        ("tone", "non-negative", ["not"]),
        ("tone", "knot positive", ["pos"]),
        ("choice", "Not A but B, cannot be C", ["not", "B", "not"]),
        ("relevance", "not relevant", ["n"]),
        ("relevance", "relevant", ["r"]),
    ],
)
def test_mentions(name, text, codes):
    assert mentioned(name, text) == codes


def test_a_form_that_two_labels_share_belongs_to_both():
    forms = forms_of(*task({"a": "yes", "b": "no"}, Label("a", "good"), Label("b", "Good")))
    assert forms.whole("good") == ("a", "b")
    assert forms.whole("yes") == ("a",)


def test_a_letter_inside_a_longer_form_is_not_found_again():
    forms = forms_of(*task({"a": "A", "b": "Plan A"}, Label("a", "A"), Label("b", "Plan A")))
    answer = Answer(Response("Plan A"))
    assert (forms.first(answer), forms.distinct(answer)) == (("b",), {"b"})


def test_only_the_first_ten_thousand_places_count():
    forms = forms_of(*TASKS["tone"])
    assert forms.distinct(Answer(Response("not positive " * 10_000 + "negative"))) == set()
    assert forms.distinct(Answer(Response("not positive " * 9_999 + "negative"))) == {"neg"}


def test_an_answer_for_a_label_that_does_not_exist_is_no_form():
    labels, variant = task({"a": "yes", "zz": "no"}, Label("a", "good"), Label("b", "bad"))
    assert forms_of(labels, variant).whole("no") == ()
