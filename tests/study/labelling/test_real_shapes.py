"""Spreadsheets as people keep them come back unharmed: each cell, its format, and all that stands around."""

import zipfile
from datetime import datetime, time
from xml.etree import ElementTree

import pytest
import xlsxwriter

from quaver.core.transaction import changing
from quaver.design.items.spreadsheet_files import letters
from quaver.design.items.table_files import read_rows
from quaver.study.labelling.labelled_file import write_labelled

HEADS = ("label (Q)", "agreement", "needs a person")
LABEL = "=cmd|x"
TEXTS = [
    *("=1+1", "+44 20 7946", "-5 degrees", "@mention", "'quoted", '=HYPERLINK("x")'),
    *("هذا نص", "שלום \u200fabc", "日本語 😀", "two\nlines\tand  spaces", " led by a space"),
]
HEAD = ("id", "text", "day", "number")


def plain(book, sheet):
    """Long numbers, texts that look like formulas, dates, and a format for each."""
    bold = book.add_format({"bold": True, "bg_color": "#ddeeff", "border": 1})
    day, money = (book.add_format({"num_format": form}) for form in ("dd.mm.yyyy hh:mm", "#,##0.00 €"))
    sheet.write_row(0, 0, HEAD, bold)
    for row, text in enumerate(TEXTS, 1):
        sheet.write_number(row, 0, 9007199254740000 + row)
        sheet.write_string(row, 1, text)
        sheet.write_datetime(row, 2, datetime(2023, 1, row, 13, 5), day)
        sheet.write_number(row, 3, row * 1.005, money)


def empty_cells_with_formats(book, sheet):
    plain(book, sheet)
    yellow, red = (book.add_format({"bg_color": colour}) for colour in ("yellow", "red"))
    for row in range(len(TEXTS) + 1):
        sheet.write_blank(row, 4, None, yellow)
        sheet.write_blank(row, 6, None, red)
        sheet.write_blank(row, 9, None, yellow)


def rows_with_formats(book, sheet):
    plain(book, sheet)
    sheet.set_row(2, 40, book.add_format({"italic": True, "bg_color": "lime"}))
    sheet.set_row(3, None, None, {"hidden": True})


def merged(book, sheet):
    plain(book, sheet)
    other = book.add_worksheet("front page")
    other.merge_range("A1:F3", "What this is", book.add_format({"align": "center", "font_size": 20}))


def formulas(book, sheet):
    plain(book, sheet)
    for row in range(1, len(TEXTS) + 1):
        sheet.write_formula(row, 4, f"=D{row + 1}*2", None, row * 2.01)
    sheet.write(0, 4, "double")
    sheet.write_array_formula(1, 5, 1, 5, "{=SUM(A1:A2)}", None, 3)
    sheet.write(0, 5, "sum")


def columns(book, sheet):
    plain(book, sheet)
    sheet.set_column("B:B", 60)
    sheet.set_column("C:C", 12, None, {"hidden": True})
    sheet.set_column("D:D", 9, None, {"level": 1})
    sheet.freeze_panes(1, 1)
    sheet.autofilter(0, 0, len(TEXTS), 3)


def rules(book, sheet):
    plain(book, sheet)
    sheet.conditional_format("D2:D12", {"type": "3_color_scale"})
    sheet.conditional_format(
        "A2:D12", {"type": "formula", "criteria": "=$D2>5", "format": book.add_format({"bold": 1})}
    )
    sheet.data_validation("D2:D12", {"validate": "list", "source": ["a", "b"]})
    sheet.write_comment("B3", "look again")
    sheet.write_url("B4", "https://example.org/?a=1&b=2", string="a link")


def right_to_left(book, sheet):
    plain(book, sheet)
    sheet.right_to_left()
    sheet.protect("secret")


def rich(book, sheet):
    plain(book, sheet)
    sheet.write_rich_string("B2", "a ", book.add_format({"bold": 1}), "bold", " word")
    chart = book.add_chart({"type": "line"})
    chart.add_series({"values": "=data!$D$2:$D$9"})
    sheet.insert_chart("J2", chart)


def a_table(book, sheet):
    plain(book, sheet)
    sheet.add_table(0, 0, len(TEXTS), 3, {"columns": [{"header": one} for one in HEAD]})


def gaps(book, sheet):
    """Empty rows between, and cells of other kinds."""
    plain(book, sheet)
    sheet.write_row(len(TEXTS) + 8, 0, [1, "behind a gap", True, "#N/A"])
    sheet.write_string(len(TEXTS) + 9, 1, "at night")
    sheet.write_datetime(len(TEXTS) + 9, 2, time(23, 59), book.add_format({"num_format": "hh:mm"}))


SHAPES = [
    *(plain, empty_cells_with_formats, rows_with_formats, merged, formulas, columns),
    *(rules, right_to_left, rich, a_table, gaps),
]


@pytest.mark.parametrize(
    ("shape", "options", "several"),
    [
        *((shape, {}, False) for shape in SHAPES),
        *((plain, {option: True}, False) for option in ("constant_memory", "date_1904", "use_zip64")),
        *((shape, {}, True) for shape in (plain, formulas, gaps)),
    ],
)
def test_a_workbook_comes_back_unharmed(shape, options, several, tmp_path):
    source = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(str(source), {**options, "strings_to_formulas": False}) as book:
        if several:
            other = book.add_worksheet("الملاحظات")
            other.write_row(0, 0, ["see", "data"], book.add_format({"bg_color": "silver"}))
            other.write_formula(1, 0, "=SUM(data!D2:D9)", None, 36.18)
        shape(book, book.add_worksheet("data"))
    target, numbers = labelled(source)
    was, now = parts(source), parts(target)
    own = f"xl/worksheets/sheet{2 if several else 1}.xml"
    assert [*now] == [*was]
    assert all(now[name] == was[name] for name in was if name != own)
    before, after = ElementTree.fromstring(was[own]), ElementTree.fromstring(now[own])
    assert around(before) == around(after)
    old, found = xlsx_cells(before), xlsx_cells(after)
    added = found.keys() - {place for place, (value, _) in old.items() if value}
    assert {place: cell for place, cell in found.items() if place not in added} == {
        place: cell for place, cell in old.items() if place not in added
    }
    for place in added & old.keys():
        assert found[place][1] == old[place][1], "an empty cell keeps its format"
    width = max(column for (_, column), (value, _) in old.items() if value)
    for number in numbers:
        value, _ = found[number, width + 1]
        assert value == f"inlineStr:{LABEL}", number


def labelled(source, sheet="data"):
    """The labelled copy of a spreadsheet, and the rows that have a label in it."""
    target = source.with_stem("labelled")
    numbers = [row.number for row in read_rows(source, sheet=sheet)]
    cells = dict.fromkeys(numbers, (LABEL, 0.75, None))
    with changing(source.parent) as change:
        write_labelled(change, source, {"sheet": sheet}, target, HEADS, cells)
    return target, numbers


def parts(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def around(sheet):
    """All of a sheet but its cells: columns, merged areas, rules, views; and each row's own attributes."""
    found = []
    for part in sheet:
        if part.tag.endswith("}sheetData"):
            found += [repr(sorted(row.attrib.items())).encode() for row in part]
        elif not part.tag.endswith("}dimension"):  # which grows
            found.append(ElementTree.tostring(part))
    return found


def xlsx_cells(sheet):
    """What each cell holds, with its formula, and its format."""
    found = {}
    for cell in sheet.iterfind("{*}sheetData/{*}row/{*}c"):
        place = cell.attrib["r"]
        column = next(at for at in range(1, 50) if letters(at) == place.rstrip("0123456789"))
        row = int(place[len(letters(column)) :])
        inside = "|".join(f"{part.tag.rpartition('}')[2]}:{''.join(part.itertext())}" for part in cell)
        kind = cell.get("t", "n")
        value = (
            f"{kind}:{''.join(cell.itertext())}"
            if kind == "inlineStr"
            else f"{kind}:{inside}"
            if inside
            else ""
        )
        found[row, column] = value, cell.get("s")
    return found
