"""Whatever is done to a bundle, ``verify`` gives a verdict or one error: nothing else ever leaves it."""

import sqlite3
from contextlib import closing

import pytest
from tests.damage import KINDS, SQL, STUDY, annotate, damaged, edit, items, repacked
from tests.samples import SEED

import quaver
from quaver.bundles.verification import verify
from quaver.errors import QuaverError, StoreError
from quaver.study.sources.archive import pack

CASES = 6
"""Of each kind, others each day: the seeds decide what is done, so that one that fails can be tried alone."""


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    """One with the texts, one without."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "items.csv").write_text(items(5))
    (folder / "study.yaml").write_text(STUDY)
    study = quaver.Study.open(folder, functions={"fake": annotate})
    study.run()
    made = [quaver.bundle(study, folder / f"{texts}.zip", texts=texts)[0] for texts in (True, False)]
    assert all(not verify(path).differs for path in made)
    return made


def verdict(path):
    try:
        return verify(path)
    except QuaverError as error:
        return error


@pytest.mark.long
@pytest.mark.parametrize("seed", range(SEED * CASES, SEED * CASES + CASES))
@pytest.mark.parametrize("kind", KINDS)
def test_it_ends_in_a_verdict_or_an_error(kind, seed, bundles, tmp_path):
    found = verdict(damaged(kind, seed, bundles[seed % 2], tmp_path))
    if kind in (
        "flipped",
        "truncated",
        "cut out",
        "doubled",
        "manifest",
    ):  # no right checksums are made there
        assert isinstance(found, QuaverError) or found.differs


@pytest.mark.parametrize(
    "statements",
    [pytest.param(one, id=str(n), marks=[pytest.mark.long] * (n % 3 > 0)) for n, one in enumerate(SQL)],
)
def test_every_edit_of_the_database(statements, bundles, tmp_path):
    found = verdict(repacked(bundles[0], tmp_path, lambda folder: edit(folder / "responses.db", statements)))
    if isinstance(found, QuaverError):
        assert found.where
    else:  # nothing holds of which nothing was read again
        assert found.annotations or found.differs


def test_an_edited_bundle_is_one_error_elsewhere_too(bundles, tmp_path):
    """What shows in its parts stops a report and a measure as it stops ``verify``."""

    def change(folder):
        with closing(sqlite3.connect(folder / "responses.db")) as db, db:
            db.execute("UPDATE calls SET item = 99")

    study = quaver.Study.open(repacked(bundles[0], tmp_path, change))
    with pytest.raises(StoreError, match="item"):
        study.report()
    (tmp_path / "open" / "annotations.parquet").write_bytes(b"PAR1")
    pack(tmp_path / "b.zip", {f.name: f for f in (tmp_path / "open").iterdir()}, {"form": "quaver bundle 1"})
    with pytest.raises(StoreError, match=r"annotations\.parquet"):
        quaver.Study.open(tmp_path / "b.zip").measure("accuracy")


def test_triggers_and_views_that_came_along_do_nothing(bundles, tmp_path):
    def change(folder):
        with closing(sqlite3.connect(folder / "responses.db", isolation_level=None)) as db:
            db.execute("CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM responses; END")
            db.execute("DROP VIEW answers")
            db.execute("CREATE VIEW answers AS SELECT 1 AS text")

    path = repacked(bundles[0], tmp_path, change)
    assert not verify(path).differs
    opened = quaver.Study.open(path, folder=tmp_path / "here")
    opened.rescore()
    with closing(sqlite3.connect(tmp_path / "here" / "responses.db")) as db:
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 't'").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM answers WHERE model = 'fake'").fetchone() == (20,)
