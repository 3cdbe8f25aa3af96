"""One store takes in another: every key once, an answer before an error, follow-ups with what they quote."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.collect.fakes import answers, key, opened, request

from quaver.collect.store import merged_stores
from quaver.collect.store.merged_stores import take_from
from quaver.collect.store.placed_calls import Counts
from quaver.collect.store.response_store import Store
from quaver.collect.store.spill import receipt
from quaver.core.meter import Traffic
from quaver.core.records import Call, Request, Response
from quaver.errors import StoreError


def store(folder: Path, texts: dict[int, str], *, follow: bool = False) -> Path:
    """A store with answers to some items and, after each, a follow-up that quotes it."""
    folder.mkdir()
    made = opened(folder, items=9)
    source = made.register("m", "fake", {"engine": "fake"})
    for item, text in texts.items():
        failed = text == "error"
        answer = Response("", finish="error", error="no") if failed else Response(text)
        made.write([receipt((request(item), [answer]), source)])
        if follow and not failed:
            made.write([receipt((_follow_up(item, text), [Response(f"of {text}")]), source)])
    made.add_traffic(source, Traffic(*[len(texts)] * len(Traffic._fields)))
    made.close()
    return folder / "responses.db"


def _follow_up(item: int, text: str) -> Request:
    asked = request(item, condition=1, text=f"why {text}")
    call = Call(f"{item}{text}".encode().ljust(16), 1, item, 0, key(item))
    return asked.part((call,))


def merged(folder: Path, *parts: Path) -> Store:
    folder.mkdir(exist_ok=True)
    whole = opened(folder, items=9)
    for part in parts:
        take_from(whole, part.parent.name, part)
    return whole


def test_every_key_counts_once_and_an_answer_replaces_an_error(tmp_path: Path) -> None:
    one = store(tmp_path / "one", {0: "a", 1: "error", 2: "error"})
    two = store(tmp_path / "two", {0: "other", 1: "b", 3: "error"})
    whole = merged(tmp_path / "whole", one, two, one, two)
    found = {item: response.text or response.finish for (_, item, _), response in answers(whole).items()}
    assert found == {0: "a", 1: "b", 2: "error", 3: "error"}
    assert whole.rows("SELECT total(calls), total(errors) FROM tallies") == [(4, 2)]
    joined = "SELECT r.key, p.messages FROM responses r JOIN prompts p ON p.id = r.prompt ORDER BY r.key"
    assert whole.rows(joined) == [(key(n), f'[["user", "text {n}"]]') for n in range(4)]
    assert whole.rows("SELECT part, sent FROM traffic ORDER BY part") == [("one", 3), ("two", 3)]


def test_a_follow_up_of_an_answer_that_does_not_count_is_left_out(tmp_path: Path) -> None:
    one = store(tmp_path / "one", {0: "a", 1: "b"}, follow=True)
    two = store(tmp_path / "two", {0: "a", 1: "another", 2: "c"}, follow=True)
    whole = merged(tmp_path / "whole", one, two)
    found = {place[:2]: response.text for place, response in answers(whole).items()}
    assert found == {(0, 0): "a", (1, 0): "of a", (0, 1): "b", (1, 1): "of b", (0, 2): "c", (1, 2): "of c"}
    assert whole.rows("SELECT count(*) FROM responses") == [(6,)]
    parents = "SELECT p.key FROM calls c JOIN responses p ON p.id = c.parent ORDER BY p.key"
    assert [one for (one,) in whole.rows(parents)] == [key(0), key(1), key(2)]


def test_what_a_killed_copy_took_is_not_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_stores, "_ROWS", 2)
    part = store(tmp_path / "part", {n: f"a{n}" for n in range(7)})
    whole = merged(tmp_path / "whole")
    rows = merged_stores._take_rows

    def breaking(self: Store, start: int, until: int) -> None:
        if start == 4:
            raise KeyboardInterrupt
        rows(self, start, until)

    monkeypatch.setattr(merged_stores, "_take_rows", breaking)
    with pytest.raises(KeyboardInterrupt):
        take_from(whole, "part", part)
    monkeypatch.setattr(merged_stores, "_take_rows", rows)
    assert whole.calls.counts().answered == 4
    assert take_from(whole, "part", part) == 3
    assert take_from(whole, "part", part) == 0
    assert len(answers(whole)) == 7


def test_a_store_collected_anew_is_taken_in_whole_in_the_order_of_the_calls(tmp_path: Path) -> None:
    whole = merged(tmp_path / "whole", store(tmp_path / "part", {5: "a5", 1: "a1"}))
    shutil.rmtree(tmp_path / "part")
    anew = store(tmp_path / "part", {8: "b8", 2: "b2", 1: "b1", 0: "b0"})
    assert take_from(whole, "part", anew) == 3
    assert whole.rows("SELECT text FROM responses ORDER BY id") == [
        ("a1",),
        ("a5",),
        ("b0",),
        ("b2",),
        ("b8",),
    ]
    assert whole.rows("SELECT part, sent FROM traffic") == [("part", 4)]


def test_answers_whose_calls_another_store_does_not_know_are_found_by_key(tmp_path: Path) -> None:
    part = store(tmp_path / "part", {0: "a", 1: "b"})
    with closing(sqlite3.connect(part)) as db, db:
        db.execute("DELETE FROM calls WHERE item = 1")
    whole = merged(tmp_path / "whole", part)
    assert whole.calls.counts() == Counts(answered=1, errors=0, unplaced=1)
    assert not whole.calls.placed("f"), "so that whoever reads the study places its calls again"


@pytest.mark.parametrize("content", [b"Dear diary. " * 5000, b"SQLite format 3\x00" * 400])
def test_a_store_that_is_none_is_named(tmp_path: Path, content: bytes) -> None:
    whole, other = merged(tmp_path / "whole"), tmp_path / "responses.db"
    other.write_bytes(content)
    with pytest.raises(StoreError):
        take_from(whole, "part", other)
    assert whole.calls.counts().answered == 0
