"""A gold sample travels with a bundle, and what was changed in it is found."""

import json
import zipfile

import polars as pl
import pytest
from tests.gold_study import filled, labelled_study, read_rows, truths, write_rows

import quaver
from quaver import Study
from quaver.errors import StoreError
from quaver.study.gold_sample.coder_sheets import gold_differences
from quaver.study.sources.gold_files import GoldFiles


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study with a sample of 20 items, one label of it with a note that quotes a text."""
    study = labelled_study(tmp_path_factory.mktemp("packed") / "study", 60)
    path = study.gold.draw(n=20, form="csv").files[0]
    text = filled(path, truths(60)).read_text()
    head, first, *rest = text.splitlines()
    path.write_text("\n".join([head, f"{first.removesuffix(',')},quotes: Text 1; a speech.", *rest]))
    study.gold.take(path)
    return study


@pytest.mark.long
@pytest.mark.parametrize("texts", [True, False])
def test_it_is_packed_and_verified(study, tmp_path, texts):
    path, _ = quaver.bundle(study, tmp_path / "s.quaver.zip", texts=texts)
    names = zipfile.ZipFile(path).namelist()
    assert {"gold/design.json", "gold/draw.csv", "gold/labels.csv"} <= {*names}
    assert not [name for name in names if "round" in name]
    opened = Study.open(path)
    assert opened.gold.status().labelled == 20
    assert opened.gold.state.coded["note"].is_not_null().any() == texts
    same = (
        study.annotations()
        .select("item", pl.col("^gold.*$"))
        .equals(opened.annotations().select("item", pl.col("^gold.*$")))
    )
    assert same
    assert not quaver.verify(path).differs
    with pytest.raises(StoreError):
        opened.gold.draw(n=21)


@pytest.mark.long
@pytest.mark.parametrize("name", ["draw.csv", "labels.csv", "design.json"])
def test_what_was_changed_is_found(study, tmp_path, name):
    """As if the archive had been made anew around the changed file."""
    path, _ = quaver.bundle(study, tmp_path / "s.quaver.zip")
    opened = Study.open(path, folder=tmp_path / "opened")
    stored = opened.annotations()
    assert gold_differences(opened.source, stored) == []
    files = GoldFiles(opened.folder)
    design = files.sample().design
    if name == "design.json":
        files.path(name).write_text(json.dumps({**design, "seed": 1}))
    elif name == "draw.csv":
        _change(files.path(name), lambda row: row | {"drawn": "true" if row["drawn"] == "false" else "false"})
    else:
        other = {"left": "right", "right": "left"}
        _change(files.path(name), lambda row: row | {"label": other[row["label"]]})
    assert gold_differences(opened.source, stored)


def _change(path, change):
    first, *rest = read_rows(path)
    write_rows(path, [change(first), *rest])


def test_columns_without_a_sample_are_found(study, tmp_path):
    other = labelled_study(tmp_path / "other", 60)
    assert gold_differences(other.source, other.annotations()) == []
    assert gold_differences(other.source, study.annotations())
