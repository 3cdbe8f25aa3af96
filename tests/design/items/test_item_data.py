"""Tables that Python holds: every library's frame gives the rows that a file with the same cells gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaver.design.items.item_data import column_template, is_data, items_from, name_of_items, written_items
from quaver.errors import ItemError

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

COLUMNS: dict[str, list[Any]] = {"id": [1, 2, 3], "text": ["a", "b\nc", ""], "gold": ["x", None, "y"]}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


class Capsule:
    """A table of a library that nobody knows, which speaks Arrow."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, schema: object = None) -> object:
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
def test_every_table_gives_the_same_rows(make: Callable[[Any], Any]) -> None:
    found = items_from(make(COLUMNS), where="mine")
    assert found == ROWS
    assert found[1].where == "mine: row 2"


def test_a_file_is_read_as_any_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,text\n1,a\n")
    assert items_from(tmp_path / "x.csv") == items_from(str(tmp_path / "x.csv")) == [{"id": "1", "text": "a"}]


@pytest.mark.parametrize(
    "texts", [["a", "b"], ("a", "b"), pl.Series(["a", "b"]), np.array(["a", "b"]), pyarrow.array(["a", "b"])]
)
def test_texts_alone_are_the_column_text(texts: Any) -> None:
    assert items_from(texts) == [{"text": "a"}, {"text": "b"}]


def test_a_series_keeps_its_name() -> None:
    assert items_from(pandas.Series(["a"], name="tweet")) == [{"tweet": "a"}]


def test_whole_numbers_of_a_column_with_gaps_have_no_decimals() -> None:
    frame = pandas.DataFrame({"code": [1, None, 3], "share": [1.0, 0.5, None], "mixed": [1.0, "x", None]})
    found = items_from(frame)
    assert [row["code"] for row in found] == [1, None, 3]
    assert [row["share"] for row in found] == [1.0, 0.5, None]
    assert [row["mixed"] for row in found] == [1.0, "x", None]


def test_cells_become_what_a_file_of_text_can_hold() -> None:
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
def test_what_is_no_table_is_one_error(data: Any) -> None:
    with pytest.raises(ItemError) as caught:
        items_from(data, where="my data")
    assert str(caught.value.where).startswith("my data")


def test_which_values_are_tables() -> None:
    assert all(map(is_data, (pl.DataFrame(), pandas.DataFrame(), [])))
    assert not any(map(is_data, (None, "items.csv", Path("items.csv"), {"source": "items.csv"}, 3)))


@given(st.lists(st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.integers() | st.text())))
def test_rows_survive_the_file_that_keeps_them(rows: list[dict[str, Any]]) -> None:
    found = items_from(rows)
    content = written_items(found)
    again = [json.loads(line) for line in content.decode("utf-8").split("\n")[:-1]]
    assert json.dumps(again, sort_keys=True) == json.dumps(found, sort_keys=True) or b"\\ud" in content
    assert name_of_items(content) == name_of_items(written_items(items_from(rows)))


@pytest.mark.parametrize(
    "name", ["text", "My text", "it's", 'say "a"', "item", "true", "é", "a\\b", "{{ x }}"]
)
def test_any_column_has_a_template(name: str) -> None:
    context = {name: "found"} | {"item": {name: "found"}}
    assert jinja2.Environment().from_string(column_template(name)).render(context) == "found"
