"""A gold sample travels with a bundle, and what was changed in it is found."""

import zipfile

import polars as pl
import pytest
from tests.gold_study import filled, labelled_study, truths

import quaver
from quaver import Study
from quaver.errors import StoreError
from quaver.study.gold_sample.coder_sheets import gold_differences


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
    with pytest.raises(StoreError):
        opened.gold.draw(n=21)


def test_columns_without_a_sample_are_found(study, tmp_path):
    other = labelled_study(tmp_path / "other", 60)
    assert gold_differences(other.source, other.annotations()) == []
    assert gold_differences(other.source, study.annotations())
