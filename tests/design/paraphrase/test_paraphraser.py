"""Paraphrases that a person wrote, from each kind of file."""

import re

import pytest

from quaver.core.records import Label, LabelSet, Variant
from quaver.design.paraphrase.paraphraser import Draft, File, NoWork, PromptContext
from quaver.errors import ItemError, SpecError, UnknownName

LABELS = LabelSet((Label("a", "a"), Label("b", "b")))
PROMPT = Variant("", {}, "", "{{ text }}{{ question }}", "{{ text }}", "Which?", "", {"a": "a", "b": "b"})


def read(folder, name, text, **options):
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    engine, context = File(path=name, **options), PromptContext(PROMPT, LABELS, 1, home=folder)
    return list(engine.reword(context, Draft(PROMPT.instruction, exact=True), NoWork()))


FILES = {
    "w.csv": 'name,paraphrase\nx,"What, then?"\ny,Which one?\n',
    "w.jsonl": '{"name": "x", "paraphrase": "What, then?"}\n{"name": "y", "paraphrase": "Which one?"}\n',
    "w.tsv": "name\tparaphrase\nx\tWhat, then?\ny\tWhich one?\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_table_names_its_paraphrases(tmp_path, name):
    found = read(tmp_path, name, FILES[name])
    assert [(one.name, one.text) for one in found] == [("x", "What, then?"), ("y", "Which one?")]


def test_a_text_file_is_a_line_a_paraphrase_and_the_original_is_not_taken_twice(tmp_path):
    found = read(tmp_path, "w.txt", "\ufeffWhat?\n\nWhich?\nWhich one?\n")
    assert [(one.name, one.text) for one in found] == [("w1", "What?"), ("w3", "Which one?")]


SEPARATORS = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"]


@pytest.mark.parametrize("one", SEPARATORS)
def test_only_the_end_of_a_line_ends_a_paraphrase(tmp_path, one):
    found = read(tmp_path, "w.txt", f"Is this good{one}or bad?\r\nGood?\n")
    assert [each.text for each in found] == [f"Is this good{one}or bad?", "Good?"]


def test_a_temperature_comes_along(tmp_path):
    found = read(tmp_path, "w.csv", "paraphrase,heat\nWhat?,0.5\nHow?,\n", temperature="heat")
    assert [dict(one.covariates) for one in found] == [{"paraphrase_temperature": 0.5}, {}]


@pytest.mark.parametrize(
    ("name", "text", "kind", "message"),
    [
        ("w.csv", "paraphrases\nWhat?\n", UnknownName, "did you mean|name it: column"),
        ("w.csv", "paraphrase\nWhat?\nWhat?\n", SpecError, "w.csv:3: paraphrase: .*occurs twice"),
        ("w.csv", "name,paraphrase\na,What?\nb,\n", SpecError, "w.csv:3: paraphrase: a paraphrase is empty"),
        ("w.csv", "paraphrase,temperature\nWhat?,hot\n", SpecError, "w.csv:2: temperature: this temperature"),
        ("w.csv", "paraphrase\n", SpecError, "no paraphrase other"),
        ("w.txt", b"\xff\xfe\xff", ItemError, "is not utf-8"),
        ("w.docx", "What?", ItemError, "files that end in '.docx' are not read"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_error(tmp_path, name, text, kind, message):
    with pytest.raises(kind) as raised:
        read(tmp_path, name, text)
    assert re.search(message, str(raised.value))
