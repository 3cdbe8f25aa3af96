"""Sides whose labels hardly overlap get no figure, but an error that proposes how to merge them."""

import polars as pl
import pytest

import quaver
from quaver.errors import QuaverError

SHORT = ("pos", "neg", "neutral")
LONG = ("positive", "negative", "neutral")


def rows():
    return [(f"i{n}", SHORT[n % 3], LONG[n % 3]) for n in range(30)]


def test_an_import_stops_and_goes_on_with_the_merges_that_it_proposes(tmp_path):
    path = tmp_path / "t.csv"
    pl.DataFrame(rows(), schema=["id", "llm", "gold"], orient="row").write_csv(path)
    roles = {"item": "id", "label": "llm", "gold": "gold"}
    with pytest.raises(QuaverError, match="hardly overlap") as caught:
        quaver.import_annotations(path, tmp_path / "a", **roles)
    assert "positive=pos,negative=neg" in str(caught.value)
    assert not (tmp_path / "a").exists()
    study, _ = quaver.import_annotations(path, tmp_path / "b", same=("positive=pos", "negative=neg"), **roles)
    assert study.measure("accuracy", resamples=0)[0].value == 1
    apart, _ = quaver.import_annotations(path, tmp_path / "c", labels=(*SHORT[:2], *LONG), **roles)
    assert apart.measure("accuracy", resamples=0)[0].value == pytest.approx(1 / 3)


@pytest.mark.parametrize("kind", ["frame", "csv", "long"])
def test_agreement_stops_for_frames_and_files(tmp_path, kind):
    frame = pl.DataFrame(rows(), schema=["id", "anna", "ben"], orient="row")
    options = {"label": ["anna", "ben"], "resamples": 0}
    data = frame
    if kind == "long":
        data = frame.unpivot(["anna", "ben"], index="id", variable_name="rater", value_name="label")
        options = {"item": "id", "resamples": 0}
    elif kind == "csv":
        data = tmp_path / "t.csv"
        frame.write_csv(data)
    with pytest.raises(QuaverError, match="the labels of anna and of ben hardly overlap"):
        quaver.measure_agreement(data, **options)
    same = ("positive=pos", "negative=neg")
    assert quaver.measure_agreement(data, same=same, **options)[0].value == 1


@pytest.mark.parametrize("gold", [{}, {"gold": "truth"}])
def test_import_stops_for_coders_a_row_each(tmp_path, gold):
    wide = pl.DataFrame(rows(), schema=["id", "anna", "ben"], orient="row")
    long = wide.unpivot(["anna", "ben"], index="id", variable_name="coder", value_name="code")
    data = tmp_path / "t.parquet"
    long.join(wide.select("id", truth="anna"), on="id").write_parquet(data)
    options = {"item": "id", "coder": "coder", "label": "code", **gold}
    with pytest.raises(QuaverError, match="hardly overlap"):
        quaver.import_annotations(data, **options)
    quaver.import_annotations(data, same=("positive=pos", "negative=neg"), **options)


def test_one_side_that_gives_one_label_is_a_figure():
    frame = pl.DataFrame(
        [(f"i{n}", "pos", SHORT[n % 3]) for n in range(9)], schema=["id", "a", "b"], orient="row"
    )
    assert quaver.measure_agreement(frame, label=["a", "b"], resamples=0)[1].value == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("text", "other"), [("TRUE", "True"), ("in favor", "in\u00a0favor"), ("１", "1"), ("0,5", "0.5")]
)
@pytest.mark.parametrize("kind", ["frame", "csv", "parquet", "xlsx"])
def test_full_agreement_is_full_agreement_however_labels_are_written(tmp_path, kind, text, other):
    against = ("3", "3.0") if text[-1].isdigit() else ("FALSE", "False")
    pairs = [(text, other), against]
    frame = pl.DataFrame([(f"i{n}", *pairs[n % 2]) for n in range(20)], schema=["id", "a", "b"], orient="row")
    data = frame
    if kind != "frame":
        data = tmp_path / f"t.{kind}"
        frame.write_excel(data) if kind == "xlsx" else getattr(frame, f"write_{kind}")(data)
    found = quaver.measure_agreement(data, label=["a", "b"], resamples=0)
    assert found[0].value == 1
    assert len([row for row in found[0].details["taken"] if row[0] == "same"]) == 2


def test_measured_numbers_are_no_labels_to_merge(tmp_path):
    frame = pl.DataFrame(
        {"id": range(200), "a": [n / 7 for n in range(200)], "b": [n / 7 + 0.01 for n in range(200)]}
    )
    frame.write_csv(tmp_path / "t.csv")
    with pytest.raises(QuaverError, match="numbers that hardly overlap") as caught:
        quaver.measure_agreement(tmp_path / "t.csv", item="id", label=["a", "b"], resamples=0)
    assert 'level="interval"' in str(caught.value)
    assert len(str(caught.value)) < 600


def test_many_labels_that_differ_are_no_list_of_merges(tmp_path):
    names = [f"{first}{second}" for first in "abcdef" for second in "uvwxyz"]
    rows = [(n, name, name.upper() + "!") for n, name in enumerate(names)]
    frame = pl.DataFrame(rows, schema=["id", "a", "b"], orient="row")
    with pytest.raises(QuaverError, match="hardly overlap") as caught:
        quaver.measure_agreement(frame, item="id", label=["a", "b"], resamples=0)
    assert "--same" not in str(caught.value)
