"""What goes into a bundle and what stays out: tables, columns, and answers that are no part of the study."""

import json
import zipfile

import pytest
from tests.cli.commands import quaver as command

import quaver
from quaver.bundles.packing import pack_study
from quaver.bundles.verification import verify

STUDY = """\
task: {labels: [positive, negative]}
items: {source: items.csv, id: id, text: "{{ text }}", gold: truth, groups: [party], sample: 5}
prompt: {instruction: Is this positive or negative?}
variants:
  - {use: instructions, texts: {curt: "Positive?"}}
models:
  - {name: good, use: function}
  - {name: bad, use: function}
repeats: 2
measures: [{use: accuracy, resamples: 20}]
"""
ROWS = 9
ITEMS = "id,party,text,truth,respondent,age\n" + "".join(
    f"i{n},{'red' if n % 2 else 'blue'},Text {n} of them.,{'positive' if n % 3 else 'negative'},"
    f"resp-{n}-,{40 + n}\n"
    for n in range(ROWS)
)
FUNCTIONS = {name: (lambda text, prompt: "positive") for name in ("good", "bad")}
CALLS = 5 * 2 * 2 * 2
"""Items, prompts, models, repeats."""

DROPPED = {
    "a model": ("  - {name: bad, use: function}\n", "", CALLS // 2),
    "a prompt": ('variants:\n  - {use: instructions, texts: {curt: "Positive?"}}\n', "", CALLS // 2),
    "repeats": ("repeats: 2", "repeats: 1", CALLS // 2),
    "items": ("sample: 5", "sample: 3", 2 * CALLS // 5),
}
"""What is taken from the study file, and how many stored answers are then no part of the study."""


@pytest.fixture
def file(tmp_path):
    """A study that was run."""
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "items.csv").write_text(ITEMS)
    (folder / "study.yaml").write_text(STUDY)
    quaver.Study.open(folder, functions=FUNCTIONS).run()
    return folder / "study.yaml"


def opened(file):
    there = {name: one for name, one in FUNCTIONS.items() if f"name: {name}," in file.read_text()}
    return quaver.Study.open(file, functions=there)


def content(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode("utf-8", "replace") for name in archive.namelist()}


def test_columns_and_rows_that_the_study_does_not_use_stay(file):
    path, _, said = pack_study(opened(file))
    files = content(path)
    assert "items.csv" not in files
    assert f"{ROWS - 5} rows; the columns respondent, age" in " ".join(said)
    assert {name for item in json.loads(files["items.json"]) for name in item["fields"]} == {
        *("id", "party", "text", "truth")
    }
    assert not any(f"resp-{n}-" in text for n in range(ROWS) for text in files.values())
    assert "respondent, age" in files["README.md"]
    found = verify(path)
    assert not found.differs
    assert "table" in found.unknown


def test_a_table_goes_whole_if_asked(file):
    path, _, said = pack_study(opened(file), tables=True)
    assert content(path)["items.csv"] == ITEMS
    assert not said
    assert any(line.startswith("items and prompts, items.csv") for line in verify(path).compared)
    (file.parent / "items.csv").rename(file.parent.parent / "items.csv")
    file.write_text(STUDY.replace("items.csv", "../items.csv"))
    found = verify(pack_study(opened(file), tables=True)[0])
    assert not found.differs
    assert any(line.startswith("items and prompts, items.csv") for line in found.compared)


@pytest.mark.long
@pytest.mark.parametrize("what", DROPPED)
def test_what_was_dropped_is_said_everywhere(file, what):
    old, new, gone = DROPPED[what]
    assert old in STUDY
    file.write_text(STUDY.replace(old, new))
    path, _, said = pack_study(opened(file))
    line = f"{gone} stored answers are not part of this study"
    files, found = content(path), verify(path)
    assert not found.differs
    assert line in said[0]
    assert line in found.departures[0]
    assert line in files["README.md"].partition("## Read")[0]
    assert line in files["report.html"].partition("<h1>")[2].partition("<dl")[0]
    assert "They are kept in responses.db." in said[0]
    assert "They were left out of the bundle." in pack_study(opened(file), texts=False)[2][0]
    paper = quaver.Study.open(path).paper()
    assert line in paper.details
    assert "whole design was collected" not in paper.details


def test_a_coder_that_was_dropped_is_named(file):
    coded = STUDY.replace("gold: truth", "coders: [anna, ben, cleo], gold: {coders: majority}")
    (file.parent / "items.csv").write_text(
        "id,party,text,anna,ben,cleo\n"
        + "".join(f"i{n},red,Text {n} of them.,positive,negative,positive\n" for n in range(5))
    )
    file.write_text(coded.replace(", cleo", ""))
    opened(file).run()
    _, _, said = pack_study(opened(file))
    assert any("the column cleo" in line for line in said)


@pytest.mark.long
def test_the_command_takes_the_tables_if_asked(file):
    file.write_text(STUDY.replace(*DROPPED["a model"][:2]))
    (file.parent / "model.py").write_text("def good(text, prompt):\n    return 'positive'\n")
    command(file.parent, "run", "study.yaml", "--function", "good=model:good")
    asked = ("bundle", "study.yaml", "--function", "good=model:good")
    said = command(file.parent, *asked).stdout
    assert "the columns respondent, age" in " ".join(said.split())
    assert "They are kept in responses.db." in " ".join(said.split())
    assert "respondent" not in command(file.parent, *asked, "--with-tables").stdout
