"""Spreadsheets as tables: what a cell becomes, which sheet is read, and where a table is not one."""

from datetime import date, datetime, time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spreadsheets import replaced, write_ods, write_xlsx
from tests.studies import STUDY, resolved, written

from quaver.design.items.spreadsheet_files import sheets_of
from quaver.design.items.table_files import read_rows
from quaver.errors import ItemError, QuaverError, SpecError, UnknownName

TABLE = [
    ("id", "text", "label", "day", "seen"),
    (1, "  hello\nworld ", 1.0, date(2024, 1, 31), True),
    (None, None, None, None, None),
    (22, "=1+1", 2.5, date(2024, 2, 1), False),
    ("007", "", "none", None, None),
]
READ = [
    {"id": "1", "text": "  hello\nworld ", "label": "1", "day": "2024-01-31", "seen": "TRUE"},
    {"id": "22", "text": "=1+1", "label": "2.5", "day": "2024-02-01", "seen": "FALSE"},
    {"id": "007", "text": "", "label": "none", "day": "", "seen": ""},
]


@pytest.mark.parametrize("ending", ["xlsx", "xlsm", "XLSX"])
def test_every_cell_is_the_text_that_the_spreadsheet_shows(tmp_path, ending):
    path = write_xlsx(tmp_path / f"t.{ending}", TABLE)
    rows = read_rows(path)
    assert rows == READ
    assert [row.where for row in rows] == [f"t.{ending}: row {number}" for number in (2, 4, 5)]


def test_a_sheet_is_named_where_several_hold_a_table(tmp_path):
    sheets = {"Notes": [("about",), ("x",)], "My data": TABLE, "Sheet3": []}
    for path in (write_xlsx(tmp_path / "t.xlsx", sheets), write_ods(tmp_path / "t.ods", sheets)):
        with pytest.raises(ItemError, match="several sheets") as caught:
            read_rows(path)
        assert caught.value.found == f"My data ({', '.join(map(str, TABLE[0]))}); Notes (about)"
        assert 'sheet: "My data"' in str(caught.value.fix)
        assert len(read_rows(path, sheet="My data")) == 3
        with pytest.raises(UnknownName) as unknown:
            read_rows(path, sheet="My dat")
        assert "My data" in str(unknown.value.fix)
    with pytest.raises(SpecError):
        read_rows(tmp_path / "t.csv", sheet="My data")


@pytest.mark.parametrize("beside", [("id", "text"), ("Collected in May.",)])
def test_a_sheet_without_a_header_and_rows_is_none_to_choose_from(tmp_path, beside):
    sheets = {"one": [beside], "two": TABLE}
    for path in (write_xlsx(tmp_path / "t.xlsx", sheets), write_ods(tmp_path / "t.ods", sheets)):
        assert len(read_rows(path)) == 3
        assert read_rows(path, sheet="one") == []


@pytest.mark.parametrize(("rows", "is_plain"), [(19, False), (20, True)])
def test_a_sheet_with_ten_times_the_rows_of_the_others_needs_no_name(tmp_path, rows, is_plain):
    sheets = {"Codebook": [("label",), ("a",)], "Data": [("text",), *[("x",)] * (rows - 1)]}
    path = write_xlsx(tmp_path / "t.xlsx", sheets)
    assert sheets_of(path) == ({"Data": ["text"], "Codebook": ["label"]}, "Data" if is_plain else "")
    if is_plain:
        assert read_rows(path)[0].where == "t.xlsx (sheet Data): row 2"


def test_an_ods_file_is_read_like_an_xlsx_file(tmp_path):
    def on_a_line(rows):
        return [{**row, "text": " ".join(row["text"].split())} for row in rows]

    assert on_a_line(read_rows(write_ods(tmp_path / "t.ods", TABLE))) == on_a_line(READ)


def test_times_errors_and_large_numbers(tmp_path):
    row = (time(9, 30), datetime(2024, 1, 31, 9, 30), 123456789012345, 0.1 + 0.2, -3)
    path = write_xlsx(tmp_path / "t.xlsx", [("a", "b", "c", "d", "e"), row])
    shown = ["09:30:00", "2024-01-31 09:30:00", "123456789012345", "0.3", "-3"]
    assert list(read_rows(path)[0].values()) == shown


def test_a_table_may_begin_anywhere_and_have_empty_columns(tmp_path):
    rows = [[], [], [None, "id", None, "text"], [None, 1, None, "x"], [], [" ", 2, None, "y"], [None, "  "]]
    found = read_rows(write_xlsx(tmp_path / "t.xlsx", rows))
    assert found == [{"id": "1", "text": "x"}, {"id": "2", "text": "y"}]
    assert found[1].where == "t.xlsx: row 6"
    index = [(None, "text"), (0, "x"), (1, "y")]
    assert read_rows(write_xlsx(tmp_path / "t.xlsx", index)) == [
        {"": "0", "text": "x"},
        {"": "1", "text": "y"},
    ]
    assert read_rows(write_xlsx(tmp_path / "t.xlsx", {"Sheet1": [], "Sheet2": TABLE})) == READ
    for nothing in (write_xlsx(tmp_path / "t.xlsx", []), write_ods(tmp_path / "t.ods", [])):
        assert read_rows(nothing) == []
    assert read_rows(write_xlsx(tmp_path / "u.xlsx", [("id", "text")])) == []


@pytest.mark.parametrize(
    ("rows", "where", "fix"),
    [
        ([("Texts",), (), ("id", "text"), (1, "x", "a")], "row 1", "delete the rows above"),
        ([("id", None, None), (1, "x", "a"), (2, "y", None)], "row 1", "delete the rows above"),
        ([("id", "text", None), (1, "x", "a")], "row 1", "column C"),
        ([("id", "text", "text"), (1, "x", "a")], "row 1", "rename"),
    ],
)
def test_a_header_that_does_not_name_every_column_is_an_error(tmp_path, rows, where, fix):
    with pytest.raises(ItemError) as caught:
        read_rows(write_xlsx(tmp_path / "t.xlsx", rows))
    assert str(caught.value.where).endswith(where)
    assert fix in str(caught.value.fix)


def test_merged_cells_in_the_table_are_an_error_that_names_them(tmp_path):
    rows = [(), ("id", "author"), (1, None), (2, None), (3, "x")]
    with pytest.raises(ItemError, match="merged") as caught:
        read_rows(write_xlsx(tmp_path / "t.xlsx", rows, merged=["B3:B4"]))
    assert "B3:B4" in str(caught.value.where)
    above = [(), (), ("id", "author"), (1, "y")]
    path = write_xlsx(tmp_path / "u.xlsx", above)
    assert read_rows(path) == [{"id": "1", "author": "y"}]


def test_a_study_reads_its_items_from_a_sheet(tmp_path):
    items = [("id", "text", "truth"), (1, "x", "positive"), (2, "y", "negative"), (3, "z", None)]
    write_xlsx(tmp_path / "items.xlsx", {"a": items, "b": TABLE})
    text = STUDY.replace("source: items.csv", "source: items.xlsx\n  sheet: a")
    found = resolved(written(tmp_path, text)).items
    assert [(item.id, item.gold) for item in found] == [("1", "positive"), ("2", "negative"), ("3", None)]
    with pytest.raises(QuaverError, match="unknown sheet"):
        resolved(written(tmp_path, text.replace("sheet: a", "sheet: c")))
    with pytest.raises(SpecError) as caught:
        resolved(written(tmp_path, STUDY.replace("items.csv", "items.csv\n  sheet: a")))
    assert "items.sheet" in str(caught.value.where)


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cn"]), min_size=1).filter(
            lambda text: not text.isspace() and not text.startswith(("1899-", "1904-"))
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_text_survives_a_spreadsheet(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("texts") / "t.xlsx"
    write_xlsx(path, [("text",), *[(text,) for text in texts]])
    assert read_rows(path) == [{"text": text} for text in texts]


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
INLINE = '<c t="inlineStr"><is><t>{}</t></is></c>'
WRITERS = {
    "inline texts, as writers that stream do": (
        f'<worksheet xmlns="{MAIN}"><sheetData>'
        '<row r="1"><c r="A1" t="inlineStr"><is><t>id</t></is></c>'
        '<c r="B1" t="inlineStr"><is><t>text</t></is></c></row>'
        '<row r="2"><c r="A2"><v>7</v></c>'
        '<c r="B2" t="inlineStr"><is><r><t xml:space="preserve">a </t></r><r><t>b</t></r></is></c></row>'
        "</sheetData></worksheet>"
    ),
    "cells without places": (
        f'<worksheet xmlns="{MAIN}"><sheetData><row>{INLINE.format("id")}{INLINE.format("text")}</row>'
        f"<row><c><v>7</v></c>{INLINE.format('a b')}</row></sheetData></worksheet>"
    ),
    "names with a prefix, and the text of a formula": (
        f'<x:worksheet xmlns:x="{MAIN}"><x:sheetData>'
        '<x:row r="1"><x:c r="A1" t="str"><x:v>id</x:v></x:c>'
        '<x:c r="B1" t="str"><x:v>text</x:v></x:c></x:row>'
        '<x:row r="2"><x:c r="A2"><x:v>7.0</x:v></x:c>'
        '<x:c r="B2" t="str"><x:f>A1</x:f><x:v>a b</x:v></x:c></x:row>'
        "</x:sheetData></x:worksheet>"
    ),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_sheets_of_every_writer_are_read(tmp_path, writer):
    path = write_xlsx(tmp_path / "t.xlsx", [("x",), (1,)])
    replaced(path, "xl/worksheets/sheet1.xml", WRITERS[writer].encode())
    assert read_rows(path) == [{"id": "7", "text": "a b"}]
