"""Columns written into a spreadsheet, and everything that was there left as it was."""

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook
from tests.spreadsheets import write_xlsx

from quaver.design.items.spreadsheet_engine import shown
from quaver.study.labelling.spreadsheet_edits import write_spreadsheet


def cells(path, sheet):
    """Every cell of a sheet, as another program reads it."""
    rows = CalamineWorkbook.from_path(path).get_sheet_by_name(sheet).to_python()
    return [tuple(None if cell == "" else shown(cell) for cell in row) for row in rows]


def edited(source, sheet, heads, rows):
    target = source.with_stem("edited")
    write_spreadsheet(source, target, sheet, heads, rows)
    return target


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=20)
VALUES = (
    st.none()
    | st.integers(-9, 10**9)
    | TEXTS.filter(lambda text: text != "" and "\x00" not in text and text.isprintable())
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=6),
    st.dictionaries(st.integers(2, 7), st.tuples(TEXTS | st.none()), max_size=6),
)
def test_any_table_and_any_labels(tmp_path, rows, new):
    """Control characters, which no spreadsheet can hold, become U+FFFD; all else comes back as it was."""
    source = write_xlsx(tmp_path / "t.xlsx", [("a", "b"), *rows])
    found = cells(edited(source, "Sheet1", ("label",), new), "Sheet1")
    before = cells(source, "Sheet1")
    width = len(before[0])
    assert [row[:width] for row in found[: len(before)]] == before
    for number, row in enumerate(found[1 : len(rows) + 1], start=2):
        holds = any(
            cell not in (None, "") for cell in rows[number - 2]
        )  # an empty row is none of the table's
        label = new.get(number, (None,))[0] if holds else None
        assert (row[width] or "") == written(label or ""), number


def written(text):
    return pl.Series([text]).str.replace_all(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{fffe}\x{ffff}]", "\ufffd").item()
