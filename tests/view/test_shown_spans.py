"""Spans in the viewer: what each prompt marks in a text, those that mark the same together, and people."""

import json

import pytest
from tests.studies import written
from tests.view.viewed import client

import quaver

TEXT = "Ada <b>met</b> Babbage in London. " + "It rained. " * 200 + "Ada left."
STUDY = """\
name: people
task:
  held: false
  fields:
    names: {labels: [{code: person, name: Person}, place], spans: true, gold: marked}
items: {source: items.jsonl, id: id, text: "{{ text }}"}
prompt: {instruction: Find the names.}
variants:
  - {use: instructions, texts: {say: "Say the names.", ask: "What are the names?"}}
models: [{name: m, use: function}]
"""


def _answer(text, prompt):
    """The second prompt leaves out a person, and makes up a place."""
    names = {"Person": ["Ada", "Babbage", "Ada"], "place": ["London"]}
    if "Say" in prompt:
        names = {"Person": ["Ada"], "place": ["London", "Turin"]}
    return json.dumps({"names": names})


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    marked = json.dumps([[0, 3, "person"], [0, 22, "place"]])
    rows = [{"id": "a", "text": TEXT, "marked": marked}, {"id": "b", "text": "Ada met Babbage in London."}]
    path = written(tmp_path_factory.mktemp("spans"), STUDY, "\n".join(map(json.dumps, rows)), "items.jsonl")
    quaver.Study.open(path, functions={"m": _answer}).run(watch=lambda _: None)
    return client(path)


def _quote(browser, **asked):
    return browser.get("api/studies/people-names/answer", params=asked).json()["quote"]


def _marked(parts):
    return [(text, *labels) for text, labels in parts if labels]


def test_prompts_that_mark_the_same_stand_together_with_the_answer_first(browser):
    quote = _quote(browser, item="a", column=2)
    assert [one["columns"] for one in quote["markings"]] == [[2, 0], [1], []]
    whole = [("Ada", "person"), ("Babbage", "person"), ("London", "place"), ("Ada", "person")]
    assert _marked(quote["markings"][0]["parts"]) == whole
    assert _marked(quote["markings"][1]["parts"]) == [("Ada", "person"), ("London", "place")]


def test_words_of_two_spans_have_both_labels_and_long_parts_are_cut(browser):
    people = _quote(browser, item="a", column=0)["markings"][-1]["parts"]
    assert people[:2] == [["Ada", ["person", "place"]], [" <b>met</b> Babbage", ["place"]]]
    assert " … " in people[2][0]
    assert len(people[2][0]) < 1_300


def test_words_that_are_not_in_the_text_are_said(browser):
    quote = _quote(browser, item="b", column=1)
    assert (quote["status"], quote["words"]) == ("invented", "person: Ada; place: London; place: Turin")
    assert len(quote["markings"]) == 2  # nobody marked this text


def test_who_judges_blind_sees_no_spans(browser):
    assert _quote(browser, item="a", column=0, blind=1, part="answer") is None


@pytest.mark.parametrize(
    ("label", "kept"),
    [
        ("place[26:32];person[0:3]", "person[0:3];place[26:32]"),
        ("[]", "[]"),
        ("person[3:3]", None),
        ("beast[0:3]", None),
        ("person", None),
        ("person[0:3]; Ada", None),
    ],
)
def test_a_mark_has_spans_of_known_labels(browser, label, kept):
    sent = browser.post("api/studies/people-names/marks", json={"item": "b", "label": label})
    assert sent.json().get("label") == kept
    assert sent.is_success == (kept is not None)
