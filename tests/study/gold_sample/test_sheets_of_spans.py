"""A sheet for spans: words pasted beside their codes, placed in the text, compared, settled and measured."""

import csv
import json

import pytest
from tests.studies import written

import quaver
from quaver.errors import ItemError, UnknownName

TEXTS = {
    "a": "Ada Lovelace met Charles Babbage in London.",
    "b": "Babbage wrote to Babbage.",
    "c": "It rained in Turin.",
    "d": "Nobody went\nanywhere.",
}
STUDY = """\
name: people
task:
  held: false
  fields:
    names: {labels: [{code: person, name: Person}, place], spans: true, gold: marked}
    mood: {labels: [calm, wild], gold: mood}
items: {source: items.jsonl, id: id, text: "{{ text }}"}
prompt: {instruction: Find who and where.}
models: [{name: m, use: function}]
"""


def _answer(text):
    names = {"Person": [one for one in ("Ada Lovelace", "Babbage") if one in text], "place": []}
    return json.dumps({"names": names, "mood": "calm"})


@pytest.fixture
def study(tmp_path):
    rows = [{"id": item, "text": text, "marked": "", "mood": ""} for item, text in TEXTS.items()]
    rows[2] |= {"marked": "place: Turin"}
    path = written(tmp_path, STUDY, "\n".join(map(json.dumps, rows)), "items.jsonl")
    study = quaver.Study.open(path, functions={"m": _answer})
    study.run(watch=lambda _: None)
    return study


def _filled(path, cells):
    """A sheet with these cells of spans by item, as a spreadsheet saves it."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    back = path.with_name(f"back-{path.name}")
    with back.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"names": cells.get(row["item"], "")} for row in rows)
    return back


ADA = {"a": "person: Ada Lovelace\r\nplace: London", "b": "Person: Babbage\nperson:Babbage", "d": "[]"}
BEN = {**ADA, "a": "person: ada lovelace\nperson: Charles Babbage\nplace: London"}


def test_two_coders_mark_words_and_what_they_settle_on_is_the_gold(study):
    drawn = study.gold.draw(n=4, coders=["ada", "ben"], overlap=1.0, form="csv")
    sheets = {path.stem.rpartition("-")[2]: path for path in drawn.files if "codes" not in path.name}
    text = sheets["ada"].read_text("utf-8-sig")
    assert "place: Turin" in text  # the table has it, and not the mood of this text
    study.gold.take(_filled(sheets["ada"], ADA))
    status = study.gold.take(_filled(sheets["ben"], BEN))
    names = status.fields["names"]
    assert (names.labelled, {*names.open}) == (3, {"a"})
    assert names.open["a"]["ben"] == "person[0:12];person[17:32];place[36:42]"
    assert 0 < names.agreement.value < 1
    (sheet, _) = study.gold.adjudicate("cleo", form="csv")
    assert "person: Ada Lovelace\nperson: Charles Babbage\nplace: London" in sheet.read_text("utf-8-sig")
    study.fields["names"].gold.take(_filled_alone(sheet, BEN["a"]))
    rows = study.fields["names"].annotations().sort("item")
    assert rows["gold"].to_list() == ["person;place", "person", "place", "[]"]
    assert rows["marked_spans"].to_list()[1:] == ["person[0:7];person[17:24]", "place[13:18]", ""]
    found = {one.measure: one.value for one in study.measure("span_match", field="names", by=["model"])}
    assert found["span_match_precision"] == pytest.approx(2 / 3)  # Babbage alone is no Charles Babbage
    assert found["span_match_recall"] == pytest.approx(2 / 6)


def _filled_alone(path, cell):
    """An adjudicator's sheet with one cell for all of its rows."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    back = path.with_name("decided.csv")
    with back.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"label": cell} for row in rows)
    return back


@pytest.mark.parametrize(
    ("cell", "error", "says"),
    [
        ("person: Byron", ItemError, "not in the text"),
        ("animal: Ada", UnknownName, "animal"),
        ("Ada Lovelace", ItemError, "no spans"),
    ],
)
def test_what_cannot_be_placed_is_one_clear_error_and_nothing_is_kept(study, cell, error, says):
    (sheet, _) = study.gold.draw(n=4, form="csv").files
    with pytest.raises(error, match=says):
        study.gold.take(_filled(sheet, {**ADA, "a": cell}))
    assert study.gold.status().fields["names"].labelled == 1


def test_a_workbook_says_how_to_mark(study):
    (sheet,) = study.gold.draw(n=4).files
    from python_calamine import CalamineWorkbook

    says = CalamineWorkbook.from_path(sheet).get_sheet_by_name("Codes").to_python()[0][0]
    assert "a line for each passage" in says
