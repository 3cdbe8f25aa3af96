"""Batches in the store: bundles, and older stores."""

import sqlite3
from contextlib import closing

from tests.batches.cases import World, document, world
from tests.batches.farm import DAY

from quaver.collect.store.batch_rows import StoredBatches
from quaver.collect.store.response_store import Store
from quaver.collect.store.store_copy import copy_store
from quaver.study.session import Study


def rows(path, table):
    with closing(sqlite3.connect(path)) as db:
        return db.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall()


def half_done(one):
    """A batch that was collected, and another that is out."""
    one.run()
    one.clock.now += DAY / 2
    one.run()
    one.study = lambda **more: World.study(one, repeats=4)
    one.run()


def test_a_copy_has_no_batches(tmp_path):
    with world("openai", tmp_path / "s") as one:
        half_done(one)
        copy_store(one.folder / "responses.db", tmp_path / "copy.db")
    assert not rows(tmp_path / "copy.db", "batches")
    assert rows(tmp_path / "copy.db", "responses")


def test_calls_that_are_out_are_not_asked_directly(tmp_path):
    with world("openai", tmp_path / "s") as one:
        one.run()
        with closing(Store(one.folder / "responses.db")) as store:
            assert len(StoredBatches(store).out()) == 12
        assert one.study().run(requests=5).done == 0


def test_a_batch_of_another_model_is_left_alone(tmp_path):
    with world("openai", tmp_path / "s") as one:
        one.run()
        one.clock.now += DAY / 2
        model = {**one.case.model, "model": "gpt-5-mini", "batch": True}
        other = Study.open(document(model), folder=one.folder)
        assert other.run().done == 0
        assert other.run(wait=True).done == 12
        assert one.run().done == 12
