"""Sheets in every format: the items in a shuffled order, the codes, no label, and nothing that runs."""

import csv
import io

from quaver.core.records import Label, LabelSet
from quaver.design.items.table_files import read_rows
from quaver.gold.coder_sheet import Sheet, assigned, written

LABELS = LabelSet((Label("l", "Left", 'The "left" & <so on>'), Label("=r", "Right")))
EVIL = ['=HYPERLINK("http://x")', "@SUM(1)", "\t=1", "<b>&amp;</b>\x00\x1b[31m", "a" * 40_000, "two\nlines"]
SHEET = Sheet(
    "ada", [{"item": f"={at}", "text": text} for at, text in enumerate(EVIL)], LABELS, "Which <one>?"
)


def test_a_table_has_the_items_and_no_formula():
    table, codes = written(SHEET, "s", "csv").values()
    rows = list(csv.DictReader(io.StringIO(table.decode("utf-8-sig"), newline="")))
    assert [list(row) for row in rows[:1]] == [["item", "coder", "text", "label", "note"]]
    assert {row["label"] + row["note"] for row in rows} == {""}
    cells = [cell for row in csv.reader(io.StringIO(table.decode("utf-8-sig"), newline="")) for cell in row]
    cells += [cell for row in csv.reader(io.StringIO(codes.decode("utf-8-sig"), newline="")) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+", "-", "\t"))]


def test_a_workbook_holds_texts_only_and_is_read_back(tmp_path):
    ((name, content),) = written(SHEET, "s", "xlsx").items()
    (tmp_path / name).write_bytes(content)
    rows = read_rows(tmp_path / name, sheet="Labels")
    assert [row["item"] for row in rows] == [row["item"] for row in SHEET.rows]
    assert rows[0]["text"] == EVIL[0]
    assert rows[4]["text"].endswith("[…]")
    assert b"<f>" not in content


def test_items_are_dealt_and_shuffled_by_the_seed_alone():
    items = [f"i{at}" for at in range(40)]
    dealt = assigned(items, ["ada", "ben", "eva"], 0.25, 1)
    shared = set.intersection(*map(set, dealt.values()))
    assert len(shared) == 10
    assert {item for own in dealt.values() for item in own} == {*items}
    assert sum(map(len, dealt.values())) == 40 + 2 * 10
    assert dealt == assigned(items[::-1], ["ada", "ben", "eva"], 0.25, 1)
    assert dealt["ada"] != sorted(dealt["ada"])
    assert assigned(items, ["ada"], 0.25, 1)["ada"] != items
