"""Sheets of a study whose ids, texts and labels are hostile come back whole, in every format."""

import csv

import polars as pl
import pytest
import xlsxwriter
from tests.gold_study import labelled_study, truths
from tests.hostile import TEXTS, annotate, write_hostile

from quaver import Study
from quaver.design.items.table_files import read_rows
from quaver.errors import ItemError


@pytest.fixture
def study(tmp_path):
    names = write_hostile(tmp_path)
    path = tmp_path / "study.yaml"
    path.write_text(path.read_text("utf-8").replace('"gold": "truth",', ""), encoding="utf-8")
    study = Study.open(tmp_path / "study.yaml", functions=dict.fromkeys(names, annotate))
    study.run()
    return study


def returned(path, form, label):
    """A sheet with this label of every item, as the program that opened it saves it."""
    rows = read_rows(path, sheet="Labels" if form == "xlsx" else None)
    target = path.with_name(f"back.{form}")
    cells = [list(rows[0])] + [
        [str(label if name == "label" else value) for name, value in row.items()] for row in rows
    ]
    if form == "csv":
        with target.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(cells)
    else:
        book = xlsxwriter.Workbook(target)
        page = book.add_worksheet("Sheet1")
        for down, line in enumerate(cells):
            for at, cell in enumerate(line):
                page.write_string(down, at, cell)
        book.close()
    return target


@pytest.mark.parametrize("form", ["xlsx", "csv"])
def test_every_item_is_labelled_in_the_end(study, form):
    drawn = study.gold.draw(n=len(TEXTS), coders=["=ada"], form=form)
    label = study.experiment.labels.codes[1]
    taken = study.gold.take(returned(drawn.files[0], form, label))
    assert taken.complete
    assert taken.coders == {"=ada": (len(TEXTS), len(TEXTS))}
    frame = study.annotations().unique("item")
    assert frame["gold"].cast(pl.String).unique().to_list() == [label]
    assert frame["gold_drawn"].all()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"item,label\n"),
        ("a.csv", b"id,code\n1,left\n"),
        ("a.csv", b"item,label\nt000\n"),
        ("a.csv", b'item,label\n"t000,left\n'),
        ("a.xlsx", b"PK\x03\x04 not a workbook"),
        ("a.json", b"[[[[["),
        ("a", b"x"),
        ("a.csv", b""),
    ],
)
def test_a_broken_file_is_one_error(name, content, tmp_path):
    study = labelled_study(tmp_path)
    study.gold.draw(n=200)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ItemError):
        study.gold.take(tmp_path / name)


@pytest.mark.parametrize(
    "content",
    [
        "item;label;note\nt000;left;ça va\n".encode("cp1252"),
        "item\tlabel\nt000\tleft\n".encode("utf-16"),
        b"\xef\xbb\xbfItem,Label\r\nt000, left \r\n",
    ],
)
def test_what_spreadsheet_programs_save_is_read(content, tmp_path):
    study = labelled_study(tmp_path)
    study.gold.draw(n=200)
    (tmp_path / "back.csv").write_bytes(content)
    assert study.gold.take(tmp_path / "back.csv", coder="ada").new == 1
    assert study.gold.state.settled.gold == {"t000": "left"}
    assert truths()["t000"] == "left"
