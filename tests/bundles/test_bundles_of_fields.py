"""Bundles of studies with several fields: all fields in one archive, each verified."""

import json
import zipfile

import polars as pl
import pytest
from tests.bundles.leaf_studies import answer, speeches

import quaver
from quaver.bundles.verification import verify
from quaver.errors import StoreError
from quaver.study.sources.archive import MANIFEST, members_in, pack


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return speeches(tmp_path_factory.mktemp("packed") / "study", size=16)


@pytest.fixture(scope="module")
def whole(study):
    return quaver.bundle(study, study.folder / "whole.quaver.zip")[0]


@pytest.fixture(scope="module")
def bare(study):
    return quaver.bundle(study, study.folder / "bare.quaver.zip", texts=False)[0]


@pytest.mark.parametrize("kind", [pytest.param("whole", marks=pytest.mark.long), "bare"])
def test_every_field_is_packed_and_verified(study, kind, request):
    packed = request.getfixturevalue(kind)
    verification = verify(packed)
    assert not verification.differs
    assert verification.annotations == study.annotations().height
    assert verification.estimates == len(study.estimates())
    assert {f"fields/{name}/report.html" for name in ("tone", "topics", "amount")} <= {*verification.compared}


def test_a_bundle_gives_each_field_s_numbers(study, bare):
    opened = quaver.Study.open(bare)
    cells = [
        [(one.measure, one.cell, one.value, one.low, one.high) for one in some.estimates()]
        for some in (study, opened)
    ]
    assert cells[0] == cells[1]
    assert {cell["field"] for _, cell, *_ in cells[0]} == {"tone", "topics", "amount"}
    amount = quaver.Study.open(bare, field="amount")
    assert amount.experiment.labels.are_numbers
    assert amount.experiment.items[3].gold == "15"


def test_without_texts_no_text_is_packed(bare):
    with zipfile.ZipFile(bare) as archive:
        assert not any(b"long speech about" in archive.read(name) for name in archive.namelist())
        readme = archive.read("README.md").decode()
    assert "`fields/tone/report.html` | the results with charts, for any browser" in readme


def _falsified(path, folder, name, old, new):
    """The bundle with other text in a file, packed as if it had been so."""
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
        about = json.loads(archive.read(MANIFEST))
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    files = {own: file for own, file in members_in(folder).items() if own != MANIFEST}
    pack(folder / "again.zip", files, {key: about[key] for key in about if key != "files"})
    return folder / "again.zip"


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("estimates.json", '"field": "amount"', '"field": "tone"'),
        ("fields/tone/report.html", "<title>", "<title>Better "),
    ],
)
def test_what_is_falsified_in_a_field_is_found(whole, tmp_path, name, old, new):
    found = verify(_falsified(whole, tmp_path / "unpacked", name, old, new)).differing
    assert any(name in one or "stands there" in one for one in found)


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A study without gold labels of the tone, of which a sample was drawn and labelled."""
    folder = tmp_path_factory.mktemp("judged") / "study"
    tone = speeches(folder, size=16, gold=("amount",)).fields["tone"]
    tone.gold.draw(n=10, coders=["ada"], form="csv", design="simple")
    (sheet,) = tone.source.gold_files.folder.glob("*ada.csv")
    table = pl.read_csv(sheet, infer_schema=False).with_columns(label=pl.lit("good"), note=pl.lit("sure"))
    table.write_csv(sheet)
    tone.gold.take(sheet)
    tone.gold.accept(error=0.9)
    return quaver.Study.open(folder, functions={"m": answer})


def test_what_a_field_has_of_its_own_is_packed_and_verified(judged, tmp_path):
    packed, _ = quaver.bundle(judged, tmp_path / "judged.quaver.zip", texts=False)
    verification = verify(packed)
    assert not verification.differs
    with zipfile.ZipFile(packed) as archive:
        own = {name for name in archive.namelist() if name.startswith("fields/tone/")}
        assert b"sure" not in archive.read("gold/labels.csv")
        assert {"gold/design.json", "gold/draw.csv", "gold/labels.csv"} <= set(archive.namelist())
    assert own == {"fields/tone/accepted.json", "fields/tone/report.html"}
    before, after = (one.fields["tone"] for one in (judged, quaver.Study.open(packed)))
    for cells in (before, after):
        assert cells.annotations()["gold"].drop_nulls().len() > 0
    assert [str(one) for one in before.estimates()] == [str(one) for one in after.estimates()]
    assert (tmp_path / "judged.quaver.zip").is_file()


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("gold/draw.csv", "true", "false"),
        ("gold/labels.csv", ",good,", ",bad,"),
        ("fields/tone/accepted.json", '"accepted"', '"taken"'),
    ],
)
def test_a_falsified_sample_of_a_field_is_found(judged, tmp_path, name, old, new):
    packed, _ = quaver.bundle(judged, tmp_path / "judged.quaver.zip")
    try:
        assert verify(_falsified(packed, tmp_path / "unpacked", name, old, new)).differs
    except StoreError as error:
        assert name.rpartition("/")[2] in str(error)  # noqa: PT017 - either is right
