"""The spill: what was answered survives a kill, is taken in once, and is never half an answer."""

import errno
import os
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.collect.fakes import answers, echo, fake, opened, request, run
from tests.collect.store.test_response_store import WHOLE, disk_full

from quaver.collect.store import spill as spilling
from quaver.collect.store.response_store import Store
from quaver.collect.store.spill import SpillFile, line_of, receipt, text_of
from quaver.core.calls import Message, Prompt, Response
from quaver.errors import StoreError


def receipts(store, items, response=WHOLE):
    source = store.register("m", "fake", {"version": "1"})
    return [receipt((request(item), [response]), source) for item in items]


def left_by_a_kill(folder, items, response=WHOLE):
    """A store whose run was killed when some answers were kept and none was written."""
    store = opened(folder, items=10)
    made = receipts(store, items, response)
    spill = store.spill()
    for one in made:
        spill.add([one])
    os.close(spill._file)
    store.close()
    return folder / "responses.spill"


def test_what_a_killed_run_left_is_taken_in(tmp_path):
    path = left_by_a_kill(tmp_path, range(3))
    store = Store(tmp_path / "responses.db")
    assert (store.waiting(), answers(store)) == (3, {})
    assert store.take_in() == 3
    assert answers(store) == {(0, item, 0): WHOLE for item in range(3)}
    assert [one["responses"] for one in store.sources()] == [3]
    assert not path.exists()
    assert (store.waiting(), store.take_in()) == (0, 0)


def test_taking_in_what_is_stored_already_changes_nothing(tmp_path):
    path = left_by_a_kill(tmp_path, range(3))
    twice = path.read_bytes()
    store = Store(tmp_path / "responses.db")
    store.take_in()
    path.write_bytes(twice)
    assert (store.waiting(), store.take_in()) == (0, 0)
    assert len(store.rows("SELECT id FROM responses")) == len(store.rows("SELECT id FROM prompts")) == 3


def test_an_answer_in_the_spill_takes_the_place_of_an_error(tmp_path):
    path = left_by_a_kill(tmp_path, range(1), Response("yes"))
    kept = path.read_bytes()
    store = Store(tmp_path / "responses.db")
    path.unlink()
    store.write(receipts(store, range(1), Response("", finish="error", error="503")))
    path.write_bytes(kept)
    assert store.take_in() == 1
    assert answers(store) == {(0, 0, 0): Response("yes")}


@given(cut=st.integers(min_value=1))
@settings(max_examples=60, deadline=None)
def test_a_torn_tail_loses_the_answer_that_was_being_written_and_no_other(tmp_path_factory, cut):
    path = left_by_a_kill(tmp_path_factory.mktemp("torn"), range(3))
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    kept = whole[: len(whole) - cut % len(whole)]
    path.write_bytes(kept)
    complete = sum(len(b"".join(lines[: n + 1])) <= len(kept) for n in range(1, 4))
    assert len(list(SpillFile(path).receipts())) == complete


@given(at=st.integers(min_value=0), bit=st.integers(0, 7))
@settings(max_examples=100, deadline=None)
def test_a_flipped_bit_is_noticed(at, bit):
    line = bytearray(line_of([1, "zwölf\n🙂\x00", None]))
    line[at % len(line)] ^= 1 << bit
    try:
        assert text_of(bytes(line)) is None
    except ValueError:  # the line's end was flipped into the middle of a character
        pytest.fail("a damaged line was read")


def test_answers_to_a_study_that_was_edited_since_are_found_by_key(tmp_path):
    left_by_a_kill(tmp_path, range(3), Response("yes"))
    store = opened(tmp_path, items=2, fingerprint="edited")
    assert store.take_in() == 3
    assert not store.calls.placed("edited")
    store = opened(tmp_path, items=2, fingerprint="edited")
    assert set(answers(store)) == {(0, 0, 0), (0, 1, 0)}
    assert store.calls.unplaced() == 1


def test_answers_of_a_database_that_is_gone_bring_their_engine_along(tmp_path):
    left_by_a_kill(tmp_path, range(3))
    (tmp_path / "responses.db").unlink()
    store = opened(tmp_path, items=10)
    store.register("another", "first", {"version": "2"})
    assert store.take_in() == 3
    found = [(one["model"], one["version"], one["responses"]) for one in store.sources()]
    assert found[1:] == [("m", "1", 3)]


def test_a_spill_of_a_newer_quaver_is_left_alone(tmp_path):
    path = left_by_a_kill(tmp_path, range(1))
    path.write_bytes(line_of({"form": "quaver spill 9"}))
    with pytest.raises(StoreError, match="cannot be read") as caught:
        Store(tmp_path / "responses.db").take_in()
    assert (caught.value.where, caught.value.expected) == (str(path), "quaver spill 2")
    assert path.exists()


def test_a_run_leaves_no_spill_and_keeps_it_small_meanwhile(tmp_path, monkeypatch):
    monkeypatch.setattr(spilling, "_LONG", 50_000)
    store, sizes = opened(tmp_path, items=3000), []

    def long(asked, call):
        sizes.append((tmp_path / "responses.spill").stat().st_size)
        return echo(asked, call)._replace(text="x" * 2000)

    assert run(store, fake(long), map(request, range(3000)), total=3000).done == 3000
    assert 50_000 < max(sizes) < 3_500_000 < 3000 * 2000
    assert not list(tmp_path.glob("responses.spill*"))


def test_an_answer_is_in_the_spill_before_the_next_one_is_drawn(tmp_path):
    store, kept = opened(tmp_path, items=50), []

    def looks(asked, call):
        other = Store(tmp_path / "responses.db")
        kept.append((call.item, other.waiting() + other.calls.answered()))
        other.close()
        return echo(asked, call)

    run(store, fake(looks), map(request, range(50)), total=50)
    assert all(there >= item for item, there in kept)


def test_what_a_full_disk_kept_from_the_database_waits_in_the_spill(tmp_path):
    store, model = opened(tmp_path, items=2000), fake()
    with disk_full(store, times=99), pytest.raises(StoreError, match="read or written"):
        run(store, model, map(request, range(2000)), total=2000)
    assert answers(store) == {}
    assert store.waiting() == len(model.asked) > 0
    assert store.take_in() == len(model.asked) == len(answers(store))


def test_texts_and_keys_are_cleaned_before_they_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "hunter2hunter2")
    store = opened(tmp_path)
    odd = request(0)._replace(prompt=Prompt((Message("user", "a\ud800"),), "a\ud800", "?"))
    source = store.register("m", "fake", {})
    spill = store.spill()
    spill.add([receipt((odd, [Response("\udfff", "error", error="401: hunter2hunter2")]), source)])
    os.close(spill._file)
    assert b"hunter2" not in (tmp_path / "responses.spill").read_bytes()
    assert store.take_in() == 1
    assert answers(store)[0, 0, 0] == Response("\\udfff", "error", error="401: [MY_API_KEY]")


class Weird:
    """Not anything that can be put down."""

    def __str__(self):
        raise ValueError("no")


def test_what_goes_with_an_answer_and_cannot_be_put_down_costs_no_answer(tmp_path):
    store = opened(tmp_path, items=20)

    def odd(asked, call):
        return echo(asked, call)._replace(raw={"x": Weird()} if call.item == 7 else None)

    outcome = run(store, fake(odd), map(request, range(20)), total=20)
    assert (outcome.done, outcome.errors) == (20, 0)
    found = answers(store)[0, 7, 0]
    assert (found.text, found.finish) == ("7.0", "stop")
    assert "Weird object" in (found.raw or {})["x"]


@pytest.fixture
def full_disk(tmp_path):
    """A real file system of 24 MB; skipped where none may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() or os.system(f"mount -t tmpfs -o size=24m tmpfs {folder} 2>/dev/null"):
        pytest.skip("no file system can be mounted here")
    yield folder
    os.system(f"umount -l {folder}")


def test_a_real_disk_that_fills_up_loses_what_was_in_flight_alone(full_disk):
    store = opened(full_disk, items=2000)
    model = fake(lambda asked, call: Response(os.urandom(10_000).hex()))
    with pytest.raises(StoreError, match="free some space"):
        run(store, model, map(request, range(2000)), total=2000)
    assert 50 < len(model.asked) < 2000
    os.system(f"mount -o remount,size=48m {full_disk}")
    store.take_in()
    assert len(model.asked) - 10 <= len(answers(store)) <= len(model.asked)
    store.close()


def test_an_io_error_counts_as_a_full_disk_where_there_is_no_room(tmp_path, monkeypatch):
    from quaver.collect.store import store_lock

    error = sqlite3.OperationalError("disk I/O error")
    assert not store_lock.is_full(error, tmp_path)

    def none(*_):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(os, "write", none)
    assert store_lock.is_full(error, tmp_path)
    assert store_lock.is_full(sqlite3.OperationalError("database or disk is full"), tmp_path)
    assert not store_lock.is_full(sqlite3.OperationalError("database is locked"), tmp_path)


def test_answers_that_were_given_together_are_one_line(tmp_path):
    """Each keeps its own terms, and a line that is cut costs none before it."""
    store = opened(tmp_path, items=6)
    source = store.register("m", "fake", {})
    spill = store.spill()
    asked = [request(item)._replace(choices=("a",) if item % 2 else ()) for item in range(6)]
    group = [receipt((one, [Response("yes")]), source) for one in asked]
    spill.add(group[:4])
    spill.add(group[4:])
    os.close(spill._file)
    path = tmp_path / "responses.spill"
    found = list(SpillFile(path).receipts())
    assert [(one.key, one.terms) for one in found] == [(one.key, one.terms) for one in group]
    path.write_bytes(path.read_bytes()[:-9])
    assert [one.key for one in SpillFile(path).receipts()] == [one.key for one in group[:4]]


def test_what_arrives_after_the_end_is_written_to_no_other_file(tmp_path):
    """A worker that a second Ctrl-C left behind still answers, and its file's number is another's by then."""
    store = opened(tmp_path, items=2)
    source = store.register("m", "fake", {})
    spill = store.spill()
    spill.close()
    with (tmp_path / "another").open("wb+", buffering=0) as other:
        late = spilling.receipt((request(0), [Response("late")]), source)
        assert spill.add([late]) == 0
        spill.forget([[late]])
        spill.close()
        other.seek(0)
        assert other.read() == b""
