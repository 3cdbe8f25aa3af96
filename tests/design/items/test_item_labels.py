"""The labels that items come with: each coder's, and the majority's."""

import json

import pytest
from tests.studies import resolved, written

from quaver.design.items.item_labels import majority
from quaver.errors import ItemError, SpecError, UnknownName

STUDY = """
task: {labels: [pos, neg]}
items:
  source: items.csv
  text: "{{ text }}"
  coders: [anna, ben, cleo]
  gold: {coders: majority, map: {p: pos, "?": null}}
prompt: {instruction: Which?}
models: [{name: m, use: function}]
"""
ITEMS = "text,anna,ben,cleo\nA,pos,p,neg\nB,neg,pos,\nC,?,neg,neg\nD,,,\n"


def test_each_coder_has_a_label_of_each_item_and_gold_is_the_majority(tmp_path):
    study = resolved(written(tmp_path, STUDY, ITEMS))
    assert [dict(item.groups) for item in study.items] == [
        {"anna": "pos", "ben": "pos", "cleo": "neg"},
        {"anna": "neg", "ben": "pos", "cleo": ""},
        {"anna": "", "ben": "neg", "cleo": "neg"},
        {"anna": "", "ben": "", "cleo": ""},
    ]
    assert [item.gold for item in study.items] == ["pos", None, "neg", None]
    assert "1 of 4" in " ".join(study.notes), "how many items tie"
    assert "anna, ben and cleo" in " ".join(study.notes)
    text = STUDY.replace("{coders: majority, map", "{column: truth, map")
    items = "text,anna,ben,cleo,truth\nA,pos,pos,neg,neg\n"
    assert resolved(written(tmp_path, text, items)).items[0].gold == "neg", "a column of its own"


@pytest.mark.parametrize(
    ("before", "after", "kind", "said"),
    [
        ("ben, cleo]", "ben, clea]", UnknownName, "cleo"),
        ("[anna, ben, cleo]", "[anna]", SpecError, "two coders"),
        ("{p: pos", "{q: pos", ItemError, "items.csv:2: ben"),
        ("{p: pos", "{p: positive", UnknownName, "pos"),
        ("[anna, ben, cleo]", "[anna, ben, ben]", SpecError, "given twice"),
        ("{coders: majority,", "{coders: majority, column: anna,", SpecError, "coders: majority"),
        ("gold: {coders: majority, map", "gold: {map", SpecError, "column"),
    ],
)
def test_coders_that_cannot_be_read_are_one_error(tmp_path, before, after, kind, said):
    with pytest.raises(kind) as caught:
        resolved(written(tmp_path, STUDY.replace(before, after), ITEMS))
    assert said in str(caught.value)


def test_the_majority_needs_more_than_anyone_else():
    assert majority(["a", "b", "a", ""]) == "a"
    assert majority(["a", "b", "b", "a", "c"]) is None
    assert majority(["", ""]) is None


def test_a_list_of_one_is_that_one(tmp_path):
    """As a file of multiple-choice questions has it: JSON Lines, options by letter, one right answer."""
    options = {"A": "rain", "B": "sun"}
    rows = [{"id": f"q{n}", "stem": "What follows?", "options": options, "answer": ["BA"[n]]} for n in (0, 1)]
    text = (
        "task: {labels: [A, B], options: options}\n"
        'items: {source: quiz.jsonl, id: id, text: "{{ stem }}", gold: answer}\n'
        'prompt: {layout: "{{ text }}\\n{{ options }}\\n{{ question }}", instruction: Which?}\n'
        "models: [{name: one, use: function}]\n"
    )
    lines = "\n".join(map(json.dumps, rows))
    found = resolved(written(tmp_path, text, lines, "quiz.jsonl")).items
    assert [item.gold for item in found] == ["B", "A"]
    with pytest.raises(ItemError, match="answer"):
        resolved(written(tmp_path, text, lines.replace('["B"]', '["A", "B"]'), "quiz.jsonl"))
