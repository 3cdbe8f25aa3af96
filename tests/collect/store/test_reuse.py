"""Reuse: what another study was answered is taken repeat by repeat, marked, and the other left as it was."""

import os
import sqlite3
from contextlib import closing

import pytest
from tests.collect.fakes import answers, fake, key, opened, request, run

from quaver.collect.run.ledger import ledger, spent
from quaver.collect.store.response_store import Store
from quaver.collect.store.reuse import Elsewhere, reuse
from quaver.core.calls import Response
from quaver.errors import StoreError


def other(folder, items, text="theirs"):
    folder.mkdir()
    store = opened(folder, items=items.stop, repeats=2)

    def said(asked, call):
        if call.item == 3:
            return Response("", finish="error", error="down")
        return Response(f"{text} {call.item}.{call.repeat}", prompt_tokens=5, completion_tokens=1)

    run(store, fake(said), (request(item, (0, 1)) for item in items))
    store.close()
    return folder


def test_answers_are_taken_repeat_by_repeat_and_the_rest_is_asked(tmp_path):
    first, second = other(tmp_path / "a", range(4)), other(tmp_path / "b", range(2, 6), "second")
    (tmp_path / "own").mkdir()
    store = opened(tmp_path / "own", items=8, repeats=3)
    taken = reuse((request(item, (0, 1, 2)) for item in range(8)), store, {"../a": first, "../b": second})
    assert taken == {"../a": 6, "../b": 4}
    found = {place: one.text for place, one in answers(store).items()}
    assert found == {
        **{(0, item, repeat): f"theirs {item}.{repeat}" for item in range(3) for repeat in range(2)},
        **{(0, item, repeat): f"second {item}.{repeat}" for item in (4, 5) for repeat in range(2)},
    }
    assert not store.answered([key(3), key(0, 2)]), "an error and a repeat that nobody has are not taken"
    assert reuse((request(item) for item in range(3)), store, {"../a": first}) == {"../a": 3}
    assert len(answers(store)) == 10, "what is stored stays"


def test_where_nothing_is_found_nothing_is_taken(tmp_path):
    theirs = other(tmp_path / "a", range(2))
    (tmp_path / "own").mkdir()
    store = opened(tmp_path / "own", items=9)
    assert reuse((request(item) for item in range(5, 9)), store, {"../a": theirs}) == {}
    assert not answers(store)


def test_what_was_taken_keeps_its_time_and_source_and_is_marked(tmp_path):
    theirs = other(tmp_path / "a", range(2))
    (tmp_path / "own").mkdir()
    store = opened(tmp_path / "own", items=2, repeats=2)
    reuse((request(item, (0, 1)) for item in range(2)), store, {"../a": theirs})
    run(store, fake(), [request(7)])
    ours, other_rows = (
        store.rows("SELECT key, seed, received FROM responses ORDER BY id LIMIT 4"),
        Store(theirs / "responses.db").rows("SELECT key, seed, received FROM responses ORDER BY id"),
    )
    assert ours == other_rows
    marks = store.rows("SELECT reused_from, count(*) FROM answers GROUP BY 1 ORDER BY 1")
    assert marks == [("../a", 4)]
    assert [(s["identity"], s["engine"], s["responses"]) for s in store.sources()] == [
        ("fake", "fake", 4),
        ("fake", "fake", 1),
    ]
    assert spent(ledger(store), {}) == (1, 11, 0), "what was taken costs nothing"


def test_an_error_of_ones_own_gives_way_to_an_answer_from_elsewhere(tmp_path):
    theirs = other(tmp_path / "a", range(2))
    (tmp_path / "own").mkdir()
    store = opened(tmp_path / "own", items=2)
    run(store, fake(lambda asked, call: Response("", finish="error", error="x")), [request(0)])
    reuse([request(0)], store, {"a": theirs})
    assert answers(store)[0, 0, 0].text == "theirs 0.0"
    assert store.calls.errors() == 0


@pytest.mark.parametrize("kind", ["nothing", "folder", "diary", "database"])
def test_what_is_no_study_is_one_error(tmp_path, kind):
    folder = tmp_path / "other"
    if kind != "nothing":
        folder.mkdir()
    if kind == "diary":
        (folder / "responses.db").write_text("Dear diary. " * 500)
    if kind == "database":
        sqlite3.connect(folder / "responses.db").execute("CREATE TABLE a (b)")
    with pytest.raises(StoreError) as caught:
        Elsewhere(folder)
    assert str(folder) in str(caught.value.where)


def test_a_study_that_is_being_collected_can_be_read(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    theirs = opened(folder, items=2)
    run(theirs, fake(), [request(0)])
    store = opened(tmp_path, items=2)
    assert reuse(map(request, range(2)), store, {"a": folder}) == {"a": 1}
    run(theirs, fake(), [request(1)])
    assert len(answers(theirs)) == 2


def test_an_answer_under_other_terms_than_its_key_says_is_not_taken(tmp_path):
    theirs = other(tmp_path / "a", range(2))
    with closing(sqlite3.connect(theirs / "responses.db")) as db, db:
        db.execute("UPDATE terms SET asked = 'others'")
    (tmp_path / "own").mkdir()
    assert reuse(map(request, range(2)), opened(tmp_path / "own"), {"a": theirs}) == {}


@pytest.mark.parametrize("how", ["a value", "a page"])
def test_what_is_damaged_is_not_taken_and_the_rest_is(tmp_path, how):
    theirs = other(tmp_path / "a", range(300), "theirs " * 30)
    path = theirs / "responses.db"
    if how == "a value":
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE responses SET text = 'changed' WHERE id = 1")
    else:
        content = bytearray(path.read_bytes())
        begin = next(
            at
            for at in range(0, len(content), 4096)
            if content[at] == 0x0D and b"theirs theirs" in content[at : at + 4096]
        )
        content[begin : begin + 4096] = os.urandom(4096)
        path.write_bytes(content)
    (tmp_path / "own").mkdir()
    store = opened(tmp_path / "own", items=300)
    taken = reuse(map(request, range(300)), store, {"a": theirs})["a"]
    assert taken == 298 if how == "a value" else 250 < taken < 299
    assert all(one.text == f"{'theirs ' * 30} {item}.0" for (_, item, _), one in answers(store).items())
