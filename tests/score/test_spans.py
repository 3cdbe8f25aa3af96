"""Spans: what is asked, how answers are read and placed, and how they compare with what people marked."""

import json

import pytest
from tests.studies import written

import quaver
from quaver.core.spans import Span, in_labels, marked_in, spans_in, written_spans
from quaver.errors import ItemError, QuaverError, UnknownName

TEXTS = {
    "a": "Ada Lovelace met Charles Babbage in London.",
    "b": "Babbage wrote to Babbage the younger.",
    "c": "It rained in Turin and in London.",
    "d": "Nobody went anywhere.",
}
MARKED = {
    "a": [[0, 12, "person"], [17, 32, "person"], [36, 42, "place"]],
    "b": [[0, 7, "person"], [17, 24, "person"]],
    "c": [[13, 18, "place"], [26, 32, "place"]],
    "d": [],
}
GIVEN = {
    "a": {"person": ["Ada Lovelace", "Charles"], "place": ["London"]},
    "b": {"person": ["Babbage", "Babbage"], "place": []},
    "c": {"person": [], "place": ["Turin", "Paris"]},
    "d": {"person": [], "place": []},
}
STUDY = """\
name: people
task:
  held: false
  fields:
    entities: {labels: [{code: person, name: Person}, {code: place, name: Place}], spans: true, gold: marked}
items: {source: items.jsonl, id: id, text: "{{ text }}"}
prompt: {instruction: Find who and where.}
variants:
  - {use: instructions, texts: {say: "Say who and where."}}
models: [{name: m, use: function}]
"""


def _answer(text, prompt):
    (item,) = (item for item, own in TEXTS.items() if own == text)
    given = {name.title(): quotes for name, quotes in GIVEN[item].items()}
    if prompt.startswith("Say") or "\nSay" in prompt:
        given["Person"] = given["Person"][:1]
    return json.dumps({"entities": given})


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    rows = [{"id": item, "text": text, "marked": json.dumps(MARKED[item])} for item, text in TEXTS.items()]
    path = written(tmp_path_factory.mktemp("spans"), STUDY, "\n".join(map(json.dumps, rows)), "items.jsonl")
    study = quaver.Study.open(path, functions={"m": _answer})
    study.run(watch=lambda _: None)
    return study


def test_quotes_are_placed_in_the_text_and_words_that_recur_one_behind_the_other(study):
    frame = study.annotations()
    first = frame.filter(frame["variant"] == frame["variant"][0]).sort("item")
    spans = dict(first.select("item", "spans").iter_rows())
    assert spans == {
        "a": "person[0:12];person[17:24];place[36:42]",
        "b": "person[0:7];person[17:24]",
        "c": "place[13:18]",
        "d": "",
    }
    assert dict(first.select("item", "label").iter_rows()) == {
        "a": "person;place",
        "b": "person",
        "c": "place",
        "d": "[]",
    }
    assert dict(first.select("item", "quote_status").iter_rows())["c"] == "invented"


def test_spans_are_compared_with_what_people_marked(study):
    found = {
        one.measure: one.value for one in study.measure("span_match", field="entities", by=["variant"])[:6]
    }
    # Six spans were given and placed, eight were marked; Charles is half a name.
    assert found["span_match_precision"] == pytest.approx(5 / 6)
    assert found["span_match_recall"] == pytest.approx(5 / 7)
    assert found["span_match_f1"] == pytest.approx(2 * 5 / 13)
    characters = 12 + 7 + 6 + 7 + 7 + 5
    assert found["span_match_overlap_precision"] == 1
    assert found["span_match_overlap_recall"] == pytest.approx(characters / (characters + 8 + 6))


def test_alpha_compares_the_prompts(study):
    (found,) = study.measure("span_alpha", field="entities")
    assert 0 < found.value < 1
    assert [one.value for one in study.measure("span_alpha", field="entities", by=["variant"])] == [
        None,
        None,
    ]


MARKS = [Span("person", 4, 12), Span("place", 20, 26)]


@pytest.mark.parametrize(
    "cell",
    [
        "person[4:12];place[20:26]",
        "person[4:12] ; place[20:26]",
        '[[4, 12, "person"], [20, 26, "place"]]',
        [[4, 12, "person"], [20, 26, "place"]],
        '[{"start": 4, "end": 12, "label": "person"}, {"start": 20, "end": 26, "label": "place"}]',
        '[{"value": {"start": 4, "end": 12, "text": "x", "labels": ["person"]}, "type": "labels"},'
        ' {"value": {"start": 20, "end": 26, "labels": ["place"]}}]',
    ],
)
def test_what_people_marked_is_read_as_other_tools_export_it(cell):
    assert marked_in(cell, "") == MARKS
    assert spans_in(written_spans(MARKS)) == MARKS


def test_empty_cells_are_not_marked_and_empty_lists_are_marked_with_nothing():
    assert marked_in("", "") is None
    assert marked_in(None, "") is None
    assert marked_in("[]", "") == []
    assert marked_in("{}", "") == []


@pytest.mark.parametrize(
    "cell", ["person", "[1, 2]", '[[9, 4, "a"]]', '[[true, 4, "a"]]', "[", "person[4:]", 7, '"x"']
)
def test_a_cell_that_holds_no_spans_is_one_clear_error(cell):
    with pytest.raises(ItemError, match="spans"):
        marked_in(cell, "items.csv, line 2: marked")


def test_a_label_that_is_not_known_is_named():
    with pytest.raises(UnknownName, match="animal"):
        in_labels([Span("animal", 0, 3)], {"person": "person"}, "here")


@pytest.mark.parametrize(
    "answer",
    [
        '{"entities": ["Ada"]}',
        '{"entities": {"person": 3}}',
        '{"entities": {"animal": ["Ada"]}}',
        '{"entities": "person"}',
        "Ada is a person",
    ],
)
def test_an_answer_without_lists_of_quotes_has_no_value(tmp_path, answer):
    item = json.dumps({"id": "a", "text": TEXTS["a"]})
    path = written(tmp_path, STUDY.replace(", gold: marked", ""), item, "items.jsonl")
    study = quaver.Study.open(path, functions={"m": lambda text: answer})
    study.run(watch=lambda _: None)
    assert study.annotations()["label"].to_list() == [None, None]


@pytest.mark.parametrize(
    "field",
    [
        "{labels: [a, b], spans: true, evidence: true}",
        "{labels: ['a[1]', b], spans: true}",
        "{level: ratio, spans: true}",
        "{labels: [], spans: true}",
    ],
)
def test_a_field_that_can_have_no_spans_is_one_clear_error(tmp_path, field):
    head, _, rest = STUDY.partition("    entities")
    study = f"{head}    entities: {field}\n{rest.partition(chr(10))[2]}"
    path = written(tmp_path, study, json.dumps({"id": "a", "text": "x"}), "items.jsonl")
    with pytest.raises(QuaverError):
        quaver.Study.open(path, functions={"m": str})
