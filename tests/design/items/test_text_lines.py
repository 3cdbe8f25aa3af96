"""Rows: a column of cells is read as each of its cells is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaver.design.items.table_files import Row, column_texts
from quaver.errors import ItemError

CELLS = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from([" a ", "a", "e\u0301"])
)


@given(st.lists(CELLS, max_size=8))
def test_a_column_is_read_as_each_of_its_cells_is(cells):
    rows = [Row([("label", cell)], "labels.csv", line) for line, cell in enumerate(cells, start=2)]
    assert column_texts(rows, "label") == [row.text("label") for row in rows]


def test_a_column_that_a_row_lacks_is_empty_there():
    rows = [Row([("label", "a")], "labels.jsonl", 1), Row([], "labels.jsonl", 2)]
    assert column_texts(rows, "label") == ["a", ""]


def test_a_cell_of_several_is_an_error_that_names_its_line():
    rows = [Row([("label", "a")], "labels.jsonl", 1), Row([("label", ["b", "c"])], "labels.jsonl", 2)]
    with pytest.raises(ItemError) as caught:
        column_texts(rows, "label")
    assert str(caught.value.where).startswith("labels.jsonl:2: label")
