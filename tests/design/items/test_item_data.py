"""Tables that Python holds: every library's frame gives the rows that a file with the same cells gives."""

import json
from datetime import date, datetime

import jinja2
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.studies import resolved, written

from quaver.design.items.item_data import column_template, items_from, name_of_items, written_items
from quaver.errors import ItemError, SpecError, UnknownName

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

COLUMNS = {"id": [1, 2, 3], "text": ["a", "b\nc", ""], "gold": ["x", None, "y"]}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


class Capsule:
    """A table of a library that nobody knows, which speaks Arrow."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, schema=None):
        return self._table.__arrow_c_stream__(schema)


@pytest.mark.parametrize(
    "make",
    [
        pl.DataFrame,
        pl.LazyFrame,
        pandas.DataFrame,
        lambda columns: pandas.DataFrame(columns, index=[7, 7, 9]),
        pyarrow.table,
        lambda columns: Capsule(pyarrow.table(columns)),
        lambda columns: pyarrow.table(columns).to_reader(),
        lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        dict,
    ],
)
def test_every_table_gives_the_same_rows(make):
    found = items_from(make(COLUMNS), where="mine")
    assert found == ROWS
    assert found[1].where == "mine: row 2"


@pytest.mark.parametrize(
    "texts", [["a", "b"], ("a", "b"), pl.Series(["a", "b"]), np.array(["a", "b"]), pyarrow.array(["a", "b"])]
)
def test_texts_alone_are_the_column_text(texts):
    assert items_from(texts) == [{"text": "a"}, {"text": "b"}]


def test_whole_numbers_of_a_column_with_gaps_have_no_decimals():
    frame = pandas.DataFrame({"code": [1, None, 3], "share": [1.0, 0.5, None], "mixed": [1.0, "x", None]})
    found = items_from(frame)
    assert [row["code"] for row in found] == [1, None, 3]
    assert [row["share"] for row in found] == [1.0, 0.5, None]
    assert [row["mixed"] for row in found] == [1.0, "x", None]
    assert items_from(pandas.Series(["a"], name="tweet")) == [{"tweet": "a"}]


def test_cells_become_what_a_file_of_text_can_hold():
    frame = pandas.DataFrame(
        {
            "day": [datetime(2024, 1, 31), datetime(2024, 1, 31, 9, 30), None],
            "on": [date(2024, 1, 31), None, None],
            "kind": pandas.Categorical(["u", None, "v"]),
            "count": pandas.array([1, None, 3], dtype="Int64"),
            "sure": [True, False, None],
            "options": [["a", "b"], np.array([1, 2]), None],
            "far": [float("inf"), 1.5, None],
        }
    )
    first, second, third = items_from(frame)
    assert first == {
        "day": "2024-01-31",
        "on": "2024-01-31",
        "kind": "u",
        "count": 1,
        "sure": True,
        "options": ["a", "b"],
        "far": "inf",
    }
    assert second["day"] == "2024-01-31 09:30:00"
    assert second["options"] == [1, 2]
    assert set(third.values()) == {None, "v", 3}


@pytest.mark.parametrize(
    "data", [3, None, object(), {"a": 1}, {"a": "xyz"}, ["a", 3], [3], {"a": [1], "b": []}, b"x"]
)
def test_what_is_no_table_is_one_error(data):
    with pytest.raises(ItemError) as caught:
        items_from(data, where="my data")
    assert str(caught.value.where).startswith("my data")


@given(st.lists(st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.integers() | st.text())))
def test_rows_survive_the_file_that_keeps_them(rows):
    found = items_from(rows)
    content = written_items(found)
    again = [json.loads(line) for line in content.decode("utf-8").split("\n")[:-1]]
    assert json.dumps(again, sort_keys=True) == json.dumps(found, sort_keys=True) or b"\\ud" in content
    assert name_of_items(content) == name_of_items(written_items(items_from(rows)))


@pytest.mark.parametrize(
    "name", ["text", "My text", "it's", 'say "a"', "item", "true", "é", "a\\b", "{{ x }}"]
)
def test_any_column_has_a_template(name):
    context = {name: "found"} | {"item": {name: "found"}}
    assert jinja2.Environment().from_string(column_template(name)).render(context) == "found"


STUDY = """
task: {labels: [positive, negative]}
items:
  source: items.csv
  text: "{{ text }}"
  gold: truth
  where: {language: en}
prompt: {instruction: Which?}
models: [{name: m, use: function}]
"""
ITEMS = """text,truth,language,year
Good,positive,en,2019
Gut,positive,de,2020
Bad,negative,en,2021
Fine,positive,en,
"""
POOL = """text,truth
Great,positive
 bad ,negative
Awful,negative
Lovely,positive
GOOD,positive
"""


def test_only_rows_that_meet_the_conditions_are_items_and_keep_their_numbers(tmp_path):
    found = resolved(written(tmp_path, STUDY, ITEMS)).items
    assert [(item.id, item.fields["text"]) for item in found] == [("1", "Good"), ("3", "Bad"), ("4", "Fine")]
    text = STUDY.replace("{language: en}", "{language: [en, de], year: {at_least: 2020}}")
    assert [item.id for item in resolved(written(tmp_path, text, ITEMS)).items] == ["2", "3"]


def test_a_list_is_chosen_by_its_length(tmp_path):
    """As the hub has multiple choice: a list, an object with the texts, or either as JSON in a CSV."""
    items = 'text,choices\nx,"[""a"", ""b""]"\ny,"{""text"": [""a""], ""label"": [1, 2]}"\nz,a\n'
    text = STUDY.replace("  gold: truth\n", "").replace("{language: en}", "{choices: {entries: 2}}")
    assert [item.id for item in resolved(written(tmp_path, text, items)).items] == ["1"]
    with pytest.raises(ItemError, match=r"2 \(1\), 1 \(1\), 0 \(1\)"):
        resolved(written(tmp_path, text.replace("entries: 2", "entries: 3"), items))


@pytest.mark.parametrize(
    "variants", ["{use: shots, k: 4}", "{use: prompts, prompts: {one-shot: {examples_of_each: 1}}}"]
)
def test_examples_come_from_the_other_table_and_never_are_texts_that_are_labelled(tmp_path, variants):
    (tmp_path / "train.csv").write_text(POOL + "Dreadful,negative\n")
    text = STUDY.replace("  where: {language: en}", "  examples: train.csv") + f"variants: [{variants}]\n"
    found = resolved(written(tmp_path, text, ITEMS))
    shown = [one for variant in found.variants for one in variant.examples]
    assert shown
    assert {one.fields["text"] for one in shown} <= {"Great", "Awful", "Lovely", "Dreadful"}
    assert len(found.items) == 4


def test_a_table_of_examples_has_conditions_and_columns_of_its_own(tmp_path):
    (tmp_path / "train.csv").write_text("nr,text,code,set\n7,Great,p,train\n8,Awful,n,test\n9,Poor,n,train\n")
    gold = "{column: code, map: {p: positive, n: negative}}"
    pool = f"  examples: {{source: train.csv, id: nr, gold: {gold}, where: {{set: train}}}}"
    text = STUDY.replace("  where: {language: en}", pool) + "variants: [{use: shots, k: 2}]\n"
    shown = resolved(written(tmp_path, text, ITEMS)).variants[0].examples
    assert {(one.id, one.gold) for one in shown} == {("7", "positive"), ("9", "negative")}
    with pytest.raises(SpecError) as caught:
        resolved(written(tmp_path, text.replace("k: 2", "k: 3"), ITEMS))
    assert "shots" in str(caught.value.where) or "variants" in str(caught.value.where)
    with pytest.raises(UnknownName) as unknown:
        resolved(written(tmp_path, text.replace("id: nr", "id: number"), ITEMS))
    assert "items.examples.id" in str(unknown.value.where)
