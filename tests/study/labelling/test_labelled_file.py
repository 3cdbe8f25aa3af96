"""The labelled copy of a table, in each format: what was there stays, and each label stands in its row."""

import gzip
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


ODD = ['id;"text";n', '1;"two', 'lines, and ""quotes""";01.50', "", "2; plain ;", '3;=1+1;"x"', ""]
ODD_COPY = [
    *('id;"text";n;label', '1;"two', 'lines, and ""quotes""";01.50;"a;b"', "", '2; plain ;;""'),
    *('3;=1+1;"x";\'=2', ""),
]
JSON = ('{"text": "caf\\u00e9", "n": 1.50}', "", '{ "text":"two","tags": [1, 2] }', "")
JSON_COPY = (
    '{"text": "caf\\u00e9", "n": 1.50, "label": "é"}',
    *("", '{ "text":"two","tags": [1, 2], "label": null}', ""),
)
TEXT_FILES = {  # its name, what is in it, its labels; what is in the copy; and how it is read
    "quotes and lines": (
        "t.csv",
        "\n".join(ODD),
        ["a;b", None, "=2"],
        "\n".join(ODD_COPY),
        {"separator": ";"},
    ),
    "another encoding": ("t.csv", "text\ncafé\n", ["é"], "text,label\ncafé,é\n", {"encoding": "cp1252"}),
    "no end of the last line": ("t.tsv", "text\tn\none\t1", ["a"], "text\tn\tlabel\none\t1\ta", {}),
    "a column that is called label": (
        "t.csv",
        "text,LABEL\nx,y\n",
        ["a"],
        "text,LABEL,label (Quaver)\nx,y,a\n",
        {},
    ),
    "a sign alone": ("t.csv", "text\none\n", ["-"], "text,label\none,-\n", {}),
    "JSON": ("t.jsonl", "\n".join(JSON), ["é", None], "\n".join(JSON_COPY), {}),
    "lines": ("t.txt", "one, and\n\n=two\n", ["a", "b"], 'text,label\r\n"one, and",a\r\n\'=two,b\r\n', {}),
    "byte order mark and carriage returns": (
        *("t.csv", "\ufeff" + "\r\n".join(ODD), ["a;b", None, "=2"], "\ufeff" + "\r\n".join(ODD_COPY)),
        {"separator": ";"},
    ),
}


@pytest.mark.parametrize("kind", TEXT_FILES)
def test_a_text_file_keeps_its_bytes_and_each_row_gets_its_label(tmp_path, kind):
    name, content, labels, copy, read = TEXT_FILES[kind]
    path = tmp_path / name
    encoding = read.get("encoding", "utf-8")
    path.write_bytes(content.encode(encoding))
    found = labelled(path, labels, **read)
    assert found.name == ("t-labelled.csv" if name == "t.txt" else f"t-labelled{path.suffix}")
    assert found.read_bytes() == copy.encode(encoding)


def test_a_label_has_the_codes_of_the_variable_whose_labels_it_has(tmp_path):
    library = pytest.importorskip("pyreadstat")
    path = tmp_path / "t.sav"
    table = pl.DataFrame({"n": [1, None, 3], "text": ["é, ö", 'a "b"', "=1+1"]})
    library.write_sav(table, path, variable_value_labels={"n": {1: "for", 3: "against"}})
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
