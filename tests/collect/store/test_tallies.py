"""The sums that the database keeps are those of its rows, whatever happens to these."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.collect.fakes import opened, request

from quaver.collect.run.ledger import ledger
from quaver.collect.store.response_store import Store
from quaver.collect.store.spill import receipt
from quaver.collect.store.tallies import KEY, REFILL, SUMS
from quaver.core.records import Response

RESPONSES = st.builds(
    Response,
    text=st.sampled_from(["yes", "", "<think>hm", "<think>a</think>yes"]),
    finish=st.sampled_from(["stop", "length", "error", "content_filter"]),
    prompt_tokens=st.sampled_from([None, 10, 0]),
    cached_tokens=st.sampled_from([None, 4]),
    completion_tokens=st.sampled_from([None, 3]),
    thinking_tokens=st.sampled_from([None, 2]),
    thinking=st.sampled_from([None, "so"]),
    raw=st.sampled_from([None, {"completion_tokens_of_request": 9, "answers_of_request": 2}]),
    served_model=st.sampled_from([None, "a"]),
    fingerprint=st.sampled_from([None, "", "f"]),
)


def sums(path: Path) -> list[tuple[object, ...]]:
    names = ", ".join((*KEY, *SUMS))
    with closing(sqlite3.connect(path)) as db:
        return db.execute(f"SELECT {names} FROM tallies ORDER BY {', '.join(KEY)}").fetchall()


@pytest.mark.long
@given(st.lists(st.tuples(st.integers(0, 4), RESPONSES), max_size=14), st.sets(st.integers(1, 5), max_size=2))
@settings(max_examples=30, deadline=None)
def test_they_are_what_adding_up_gives(stored: Sequence[tuple[int, Response]], removed: set[int]) -> None:
    with TemporaryDirectory() as folder:
        store = opened(Path(folder), items=5)
        sources = [store.register("m", "fake", {}), store.register("n", "fake", {})]
        for item, response in stored:  # an item that comes again replaces an error, and nothing else
            store.write([receipt((request(item), [response]), sources[item % 2])])
        store.close()
        path = Path(folder) / "responses.db"
        with closing(sqlite3.connect(path)) as db, db:
            db.executemany("DELETE FROM responses WHERE id = ?", [(one,) for one in removed])
        kept = sums(path)
        with closing(sqlite3.connect(path)) as db:
            db.executescript(REFILL)
        for now, again in zip(kept, sums(path), strict=True):
            assert now[: len(KEY)] == again[: len(KEY)]
            assert now[len(KEY) :] == pytest.approx(again[len(KEY) :])


def test_what_fits_no_call_stands_apart(tmp_path: Path) -> None:
    store = opened(tmp_path, items=3)
    source = store.register("m", "fake", {})
    for item in range(5):
        answer = Response("x", prompt_tokens=item, completion_tokens=1, served_model="a")
        store.write([receipt((request(item), [answer]), source)])
    assert [(one.placed, one.calls, one.prompt_tokens) for one in ledger(store)] == [(True, 5, 10.0)]
    store.calls.place("other", [], [], (request(item).calls[0] for item in range(2)))
    assert [(one.placed, one.calls, one.prompt_tokens) for one in ledger(store)] == [
        (True, 2, 1.0),
        (False, 3, 9.0),
    ]


def test_what_is_read_at_once_is_of_one_moment(tmp_path: Path) -> None:
    reader, writer = opened(tmp_path, items=3), Store(tmp_path / "responses.db")
    source = writer.register("m", "fake", {})
    with reader.at_once():
        before = reader.calls.counts()
        writer.write([receipt((request(1), [Response("yes")]), source)])
        assert not reader.rows("SELECT response FROM calls")
        assert reader.calls.counts() == before == (0, 0, 0)
    assert reader.calls.counts() == (1, 0, 0)
