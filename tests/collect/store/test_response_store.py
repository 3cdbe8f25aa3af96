"""The store: all or none, errors give way to answers alone, and no text is too odd."""

import json
import sqlite3
from contextlib import closing, contextmanager

import pytest
from tests.collect.fakes import answers, counted, key, opened, request

from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import VERSION
from quaver.collect.store.reuse import Elsewhere
from quaver.collect.store.spill import receipt
from quaver.core.calls import Response, Token
from quaver.core.records import Condition
from quaver.errors import StoreError

FULL = "database or disk is full"


def stored_by(store, item, response):
    source = store.register("m", "fake", {})
    store.write([receipt((request(item), [response]), source)])


WHOLE = Response(
    text="zwölf 🙂\x00\n",
    finish="length",
    error=None,
    thinking="hm",
    tokens=(Token("z", -0.1, (("z", -0.1), ("y", -2.5))), Token("wölf", -1e-9, ())),
    prompt_tokens=12,
    cached_tokens=3,
    completion_tokens=2,
    latency=0.25,
    raw={"id": "x", "nested": {"a": [1, None]}},
    thinking_tokens=1,
    served_model="m-2026-01-01",
    fingerprint="fp_1",
)


def test_a_response_comes_back_as_it_went_in(tmp_path):
    store = opened(tmp_path)
    stored_by(store, 1, WHOLE)
    assert answers(store) == {(0, 1, 0): WHOLE}
    store.close()
    assert answers(Store(tmp_path / "responses.db")) == {(0, 1, 0): WHOLE}


def test_a_lone_surrogate_is_written_as_its_escape(tmp_path):
    store = opened(tmp_path)
    stored_by(store, 0, Response("a\ud800b", error="\udfff", thinking="\ud800"))
    assert answers(store)[0, 0, 0] == Response("a\\ud800b", error="\\udfff", thinking="\\ud800")


def test_an_error_gives_way_to_an_answer_and_to_nothing_else(tmp_path):
    store = opened(tmp_path)
    first, second = Response("", finish="error", error="1"), Response("", finish="error", error="2")
    stored_by(store, 0, first)
    stored_by(store, 0, second)
    assert answers(store)[0, 0, 0] == first
    stored_by(store, 0, Response("yes"))
    assert answers(store)[0, 0, 0] == Response("yes")
    stored_by(store, 0, Response("no"))
    stored_by(store, 0, first)
    assert answers(store)[0, 0, 0] == Response("yes")
    assert counted(store) == (1, 0, 0)


def test_what_is_answered_with_and_without_errors(tmp_path):
    store = opened(tmp_path)
    stored_by(store, 0, Response("yes"))
    stored_by(store, 1, Response("", finish="error", error="x"))
    asked = [key(item) for item in range(1200)]
    assert set(store.answered(asked)) == {key(0), key(1)}
    assert set(store.answered(asked, errors=False)) == {key(0)}
    assert counted(store) == (2, 1, 0)


def test_requests_are_written_all_or_none_and_what_no_row_takes_as_an_error(tmp_path):
    store = opened(tmp_path, items=3, repeats=2)
    source = store.register("m", "fake", {})
    good = (request(0, (0, 1)), [Response("a"), Response("b")])
    short = (request(1, (0, 1)), [Response("c")])
    with pytest.raises(ValueError, match="1 responses to 2 calls"):
        store.write([receipt(one, source) for one in (good, short)])
    assert answers(store) == {}
    other = receipt((request(1, (0, 1)), [Response("c"), Response("d")]), source)
    errors = store.write([receipt(good, source), other._replace(rows=[({},) * 13, other.rows[1]])])
    (error,) = errors.values()
    assert "cannot be stored: " in error.error
    found = answers(store)
    assert {place: one.text for place, one in found.items()} == {
        (0, 0, 0): "a", (0, 0, 1): "b", (0, 1, 0): "", (0, 1, 1): "d",
    }  # fmt: skip
    assert found[0, 1, 0] == error


def test_a_write_that_fails_halfway_leaves_nothing(tmp_path):
    store = opened(tmp_path)
    source = store.register("m", "fake", {})
    with sqlite3.connect(tmp_path / "responses.db") as other:
        other.execute("DROP TABLE calls")  # which is written behind the responses
    with pytest.raises(StoreError, match="table"):
        store.write([receipt((request(0), [Response("a")]), source)])
    assert not store.rows("SELECT id FROM responses")


def test_a_write_has_reached_the_disk_when_it_returns(tmp_path):
    full = 2
    assert opened(tmp_path).rows("PRAGMA synchronous") == [(full,)]


def test_every_repeat_is_stored_with_its_seed(tmp_path):
    store = opened(tmp_path, repeats=5)
    source = store.register("m", "fake", {})
    store.write([receipt((request(0, (2, 3)), [Response("a"), Response("b")]), source)])
    with sqlite3.connect(tmp_path / "responses.db") as db:
        seeds = db.execute("SELECT seed FROM responses ORDER BY id").fetchall()
    assert seeds == [(102,), (103,)]


def test_decodings_of_a_prompt_share_what_is_stored_of_it(tmp_path):
    store = opened(tmp_path)
    source = store.register("m", "fake", {})
    first = request(0)
    second = request(1)._replace(prompt=first.prompt)
    store.write([receipt((one, [Response("x")]), source) for one in (first, second, request(2))])
    with sqlite3.connect(tmp_path / "responses.db") as db:
        messages = db.execute("SELECT messages FROM answers ORDER BY item").fetchall()
        prompts = db.execute("SELECT id FROM prompts").fetchall()
    assert [json.loads(one)[0] for (one,) in messages] == [["user", f"text {n}"] for n in (0, 0, 2)]
    assert len(prompts) == 2


def test_everything_can_be_read_without_quaver(tmp_path):
    store = opened(tmp_path)
    stored_by(store, 1, Response("yes"))
    with sqlite3.connect(tmp_path / "responses.db") as db:
        names = "model, variant, decoding, item, repeat, text, finish, messages, key"
        assert db.execute(f"SELECT {names} FROM answers").fetchall() == [
            ("m", "v", "greedy", "1", 0, "yes", "stop", '[["user", "text 1"]]', key(1).hex().upper())
        ]


def test_a_file_that_is_no_database(tmp_path):
    path = tmp_path / "responses.db"
    path.write_text("This is a diary, and none of your business. " * 100)
    with pytest.raises(StoreError) as caught:
        Store(path)
    assert caught.value.where == str(path)
    assert "reuse" in (caught.value.fix or "")
    assert path.read_text().startswith("This is a diary")


def test_an_edited_study_finds_what_fits_and_counts_what_does_not(tmp_path):
    store = opened(tmp_path, items=4)
    for item in range(3):
        stored_by(store, item, Response(str(item)))
    moved = [request(2).calls[0]._replace(item=0), request(0).calls[0]._replace(item=1)]
    store.calls.place("new", [Condition("m", "w", "greedy", 1)], ["c", "a", "new"], moved)
    assert store.calls.placed("new")
    assert not store.calls.placed("f")
    assert counted(store) == (2, 0, 1)
    assert {place: response.text for place, response in answers(store).items()} == {
        (0, 0, 0): "2",
        (0, 1, 0): "0",
    }
    with sqlite3.connect(tmp_path / "responses.db") as db:
        found = set(db.execute("SELECT item, variant, text FROM answers"))
    assert found == {("c", "w", "2"), ("a", "w", "0")}


def test_a_source_is_noted_once(tmp_path):
    store = opened(tmp_path)
    one = store.register("m", "i", {"version": "1"})
    assert store.register("m", "i", {"version": "1"}) == one
    other = store.register("m", "i", {"version": "2"})
    assert other != one
    store.write([receipt((request(0), [Response("x")]), one)])
    assert [(s["version"], s["responses"]) for s in store.sources()] == [("1", 1), ("2", 0)]


def test_usage_adds_up(tmp_path):
    store = opened(tmp_path)
    one = Response("x", prompt_tokens=10, cached_tokens=4, completion_tokens=1, latency=0.5)
    stored_by(store, 0, one)
    stored_by(store, 1, one)
    assert store.calls.usage() == {
        "m": {
            "calls": 2,
            "counted": 2,
            "prompt_tokens": 20,
            "new_prompt_tokens": 12,
            "cached_tokens": 8,
            "completion_tokens": 2,
            "prompt_squares": 200,
            "completion_squares": 2,
            "seconds": 1.0,
        }
    }


# ------------------------------------------------------------------------- a full disk


class Failing:
    """A database connection whose next inserts of responses fail."""

    def __init__(self, db, times):
        self._db, self.times = db, times

    def __getattr__(self, name):
        return getattr(self._db, name)

    def execute(self, sql, *values):
        if "INTO responses" in sql and self.times:
            self.times -= 1
            raise sqlite3.OperationalError(FULL)
        return self._db.execute(sql, *values)


@contextmanager
def disk_full(store, times):
    db = store.db
    store.db = Failing(db, times)
    yield
    store.db = db


@pytest.mark.parametrize("version", [-5, 1, VERSION - 1, VERSION + 1])
def test_a_store_of_another_version_is_one_error_and_stays_as_it_is(tmp_path, version):
    opened(tmp_path).close()
    file = tmp_path / "responses.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    before = file.read_bytes()
    for only_read in (False, True):
        with pytest.raises(StoreError) as caught:
            Store(file, only_read=only_read)
        assert (caught.value.expected, caught.value.found) == (f"format {VERSION}", f"format {version}")
    with pytest.raises(StoreError) as caught:
        Elsewhere(tmp_path)
    assert caught.value.found == f"format {version}"
    assert file.read_bytes() == before
