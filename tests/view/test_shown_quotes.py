"""Labels with quotes: other words for the same label, in the verdict, in the labels and in the viewer."""

import json
from zipfile import ZipFile

import pytest
from tests.studies import written
from tests.view.viewed import shown

import quaver
from quaver.bundles.packing import bundle
from quaver.bundles.verification import verify

STUDY = """\
name: bills
task:
  held: false
  fields:
    tone: {labels: [good, bad], evidence: true, gold: {column: tone, quote: words}}
    topic: {labels: [tax, rent]}
items: {source: items.csv, id: id, text: "{{ text }}"}
prompt: {instruction: Code this.}
variants:
  - {use: instructions, texts: {say: "Say what this is."}}
models: [{name: m, use: function}]
"""


def _answer(text, prompt):
    """The same label for the first words or, with the other prompt, for the last ones; one is made up."""
    first, last = text.split(" and ")
    quote = last if "Say" in prompt else "nobody wrote this sentence" if text.endswith("11") else first
    return json.dumps({"tone": "bad", "tone quote": quote, "topic": "tax"})


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rows = [f"i{at},Tax is bad and rent is {at},bad,{'Tax is bad' if at % 2 else ''}" for at in range(12)]
    path = written(tmp_path_factory.mktemp("quoted"), STUDY, "\n".join(["id,text,tone,words", *rows]) + "\n")
    quaver.Study.open(path, functions={"m": _answer}).run(watch=lambda _: None)
    return path


@pytest.fixture(scope="module")
def browser(path):
    return shown(path)


def test_the_verdict_says_how_often_the_same_label_has_another_reason(path):
    study = quaver.Study.open(path, functions={"m": _answer})
    (found,) = study.measure("other_reason", field="tone")
    assert (found.value, found.details["pairs"]) == (1.0, 11)
    assert "of two answers with the same label, 100%" in study.fields["tone"].verdict().moves
    assert "4% of the labels have no quote" in study.fields["tone"].verdict().moves
    assert "quote" not in study.fields["topic"].verdict().moves


def test_a_label_has_the_words_that_most_answers_quote(path):
    labels = quaver.Study.open(path, functions={"m": _answer}).labels().filter(field="tone")
    quotes = dict(labels.select("item", "quote").iter_rows())
    assert (quotes["i3"], quotes["i11"]) == ("Tax is bad", "rent is 11")


def test_the_viewer_lists_other_reasons_and_invented_quotes(browser):
    found = browser.get("api/studies/bills-tone/answers", params={"q": "is:other-reason"}).json()
    assert found["total"] == 11  # one of the two answers to each text but one
    found = browser.get("api/studies/bills-tone/answers", params={"q": "is:invented"}).json()
    assert [(one["item"], one["column"]) for one in found["answers"]] == [("i11", 0)]
    assert browser.get("api/studies/bills-topic/answers", params={"q": "is:invented"}).json()["total"] == 0


def test_the_viewer_marks_the_quote_in_the_text_but_not_for_who_judges_blind(browser):
    def answer(field="tone", item="i3", column=1, **more):
        asked = {"item": item, "column": column, **more}
        return browser.get(f"api/studies/bills-{field}/answer", params=asked).json()

    assert answer()["quote"]["parts"] == ["Tax is bad and ", "rent is 3", ""]
    invented = answer(item="i11", column=0)["quote"]
    assert (invented["status"], invented["parts"]) == ("invented", None)
    assert answer("topic")["quote"] is None
    assert answer(blind=1, part="answer")["quote"] is None
    assert "words" not in answer(blind=1)["item"]["fields"]


def test_quotes_are_compared_with_what_people_marked(path):
    # Of six texts with marked words one quote is invented; the other prompt quotes their other half.
    study = quaver.Study.open(path, functions={"m": _answer})
    found = {one.measure: one.value for one in study.measure("quote_match", field="tone", by=["model"])}
    assert found["quote_match_recall"] == pytest.approx(5 / 12)
    assert found["quote_match_precision"] == pytest.approx(50 / (50 + 6 * 9 + 1))  # "rent is 11" has one more


@pytest.mark.parametrize("texts", [pytest.param(True, marks=pytest.mark.long), False])
def test_a_bundle_places_marked_words_again_or_has_none(path, tmp_path, texts):
    study = quaver.Study.open(path, functions={"m": _answer})
    archive, _ = bundle(study, tmp_path / "a.quaver.zip", texts=texts)
    assert not verify(archive).differing
    with ZipFile(archive) as packed:
        assert texts or not any(b"Tax is bad" in packed.read(name) for name in packed.namelist())
