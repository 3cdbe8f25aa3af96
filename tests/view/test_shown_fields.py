"""A study with several fields: each is shown as a study, with its own labels and the answers of all."""

import json

import pytest
from tests.studies import written
from tests.view.viewed import again, client_of, shown

import quaver
from quaver.errors import UnknownName
from quaver.view.serving import studies_of

STUDY = """\
name: speeches
task:
  held: false
  fields:
    tone: {labels: [good, bad], gold: tone}
    topics: {labels: [tax, war, health], several: true, gold: topics}
    amount: {level: ratio, gold: amount}
items: {source: items.csv, id: id, text: "{{ text }}", groups: [side]}
prompt: {instruction: What does this text say?}
variants:
  - {use: instructions, texts: {curt: "Code this text."}}
models: [{name: m, use: function}]
"""
_SETS = (["tax"], ["tax", "war"], [], ["health"])


def _items(count):
    rows = (
        f"i{at},Text {at},{('good', 'bad')[at % 2]},{';'.join(_SETS[at % 4]) or '[]'},{at * 5},{'ab'[at % 2]}"
        for at in range(count)
    )
    return "\n".join(["id,text,tone,topics,amount,side", *rows]) + "\n"


def _answer(text, prompt):
    """What is true, but for a tone that moves with the prompt, and one that is missing."""
    at = int(text.split()[-1])
    said = {"tone": ("good", "bad")[at % 2], "topics": _SETS[at % 4], "amount": at * 5}
    if at == 1:
        del said["tone"]
    if at == 2 and "Code" in prompt:
        said["tone"] = "bad"
    return json.dumps(said)


def _collected(folder, count=12):
    path = written(folder, STUDY, _items(count))
    quaver.Study.open(path, functions={"m": _answer}).run(watch=lambda _: None)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return _collected(tmp_path_factory.mktemp("shown"))


@pytest.fixture(scope="module")
def browser(path):
    return shown(path)


def test_each_field_is_a_study_with_its_labels(browser):
    found = browser.get("api/studies").json()["studies"]
    assert [one["id"] for one in found] == ["speeches-tone", "speeches-topics", "speeches-amount"]
    assert [one["name"] for one in found] == ["speeches: tone", "speeches: topics", "speeches: amount"]
    assert [one["answers"] for one in found] == [24, 24, 24]
    codes = [
        [label["code"] for label in browser.get(f"api/studies/{one['id']}/design").json()["labels"]]
        for one in found
    ]
    assert codes[0] == ["good", "bad"]
    assert {*codes[1]} == {"tax", "war", "health", "tax;war", "[]"}
    assert codes[2] == [str(at * 5) for at in range(12)]


@pytest.mark.parametrize(
    ("field", "query", "total"),
    [
        ("tone", "label:bad", 11),  # five of the other odd items twice, and one that moved
        ("tone", "label:good", 11),
        ("tone", "-label:good -label:bad", 2),
        ("topics", "label:tax", 6),
        ("topics", 'label:"tax;war"', 6),
        ("amount", "label:15", 2),
    ],
)
def test_a_query_finds_the_field_s_labels(browser, field, query, total):
    found = browser.get(f"api/studies/speeches-{field}/answers", params={"q": query}).json()
    assert found["total"] == total


def test_an_answer_is_shown_with_its_prompt_and_the_field_s_reading(browser):
    answers = [
        browser.get(f"api/studies/speeches-{field}/answer", params={"item": "i3", "column": 0}).json()
        for field in ("tone", "topics", "amount")
    ]
    assert {json.dumps(json.loads(one["response"]["text"])) for one in answers} == {_answer("Text 3", "")}
    assert all(one["prompt"] for one in answers)
    assert [one["reading"]["label"] for one in answers] == ["bad", "health", "15"]


@pytest.mark.parametrize(
    ("field", "written", "kept"),
    [
        ("amount", "17.50", "17.5"),  # which neither the model nor the table has
        ("amount", "-1", None),
        ("amount", "many", None),
        ("topics", "health; tax", "tax;health"),
        ("topics", "[]", "[]"),
        ("topics", "tax;peace", None),
        ("tone", "GOOD", "good"),
        ("tone", "17", None),
    ],
)
def test_a_person_may_write_what_nobody_gave(browser, field, written, kept):
    marks = f"api/studies/speeches-{field}/marks"
    made = browser.post(marks, json={"item": "i1", "label": written, "who": "ada"})
    assert (made.status_code == 200) == (kept is not None)
    assert kept is None or made.json()["label"] == kept
    entry = browser.get(f"api/studies/speeches-{field}/design").json()["entry"]
    assert (
        entry
        == {
            "tone": None,
            "topics": {"number": False, "spans": False, "labels": ["tax", "war", "health"]},
            "amount": {"number": True, "least": 0},
        }[field]
    )


def test_one_field_alone(path):
    assert [*studies_of([path], "tone")] == ["speeches-tone"]
    with pytest.raises(UnknownName, match="tone"):
        studies_of([path], "tones")


def _other_amount(text, prompt):
    return json.dumps({**json.loads(_answer(text, prompt)), "amount": int(text.split()[-1]) * 5 + 1})


def test_answers_that_come_in_are_taken_in(tmp_path):
    """Those with new numbers too, which are then among the labels."""
    path = written(tmp_path, STUDY, _items(12))
    functions = {"m": _other_amount}
    quaver.Study.open(path, functions=functions).run(watch=lambda _: None, requests=4)
    studies = studies_of([path])
    browser = client_of(studies)
    for one in studies.values():
        again(one)
    assert browser.get("api/studies/speeches-amount/answers").json()["total"] == 4
    quaver.Study.open(path, functions=functions).run(watch=lambda _: None)
    for one in studies.values():
        again(one)
    assert browser.get("api/studies/speeches-tone/answers", params={"q": "label:bad"}).json()["total"] == 11
    for at in range(12):
        query = {"q": f"label:{at * 5 + 1}"}
        assert browser.get("api/studies/speeches-amount/answers", params=query).json()["total"] == 2


@pytest.mark.long
def test_a_bundle_shows_each_field(path, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    packed = quaver.bundle(quaver.Study.open(path, functions={"m": _answer}), tmp_path / "all.quaver.zip")[0]
    browser = shown(packed)
    found = browser.get("api/studies").json()["studies"]
    assert [one["id"] for one in found] == ["all-tone", "all-topics", "all-amount"]
    assert [one["name"] for one in found] == ["speeches: tone", "speeches: topics", "speeches: amount"]
    assert browser.get("api/studies/all-topics/answers", params={"q": "label:health"}).json()["total"] == 6
    with pytest.raises(UnknownName, match="tone"):
        studies_of([packed], "tones")
