"""Spans that people marked with other tools: brat's folders, and tables with a row for each span."""

import json

import pytest
from tests.studies import written

import quaver
from quaver.bundles.packing import bundle
from quaver.bundles.verification import verify
from quaver.errors import QuaverError

STUDY = """\
name: people
task:
  held: false
  fields:
    names: {labels: [person, place], spans: true, gold: GOLD}
items: {source: SOURCE, id: id, text: "{{ text }}"}
prompt: {instruction: Find who and where.}
models: [{name: m, use: function}]
"""
TEXTS = {
    "a": "\nAda Lovelace – née Byron –\nmet Babbage in London.\n",
    "b": "Nobody came.",
    "c": "It rained.",
    "d": "Ada.",
}
ANN = """\
T1\tPerson 1 13\tAda Lovelace
T2\tperson 32 39\tBabbage
*\tEquiv T1 T2
R1\tKnows Arg1:T1 Arg2:T2
T3\tplace 1 4;43 49\tAda London
A1\tSure T3
#1\tAnnotatorNotes T1\tthe countess
"""


def _answer(text):
    names = [name for name in ("Ada Lovelace", "Babbage") if name in text]
    return json.dumps({"names": {"person": names, "place": []}})


def _marked(path):
    study = quaver.Study.open(path, functions={"m": _answer})
    study.run(watch=lambda _: None)
    found = {one.measure: one.value for one in study.measure("span_match", field="names")}
    return dict(study.annotations().select("item", "marked_spans").iter_rows()), found["span_match_recall"]


def test_a_folder_of_brat_is_texts_with_spans(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    (folder / "a.ann").write_text(ANN, encoding="utf-8")
    (folder / "b.ann").touch()
    (folder / "d.ann").write_text("#1\tAnnotatorNotes T1\tnothing here\n", encoding="utf-8")
    study = STUDY.replace("GOLD", "marked").replace("SOURCE", "corpus")
    path = written(tmp_path, study, "", "unused.csv")
    marked, recall = _marked(path)
    assert marked == {"a": "place[1:4];person[1:13];person[32:39];place[43:49]", "b": "", "c": None, "d": ""}
    assert recall == 2 / 4


@pytest.mark.parametrize(
    "table",
    [
        "ID,Start,End,Label\na,1,13,Person\na,32,39,person\nb,,,\n",
        "id,label,quote\na,person,Ada Lovelace\na,person,babbage\nb,,\n",
    ],
)
def test_a_table_has_a_row_for_each_span(tmp_path, table):
    study = STUDY.replace("GOLD", "{source: spans.csv}").replace("SOURCE", "items.jsonl")
    rows = [json.dumps({"id": name, "text": text}) for name, text in TEXTS.items()]
    (tmp_path / "spans.csv").write_text(table, encoding="utf-8")
    marked, recall = _marked(written(tmp_path, study, "\n".join(rows), "items.jsonl"))
    assert marked == {"a": "person[1:13];person[32:39]", "b": "", "c": None, "d": None}
    assert recall == 1


@pytest.mark.parametrize(("more", "packed"), [("", True), ("z,person,Ada\n", False)])
def test_a_bundle_holds_the_table_unless_it_is_of_other_texts_too(tmp_path, more, packed):
    study = STUDY.replace("GOLD", "{source: spans.csv}").replace("SOURCE", "items.jsonl")
    (tmp_path / "spans.csv").write_text(f"Id,label,quote\na,person,Ada Lovelace\n{more}", encoding="utf-8")
    rows = [json.dumps({"id": name, "text": text}) for name, text in TEXTS.items()]
    path = written(tmp_path, study, "\n".join(rows), "items.jsonl")
    opened = quaver.Study.open(path, functions={"m": _answer})
    opened.run(watch=lambda _: None)
    archive, _ = bundle(opened, tmp_path / "a.quaver.zip")
    found = verify(archive)
    assert not found.differing
    assert any("spans.csv" in line for line in found.not_compared) is not packed


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("id,start,label\na,1,person\n", "no spans"),
        ("id,start,end,label\na,1,x,person\n", "spans.csv:2: this row is no span"),
        ("id,start,end,label\na,1,4,\n", "this row is no span"),
        ("id,start,end,label\na,4,1,person\n", "no spans"),
        ("id,start,end,label\na,1,4,animal\n", "animal"),
        ("id,start,end,label\nz,1,4,person\n", "none of the spans"),
    ],
)
def test_a_table_that_has_no_spans_is_one_clear_error(tmp_path, table, says):
    study = STUDY.replace("GOLD", "{source: spans.csv}").replace("SOURCE", "items.jsonl")
    (tmp_path / "spans.csv").write_text(table, encoding="utf-8")
    path = written(tmp_path, study, json.dumps({"id": "a", "text": TEXTS["a"]}), "items.jsonl")
    with pytest.raises(QuaverError, match=says):
        _ = quaver.Study.open(path, functions={"m": _answer}).experiment


def test_a_field_without_spans_or_a_folder_without_texts_is_one_clear_error(tmp_path):
    study = STUDY.replace("spans: true, gold: GOLD", "gold: {source: spans.csv}").replace("SOURCE", "i.csv")
    with pytest.raises(QuaverError, match="spans"):
        quaver.Study.open(written(tmp_path, study, "id,text\na,b\n", "i.csv"))
    (tmp_path / "corpus").mkdir()
    path = written(tmp_path, STUDY.replace("GOLD", "marked").replace("SOURCE", "corpus"), "", "i.csv")
    with pytest.raises(QuaverError, match="no texts"):
        _ = quaver.Study.open(path, functions={"m": _answer}).experiment
