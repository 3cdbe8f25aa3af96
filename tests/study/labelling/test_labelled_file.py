"""The labelled copy of a table, in each format: what was there stays, and each label stands in its row."""

import csv
import gzip
import json
import sys
import zipfile

import polars as pl
import pytest
import xlsxwriter

from quaver.core.transaction import changing
from quaver.design.items.table_files import read_rows
from quaver.errors import ItemError
from quaver.study.labelling.labelled_file import free_names, labelled_path, write_labelled
from quaver.study.labelling.spreadsheet_edits import write_spreadsheet


def labelled(path, labels, **written):
    """The copy with a label in every row of the table, as the rows are numbered where they are read."""
    rows = read_rows(path, **written)
    numbers = [row.number for row in rows]
    target = labelled_path(path)
    heads = free_names(["label"], list(rows[0]))
    cells = {n: (one,) for n, one in zip(numbers, labels, strict=True)}
    with changing(path.parent) as change:
        write_labelled(change, path, written, target, heads, cells)
    return target


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_keeps_its_quotes_lines_and_byte_order_mark(tmp_path, start, end):
    lines = ['id;"text";n', '1;"two', 'lines, and ""quotes""";01.50', "", "2; plain ;", '3;=1+1;"x"']
    path = tmp_path / "t.csv"
    path.write_bytes(start + end.join(lines).encode() + end.encode())
    found = labelled(path, ["a;b", None, "=2"], separator=";")
    expected = ['id;"text";n;label', '1;"two', 'lines, and ""quotes""";01.50;"a;b"', "", '2; plain ;;""']
    assert found.read_bytes() == start + end.join([*expected, '3;=1+1;"x";\'=2', ""]).encode()


def test_a_last_line_without_an_end_gets_its_label_too(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("text\tn\none\t1\ntwo\t2", encoding="utf-8")
    assert labelled(path, ["a", "b"]).read_text() == "text\tn\tlabel\none\t1\ta\ntwo\t2\tb"


def test_csv_in_another_encoding(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("text\ncafé\n".encode("cp1252"))
    assert labelled(path, ["é"], encoding="cp1252").read_bytes() == "text,label\ncafé,é\n".encode("cp1252")


def test_json_lines_keep_their_spelling(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"text": "caf\\u00e9", "n": 1.50}\n\n{ "text":"two","tags": [1, 2] }\n', encoding="utf-8"
    )
    found = labelled(path, ["é", None]).read_text()
    first, _, second, _ = found.split("\n")
    assert first == '{"text": "caf\\u00e9", "n": 1.50, "label": "é"}'
    assert second == '{ "text":"two","tags": [1, 2], "label": null}'
    assert [json.loads(line)["label"] for line in found.splitlines() if line] == ["é", None]


TABLE = pl.DataFrame(
    {"id": ["01", "b", "c"], "n": [1, None, 3], "x": [0.5, 2.0, None], "text": ["é, ö", 'a "b"', "=1+1"]}
)


def _written_as(ending, path):
    if ending == ".csv.gz":
        path.write_bytes(gzip.compress(TABLE.write_csv().encode()))
    elif ending in (".sav", ".dta"):
        library = pytest.importorskip("pyreadstat")
        codes = {"n": {1: "for", 3: "against"}}
        getattr(library, f"write_{ending[1:]}")(TABLE, path, variable_value_labels=codes)
    elif ending == ".parquet":
        TABLE.to_pandas().astype({"n": "Int64"}).set_index("id").to_parquet(path)
    elif ending == ".json":
        path.write_text(json.dumps({"about": "this", "rows": TABLE.to_dicts()}))
    elif ending == ".jsonl":
        TABLE.write_ndjson(path)
    else:
        TABLE.write_csv(path, separator="\t" if ending == ".tsv" else ",")


def test_a_label_has_the_codes_of_the_variable_whose_labels_it_has(tmp_path):
    library = pytest.importorskip("pyreadstat")
    path = tmp_path / "t.sav"
    _written_as(".sav", path)
    frame, meta = library.read_sav(str(labelled(path, ["for", None, "against"])), output_format="polars")
    assert frame["label"].to_list() == [1.0, None, 3.0]
    assert meta.variable_value_labels == {name: {1.0: "for", 3.0: "against"} for name in ("n", "label")}


def test_an_archive_of_several_tables_or_a_damaged_one_is_one_error(tmp_path):
    several, damaged = tmp_path / "t.zip", tmp_path / "t.csv.gz"
    with zipfile.ZipFile(several, "w") as archive:
        for name in "ab":
            archive.writestr(f"{name}.csv", "text\none\n")
    damaged.write_bytes(gzip.compress(b"text\none\n" * 999)[:-9])
    for path, problem in ((several, "does not hold one table"), (damaged, "damaged")):
        with pytest.raises(ItemError, match=problem):
            read_rows(path)


def test_lines_of_text_become_a_table(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("one, and\n\n=two\n", encoding="utf-8")
    found = labelled(path, ["a", "b"])
    assert found.name == "t-labelled.csv"
    assert list(csv.reader(found.open(newline=""))) == [["text", "label"], ["one, and", "a"], ["'=two", "b"]]


def test_a_column_that_is_called_label_stays(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("text,LABEL\none,mine\n", encoding="utf-8")
    assert labelled(path, ["a"]).read_text() == "text,LABEL,label (Quaver)\none,mine,a\n"


INDEXES = {
    "none": None,
    "names": ["x", "y"],
    "two levels": [("a", 1), ("b", 1)],
}


def written_by_pandas(path, index):
    """A table with an index, and columns of types that pandas alone has."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    several = isinstance(index, list) and isinstance(index[0], tuple)
    frame = pandas.DataFrame(
        {
            "text": ["one", "two"],
            "n": pandas.array([1, None], "Int64"),
            "sure": pandas.array([True, None], "boolean"),
            "kind": pandas.Categorical(["b", "a"], categories=["c", "b", "a"], ordered=True),
            "day": pandas.date_range("2026-01-01", periods=2, tz="Europe/Berlin"),
        },
        index=pandas.MultiIndex.from_tuples(index, names=["group", None]) if several else index,
    )
    frame.to_parquet(path)
    return frame


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_what_pandas_knows_of_its_table_stays(tmp_path, index):
    path = tmp_path / "t.parquet"
    frame = written_by_pandas(path, index)
    copy = labelled(path, ["a", None])
    pandas = pytest.importorskip("pandas")
    pandas.testing.assert_frame_equal(pandas.read_parquet(copy).drop(columns="label"), frame)
    before, after = pl.read_parquet(path), pl.read_parquet(copy).drop("label")
    assert after.equals(before)
    assert after.schema == before.schema


def test_a_table_of_pandas_needs_what_keeps_its_index(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    written_by_pandas(path, ["x", "y"])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ItemError, match="quaver\\[pandas\\]"):
        labelled(path, ["a", None])
    pl.DataFrame({"text": ["one"]}).write_parquet(path)
    assert pl.read_parquet(labelled(path, ["a"])).columns == ["text", "label"], "polars writes other tables"


def test_a_sign_alone_is_a_label(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("text\none\n", encoding="utf-8")
    assert labelled(path, ["-"]).read_text() == "text,label\none,-\n"


def _workbook(path, cells):
    book = xlsxwriter.Workbook(path)
    page = book.add_worksheet()
    for place, text in cells.items():
        page.write_string(place, text)
    book.close()
    return path


def test_a_spreadsheet_states_its_new_extent(tmp_path):
    """Programs that read it as they go show no column beyond."""
    table = _workbook(tmp_path / "t.xlsx", {"A1": "text", "B1": "n", "A2": "one", "B2": "1", "A3": "two"})
    with zipfile.ZipFile(labelled(table, ["a", "b"])) as archive:
        assert b'<dimension ref="A1:C3"/>' in archive.read("xl/worksheets/sheet1.xml")


def test_no_column_is_written_behind_the_last_one_of_a_spreadsheet(tmp_path):
    path = _workbook(tmp_path / "t.xlsx", {"A1": "text", "XFD1": "last", "A2": "one"})
    with pytest.raises(ItemError, match="no columns can be added"):
        write_spreadsheet(path, tmp_path / "copy.xlsx", "Sheet1", ["label"], {2: ["a"]})
