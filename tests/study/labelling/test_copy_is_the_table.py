"""The labelled copy without Quaver's columns is the table, for whoever reads both."""

import gzip
import json
import shutil
import subprocess
import zipfile
from datetime import datetime

import openpyxl
import pandas as pd
import polars as pl
import pytest
from tests.spreadsheets import write_ods, write_xlsx

import quaver

ROWS = 24
TEXTS = ("a good one, at last", 'a bad "one"', "a good one\nof two lines", "bad: café 😀")
TABLE = pl.DataFrame(
    {
        "id": [f"0{at}" for at in range(ROWS)],
        "text": [f"{TEXTS[at % 4]} {at}" for at in range(ROWS)],
        "share": [None if at == 3 else at + 0.25 for at in range(ROWS)],
        "day": [datetime(2026, 1, 1 + at) for at in range(ROWS)],
        "sure": [at % 5 == 0 for at in range(ROWS)],
        "hand": [None if at % 2 else 1 - at % 4 // 2 for at in range(ROWS)],
    }
)
QUAVERS = ("label", "labelled by", "agreement", "needs a person")


def _semicolons(path):
    path.write_bytes(b"\xef\xbb\xbf" + TABLE.write_csv(separator=";").replace("\n", "\r\n").encode())


def _zipped(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("table.csv", TABLE.write_csv())


def _statistics(path):
    library = pytest.importorskip("pyreadstat")
    labels = {
        "variable_value_labels": {"sure": {0: "no", 1: "yes"}},
        "column_labels": {"text": "What was said"},
    }
    getattr(library, f"write_{path.suffix[1:]}")(
        TABLE.with_columns(pl.col("sure").cast(pl.Int8)), path, **labels
    )


def _of_r(path):
    kinds = {"sure": pl.Enum(["no", "yes"]), "hand": pl.Int32}
    sure = pl.when("sure").then(pl.lit("yes")).otherwise(pl.lit("no")).alias("sure")
    pytest.importorskip("pyreadr").write_rds(str(path), TABLE.with_columns(sure).cast(kinds))


def _nested(path):
    rows = TABLE.with_columns(pl.col("day").dt.to_string()).to_dicts()
    path.write_text(json.dumps({"about": "speeches", "rows": rows}, ensure_ascii=False), encoding="utf-8")


def _sheet(path):
    rows = [TABLE.columns, *TABLE.rows()]
    write_xlsx(path, rows) if path.suffix == ".xlsx" else write_ods(path, {"data": [*map(_plain, rows)]})


def _plain(row):
    return [str(cell) if isinstance(cell, datetime | bool) else cell for cell in row]


def _of_pandas(path):
    TABLE.to_pandas().astype({"hand": "Int64", "id": "category"}).set_index("id").to_parquet(path)


WRITERS = {
    "t.csv": TABLE.write_csv,
    "semicolons.csv": _semicolons,
    "t.tsv": lambda path: TABLE.write_csv(path, separator="\t"),
    "t.csv.gz": lambda path: path.write_bytes(gzip.compress(TABLE.write_csv().encode())),
    "t.zip": _zipped,
    "t.xlsx": _sheet,
    "t.ods": _sheet,
    "t.parquet": TABLE.write_parquet,
    "pandas.parquet": _of_pandas,
    "t.jsonl": lambda path: TABLE.with_columns(pl.col("day").dt.to_string()).write_ndjson(path),
    "t.json": _nested,
    "t.sav": _statistics,
    "t.dta": _statistics,
    "t.rds": _of_r,
}


def model(text, prompt):
    return "1" if "good" in text else "0"


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """A table and its labelled copy, by the name of its file."""
    made = {}

    def by_name(name):
        if name not in made:
            path = tmp_path_factory.mktemp("table") / name
            WRITERS[name](path)
            found = quaver.label(path, model=model, **OPTIONS)
            made[name] = path, found.file
        return made[name]

    return by_name


OPTIONS = {"gold": "hand", "id": "id", "text": "text", "n": 12, "prompts": 1, "repeats": 1, "anyway": True}


# ------------------------------------------------------------------------------------------------ pandas


def _records(path):
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


def _in_pandas(path):
    ending = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    read = {
        ".csv": lambda: pd.read_csv(path, sep=";" if "semicolons" in path.name else ","),
        ".csv.gz": lambda: pd.read_csv(path),
        ".tsv": lambda: pd.read_csv(path, sep="\t"),
        ".zip": lambda: pd.read_csv(path),
        ".xlsx": lambda: pd.read_excel(path, engine="calamine"),
        ".ods": lambda: pd.read_excel(path, engine="calamine"),
        ".parquet": lambda: pd.read_parquet(path),
        ".jsonl": lambda: pd.read_json(path, lines=True),
        ".json": lambda: pd.DataFrame(_records(path)),
        ".sav": lambda: pd.read_spss(path),
        ".dta": lambda: pd.read_stata(path),
        ".rds": lambda: pytest.importorskip("pyreadr").read_r(str(path))[None],
    }[ending]
    return read()


def _columns_of(names):
    """Quaver's columns, also as programs of statistics name them."""
    return [name for name in names if name.replace("_", " ") in QUAVERS]


@pytest.mark.parametrize("name", WRITERS)
def test_pandas_finds_the_table(name, labelled):
    path, copy = labelled(name)
    before, after = _in_pandas(path), _in_pandas(copy)
    own = _columns_of(after.columns)
    assert [*after.columns[-len(own) :]] == own
    assert len(own) >= 3
    pd.testing.assert_frame_equal(after.drop(columns=own), before)


@pytest.mark.parametrize("read_only", [False, True])
def test_openpyxl_finds_the_table(read_only, labelled):
    def cells(path):
        book = openpyxl.load_workbook(path, read_only=read_only)
        rows = [[(cell.value, cell.number_format) for cell in row] for row in book.worksheets[0].iter_rows()]
        book.close()
        return rows

    path, copy = labelled("t.xlsx")
    before, after = cells(path), cells(copy)
    assert [row[: len(before[0])] for row in after] == before
    assert [cell for cell, _ in after[0][len(before[0]) :]][:2] == ["label", "labelled by"]


# ----------------------------------------------------------------------------------------------------- R

_R = """
given <- commandArgs(TRUE)
separated <- function(path, sep) read.csv(path, sep = sep, fileEncoding = "UTF-8-BOM")
inside <- function(path) unz(path, unzip(path, list = TRUE)$Name[1])
read <- function(path) switch(sub("^.*\\\\.", "", path),
  csv = separated(path, given[3]), tsv = separated(path, "\\t"), gz = read.csv(gzfile(path)),
  zip = read.csv(inside(path)),
  xlsx = as.data.frame(readxl::read_excel(path)), jsonl = jsonlite::stream_in(file(path), verbose = FALSE),
  json = jsonlite::fromJSON(path)$rows, sav = haven::read_sav(path), dta = haven::read_dta(path),
  rds = readRDS(path))
before <- read(given[1]); after <- read(given[2])
own <- setdiff(names(after), names(before))
left <- after[names(before)]
# pyreadr adds an empty attribute for all columns of a data frame
same <- if (endsWith(given[1], "rds")) all(mapply(identical, left, before)) else identical(left, before)
cat(paste(own, collapse = "|"), same, class(after[["label"]])[1], sep = "\\n")
"""
_NEEDS = {".xlsx": "readxl", ".jsonl": "jsonlite", ".json": "jsonlite", ".sav": "haven", ".dta": "haven"}


def _r(*given):
    done = subprocess.run(["Rscript", *given], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def packages():
    """The packages that R has."""
    return _r("-e", "cat(.packages(TRUE))").split()


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed (make R)")
@pytest.mark.parametrize("name", [name for name in WRITERS if not name.endswith((".parquet", ".ods"))])
def test_r_finds_the_table(name, labelled, packages, tmp_path):
    path, copy = labelled(name)
    package = _NEEDS.get(path.suffix, "base")
    if package not in packages:
        pytest.skip(f"R has no {package} (make R)")
    script = tmp_path / "compare.R"
    script.write_text(_R)
    own, same, kind = _r(str(script), str(path), str(copy), ";" if "semicolons" in name else ",").splitlines()
    assert len(_columns_of(one.replace(".", " ") for one in own.split("|"))) >= 3
    assert same == "TRUE"
    assert kind in ("integer", "numeric", "haven_labelled")


# ------------------------------------------------------------------------------------- types and frames


@pytest.mark.parametrize("name", [name for name in WRITERS if not name.endswith((".sav", ".dta"))])
def test_labels_have_the_type_of_the_hand_labels(name, labelled):
    copy = _in_pandas(labelled(name)[1])
    assert pd.api.types.is_numeric_dtype(copy["label"])
    by_hand = copy[copy["hand"].notna()]
    assert (by_hand["label"] == by_hand["hand"]).all()


@pytest.mark.parametrize(("true", "false"), [(True, False), (1.5, 0.5), ("1", "0"), ("yes", "no")])
@pytest.mark.parametrize("ending", [".xlsx", ".jsonl", ".parquet"])
def test_types_that_a_file_has(ending, true, false, tmp_path):
    path, hand = (
        tmp_path / f"t{ending}",
        [[false, true][one] if one is not None else None for one in TABLE["hand"]],
    )
    table = TABLE.select("id", "text", pl.Series("hand", hand))
    if ending == ".xlsx":
        write_xlsx(path, [table.columns, *table.rows()])
    else:
        (table.write_ndjson if ending == ".jsonl" else table.write_parquet)(path)

    def answer(text, prompt):
        said = true if "good" in text else false
        return str(said)

    copy = quaver.label(path, model=answer, **OPTIONS).file
    if ending == ".xlsx":
        rows = [*openpyxl.load_workbook(copy).worksheets[0].iter_rows(values_only=True)]
        labels = [row[rows[0].index("label")] for row in rows[1:]]
    else:
        labels = (pl.read_ndjson if ending == ".jsonl" else pl.read_parquet)(copy)["label"].to_list()
    assert {(one, type(one)) for one in labels} == {(true, type(true)), (false, type(false))}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_stays_as_it_is(library, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a check of data without a file is made in this folder
    frame = TABLE.to_pandas() if library == "pandas" else TABLE.clone()
    found = quaver.label(frame, model=model, **OPTIONS)
    assert found.file is None
    if library == "pandas":
        pd.testing.assert_frame_equal(frame, TABLE.to_pandas())
    else:
        assert frame.equals(TABLE)
    assert found.table["item"].to_list() == TABLE["id"].to_list()
