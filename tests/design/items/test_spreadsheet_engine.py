"""Spreadsheets that nobody saved: small files that would take all memory, and damaged ones."""

import time
import zipfile
from contextlib import suppress
from random import Random

import polars as pl
import pytest
from tests.spreadsheet_bombs import bomb, ending
from tests.spreadsheets import replaced, write_ods, write_xlsx

from quaver.design.items import spreadsheet_files
from quaver.design.items.spreadsheet_files import letters
from quaver.design.items.table_files import read_rows
from quaver.errors import ItemError

SHEET = "xl/worksheets/sheet1.xml"


def sheet(cells):
    return f'<?xml version="1.0"?><worksheet><sheetData>{cells}</sheetData></worksheet>'.encode()


CORNERS = (
    '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
    '<row r="1">' + "<c><v>1</v></c>" * 16_000 + '</row><row r="1048576"><c><v>1</v></c></row>',
    '<x:row xmlns:x="y" r="1048576"><x:c r="XFD1048576"><x:v>1</x:v></x:c></x:row>',
)


@pytest.mark.parametrize("cells", CORNERS)
def test_cells_at_opposite_corners_are_refused_before_an_engine_sees_them(tmp_path, cells):
    path = replaced(write_xlsx(tmp_path / "t.xlsx", [("a",), (1,)]), SHEET, sheet(cells))
    with pytest.raises(ItemError, match="too large"):
        read_rows(path)


def test_a_repeated_cell_of_an_ods_file_counts_as_often(tmp_path):
    path = write_ods(tmp_path / "t.ods", [("a",), (1,)])
    with zipfile.ZipFile(path) as archive:
        content = archive.read("content.xml").replace(
            b'<table:table-cell office:value-type="float"',
            b'<table:table-cell table:number-columns-repeated="16000" office:value-type="float"',
        )
    content = content.replace(
        b"<table:table-row><table:table-cell table:number-col",
        b'<table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-col',
    )
    with pytest.raises(ItemError, match="too large"):
        read_rows(replaced(path, "content.xml", content))


def test_a_text_that_unpacks_beyond_measure_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(spreadsheet_files, "MOST_BYTES", 2**22)
    path = write_xlsx(tmp_path / "t.xlsx", [("a",), ("b",)])
    replaced(path, "xl/sharedStrings.xml", b"<sst><si><t>" + b"x" * 2**25 + b"</t></si></sst>")
    assert path.stat().st_size < 2**20
    with pytest.raises(ItemError, match="too large"):
        read_rows(path)


@pytest.mark.parametrize(
    "content",
    [
        b'<worksheet><sheetData><row r="1"><c r="&#88;FD1048576"><v>1</v></c></row></sheetData></worksheet>',
        b"<worksheet><sheetData>",
        b"",
    ],
)
def test_a_part_that_no_spreadsheet_writes_is_refused(tmp_path, content):
    path = replaced(write_xlsx(tmp_path / "t.xlsx", [("a",), (1,)]), SHEET, content)
    with pytest.raises(ItemError, match="not a spreadsheet"):
        read_rows(path)


def test_files_that_are_called_spreadsheets(tmp_path):
    old = tmp_path / "old.xlsx"
    old.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600)
    with pytest.raises(ItemError, match="password"):
        read_rows(old)
    for name in ("t.xlsx", "t.ods"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("readme.txt", "no table")
        with pytest.raises(ItemError):
            read_rows(tmp_path / name)


def test_a_damaged_file_is_one_error(tmp_path):
    rows = [("id", "text"), *[(n, f"text {n}") for n in range(20)]]
    whole = write_xlsx(tmp_path / "t.xlsx", rows).read_bytes()
    random, path, began = Random(0), tmp_path / "d.xlsx", time.monotonic()
    for _ in range(20):
        content = bytearray(whole)
        for _ in range(random.randrange(1, 6)):
            content[random.randrange(len(content))] = random.randrange(256)
        path.write_bytes(bytes(content[: random.choice([len(content), random.randrange(len(content))])]))
        with suppress(ItemError):
            read_rows(path)
    assert time.monotonic() - began < 60


def test_entities_of_a_document_stand_for_nothing(tmp_path):
    laughs = (
        b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><worksheet><sheetData>'
        b'<row><c t="inlineStr"><is><t>&b;</t></is></c></row></sheetData></worksheet>'
    )
    path = replaced(write_xlsx(tmp_path / "t.xlsx", [("a",), (1,)]), SHEET, laughs)
    with suppress(ItemError):
        assert read_rows(path) == []


def test_columns_have_letters():
    assert [letters(number) for number in (1, 26, 27, 703, 16_384)] == ["A", "Z", "AA", "AAA", "XFD"]


@pytest.mark.long
def test_small_files_that_would_take_gigabytes_end_in_rows_or_an_error(tmp_path):
    """In a process with 1 GB; ``python -m tests.spreadsheet_bombs`` tries more of them."""
    found = ending(*(bomb(seed, tmp_path) for seed in range(10)))
    assert found.count("rows") + found.count("error") == len(range(10)), found


@pytest.mark.parametrize("number", ["1", f"{1:060}"])
def test_a_text_that_stands_in_many_cells_counts_as_often(tmp_path, monkeypatch, number):
    monkeypatch.setattr(spreadsheet_files, "MOST_BYTES", 2**22)
    path = write_xlsx(tmp_path / "t.xlsx", [("a",), ("x" * 30_000,)])
    cells = '<row><c t="s"><v>0</v></c></row>' + f'<row><c t="s"><v>{number}</v></c></row>' * 200
    replaced(path, SHEET, sheet(cells))
    with pytest.raises(ItemError, match="too large"):
        read_rows(path)


def test_spaces_that_are_counted_in_one_element_count_as_often(tmp_path):
    path = write_ods(tmp_path / "t.ods", [("a",), ("b",)])
    with zipfile.ZipFile(path) as archive:
        content = archive.read("content.xml")
    spaces = b'<text:p>b<text:s text:c="2000000000"/></text:p>'
    with pytest.raises(ItemError, match="too large"):
        read_rows(replaced(path, "content.xml", content.replace(b"<text:p>b</text:p>", spaces)))


def test_sheets_by_the_thousand_are_refused_and_not_listed(tmp_path):
    path = write_ods(tmp_path / "t.ods", {f"sheet {at}": [("a",), (1,)] for at in range(1_001)})
    with pytest.raises(ItemError, match="too large") as caught:
        read_rows(path)
    assert len(str(caught.value)) < 1_000


def test_sheets_that_are_one_part_are_refused(tmp_path):
    path = write_xlsx(tmp_path / "t.xlsx", [("a",), (1,)])
    with zipfile.ZipFile(path) as archive:
        book = archive.read("xl/workbook.xml").decode()
    again = '<sheet name="again" sheetId="9" r:id="rId1"/></sheets>'
    with pytest.raises(ItemError):
        read_rows(replaced(path, "xl/workbook.xml", book.replace("</sheets>", again).encode()))


@pytest.mark.parametrize(
    "table",
    [pl.select(a=pl.repeat("x" * 1000, 600_000)), pl.select(a=pl.repeat(None, 10_000_001, dtype=pl.Int8))],
    ids=["text", "cells"],
)
def test_a_small_parquet_file_of_many_cells_is_refused(table, tmp_path):
    table.write_parquet(tmp_path / "a[1].parquet")
    with pytest.raises(ItemError, match="unpacks to more"):
        read_rows(tmp_path / "a[1].parquet")
