"""What is odd about a table is said before anything is asked, each with what to do."""

from pathlib import Path

import polars as pl
import pytest
from tests.spreadsheets import write_xlsx

import quaver
from quaver.design.items.table_files import Row, read_rows
from quaver.errors import ItemError
from quaver.study.checking.check_design import prepared_check
from quaver.study.imports.columns import Table, picture_column

LABELS = ("favor", "against", "none")


def answer(text, prompt):
    return text.split("::")[1].strip() if "::" in text else "none"


def table(folder, rows, name="t.csv", head="id,text,label"):
    path = folder / name
    path.write_text("\n".join([head, *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")
    return path


def texts(n=40, first=0):
    return [(f"{i:03}", f"text number {i} ::{LABELS[i % 3]}", LABELS[i % 3]) for i in range(first, n)]


def said(found):
    return {one.column: one.why for one in found.taken if one.role == "table"}


def check(path, **options):
    return prepared_check(path, model=answer, **options)


def test_further_headers_of_a_survey_are_no_texts(tmp_path):
    head = [("Response", "Your answer", "Coded"), *[tuple(f'"{{""ImportId"":""Q{n}""}}"' for n in range(3))]]
    found = check(table(tmp_path, [*head, *texts()]))
    assert (found.table.rows, set(found.table.labels)) == (40, {*LABELS})
    frame = pl.DataFrame(
        [("Response", "Your answer", "Coded"), *[('{"ImportId":"a"}',) * 3], *texts()],
        schema=["id", "text", "label"],
        orient="row",
    )
    frame.write_excel(tmp_path / "t.xlsx")
    assert check(tmp_path / "t.xlsx").table.rows == 40
    assert check(frame, to=tmp_path / "of-frame").table.rows == 40


def test_rows_that_a_quotation_mark_swallows_are_counted_and_come_back(tmp_path):
    path = tmp_path / "t.tsv"
    rows = ["id\ttext\tlabel"]
    for i, (name, text, label) in enumerate(texts()):
        rows.append(f"{name}\t" + (f'"{text}' if i == 5 else f'{text}"' if i == 8 else text) + f"\t{label}")
    path.write_text("\n".join(rows) + "\n")
    found = check(path)
    assert found.table.rows == 37
    assert said(found)["3 rows may have vanished into a text that a quotation mark opened"].startswith(
        "--quote"
    )
    whole = check(path, quote="none", to=tmp_path / "other")
    assert (whole.table.rows, said(whole)) == (40, {}), "and a clean table has nothing odd"
    assert whole.study.spec.items.quote == "none"
    path.write_text('id\ttext\tlabel\n1\t"so" he said ::favor\tfavor\n2\tthat is it ::none\tnone\n')
    with pytest.raises(ItemError, match="--quote=none"):
        check(path)


def test_texts_with_two_hand_labels_are_said(tmp_path):
    again = ("900", " Text number 3  ::favor", "against"), ("901", "text number 4 ::against", "NA")
    rows = [*texts(), *again, *((str(n), "", LABELS[n % 3]) for n in range(902, 905))]
    assert said(check(table(tmp_path, rows))) == {
        "3 of 45 rows have nothing to label": "not asked about; the labelled copy keeps them without a label",
        "1 text with different gold labels": "settle them, or accuracy counts some as wrong",
    }


def test_the_copy_keeps_rows_without_a_text_and_what_stood_around(tmp_path):
    rows = texts()
    rows[4] = ("004", "", "")
    path = table(tmp_path, rows)
    path.write_text("sep=,\n" + path.read_text())
    found = quaver.label(path, model=answer, prompts=2, yes=True, anyway=True, votes=1)
    lines = (tmp_path / "t-labelled.csv").read_text().splitlines()
    assert lines[0] == "sep=,"
    assert lines[1].startswith("id,text,label,label (Quaver),labelled by")
    assert lines[6].startswith("004,,,,no text")
    assert (len(lines), found.table.height) == (42, 39)


@pytest.mark.parametrize("above", [("Survey of May", "", ""), ("Post", "", "")])
def test_a_row_above_the_columns_names_is_no_row_of_texts(tmp_path, above):
    path = table(tmp_path, [("id", "text", "stance"), *texts()], head=",".join(above))
    found = check(path, to=tmp_path / "seen")
    table_of = found.table
    assert (table_of.item, table_of.text, table_of.gold, table_of.rows) == ("id", "text", "stance", 40)
    write_xlsx(tmp_path / "x.xlsx", [[name or None for name in above], ("id", "text", "stance"), *texts()])
    for path in (tmp_path / "t.csv", tmp_path / "x.xlsx"):
        quaver.label(path, model=answer, prompts=2, yes=True, anyway=True, votes=1)
    lines = (tmp_path / "t-labelled.csv").read_text().splitlines()
    assert lines[0].startswith(",".join(above))
    assert lines[1].startswith("id,text,stance,label,")
    labelled = read_rows(tmp_path / "x-labelled.xlsx")
    assert [row.text("label") for row in labelled] == [label for _, _, label in texts()]


@pytest.mark.parametrize("below", [("id", "text", ""), ("1", "text", "label"), ("id", "text", "text")])
def test_a_title_above_what_may_be_texts_is_an_error_that_says_so(tmp_path, below):
    with pytest.raises(ItemError, match="delete the rows above"):
        check(table(tmp_path, [below, *texts()], head="Survey of May,,"))


@pytest.mark.parametrize(
    ("column", "images"),
    [
        (("shop {}", "Pics/{}.JPG"), "shown"),
        (("{}.png", "Pics/{}.JPG"), None),
        (("x", "data:image/png;base64,aa{}"), "shown"),
        (("x", "https://example.org/{}.png"), None),
        (("a text that is longer than names are {}", "{}.png"), None),
        (("x", "{}.pdf"), None),
    ],
)
def test_a_column_whose_cells_name_pictures_is_recognised_where_none_holds_texts(column, images):
    first, second = column
    rows = [
        {"name": first.format(i), "shown": second.format(i), "hand_label": "ab"[i % 2]} for i in range(20)
    ]
    table = Table(Path("t.csv"), [Row(row.items(), "t.csv", 1) for row in rows])
    assert picture_column(table) == images
