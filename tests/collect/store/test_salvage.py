"""What can be read of a damaged store: every row whose own bytes are whole, whatever became of the others."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.collect.fakes import answers, opened, request
from tests.collect.store.test_response_store import WHOLE

from quaver.collect.store.read_only import journal
from quaver.collect.store.response_store import Store
from quaver.collect.store.salvage import is_whole, rows_in, salvaged
from quaver.collect.store.spill import receipt
from quaver.core.records import Response

PAGE = 4096


def made(folder: Path, responses: int = 400) -> Path:
    """A store of answers from some bytes to several pages."""
    store = opened(folder, items=responses)
    source = store.register("m", "fake", {"version": "1"})
    lengths = random.Random(1)
    store.write(
        [
            receipt(
                (request(n), [WHOLE._replace(text=f"{n} " + "ü" * lengths.choice([1, 40, 900, 9000]))]),
                source,
            )
            for n in range(responses)
        ]
    )
    store.close()
    return folder / "responses.db"


def table(path: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def damaged(path: Path, pages: list[int], how: str = "zeros") -> Path:
    """A copy with some pages overwritten."""
    target = path.with_name("damaged.db")
    content = bytearray(path.read_bytes())
    noise = random.Random(2)
    for page in pages:
        start = (page - 1) * PAGE
        content[start : start + PAGE] = bytes(PAGE) if how == "zeros" else noise.randbytes(PAGE)
    target.write_bytes(content)
    return target


VALUES = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text() | st.binary()


@pytest.mark.long
@given(rows=st.lists(st.lists(VALUES | st.text(min_size=3000), min_size=3, max_size=3), max_size=20))
@settings(max_examples=40, deadline=None)
def test_the_rows_of_any_table_are_those_that_sqlite_reads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[Any]]
) -> None:
    path = tmp_path_factory.mktemp("rows") / "x.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE x (a, b, c)")
        db.executemany("INSERT INTO x VALUES (?, ?, ?)", rows)
        db.commit()
        stored = db.execute("SELECT rowid, a, b, c FROM x").fetchall()
    found = [row for row in rows_in(path, journal(path)) if row is not None]
    assert [(number, *values) for number, values in found if len(values) == 3] == stored


def test_a_whole_store_comes_back_as_it_was(tmp_path: Path) -> None:
    path = made(tmp_path)
    assert is_whole(path)
    found = salvaged(path, tmp_path / "new.db")
    assert (len(found.responses), found.lost, found.unread) == (400, 0, 0)
    for name in ("responses", "prompts", "sources", "terms", "tallies"):
        assert table(tmp_path / "new.db", f"SELECT * FROM {name}") == table(path, f"SELECT * FROM {name}")
    assert is_whole(tmp_path / "new.db")


def test_what_is_in_the_journal_alone_is_found(tmp_path: Path) -> None:
    store = opened(tmp_path, items=10)
    source = store.register("m", "fake", {})
    for item in range(10):
        store.write([receipt((request(item), [Response(f"{item}")]), source)])
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("responses.db", "responses.db-wal"):
        shutil.copyfile(tmp_path / name, copy / name)
    store.close()
    found = salvaged(copy / "responses.db", copy / "new.db")
    assert [row[5] for _, row in sorted(found.responses.items())] == [str(item) for item in range(10)]


@pytest.mark.long
@pytest.mark.parametrize("how", ["zeros", "noise"])
def test_each_damaged_page_costs_its_own_rows_alone(tmp_path: Path, how: str) -> None:
    path = made(tmp_path)
    pages = path.stat().st_size // PAGE
    whole = {row[0]: row for row in table(path, "SELECT id, key, text, checksum FROM responses")}
    lost_in_all = 0
    for seed in range(12):
        broken = damaged(path, random.Random(seed).sample(range(1, pages + 1), 3), how)
        new = tmp_path / f"new-{seed}.db"
        found = salvaged(broken, new)
        kept = {row[0]: row for row in table(new, "SELECT id, key, text, checksum FROM responses")}
        assert kept.items() <= whole.items(), "nothing is made up"
        assert len(kept) >= 400 - 3 * 60
        assert found.lost <= 400 - len(kept)
        assert is_whole(new)
        lost_in_all += 400 - len(kept)
    assert lost_in_all


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the sqlite3 shell is not installed")
def test_it_finds_what_sqlites_own_recovery_finds(tmp_path: Path) -> None:
    path = made(tmp_path)
    pages = path.stat().st_size // PAGE
    for seed in range(4):
        broken = damaged(path, random.Random(100 + seed).sample(range(2, pages + 1), 4))
        sql = subprocess.run(["sqlite3", broken, ".recover"], capture_output=True, check=False).stdout
        if b"CREATE TABLE" not in sql:
            pytest.skip("this sqlite3 shell cannot recover")
        recovered = tmp_path / f"recovered-{seed}.db"
        subprocess.run(["sqlite3", recovered], input=sql, capture_output=True, check=False)
        found = salvaged(broken, tmp_path / f"new-{seed}.db")
        with closing(sqlite3.connect(recovered)) as db:
            texts = {row[0] for row in db.execute("SELECT text FROM responses") if row[0]}
            if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'lost_and_found'").fetchone():
                orphans = db.execute("SELECT c5 FROM lost_and_found WHERE nfield >= 20")
                texts |= {row[0] for row in orphans if isinstance(row[0], str)}
        whole = {row[0] for row in table(path, "SELECT text FROM responses")}
        assert {row[5] for row in found.responses.values()} >= texts & whole


def test_a_store_without_its_first_page(tmp_path: Path) -> None:
    path = made(tmp_path)
    broken = damaged(path, [1])
    with closing(sqlite3.connect(broken)) as db, pytest.raises(sqlite3.DatabaseError):
        db.execute("SELECT count(*) FROM responses").fetchone()
    assert not is_whole(broken)
    assert len(salvaged(broken, tmp_path / "new.db").responses) == 400


@pytest.mark.long
def test_a_row_whose_byte_was_flipped_is_lost_and_the_others_are_not(tmp_path: Path) -> None:
    path = made(tmp_path)
    content = path.read_bytes()
    at = content.index(b"17 \xc3\xbc")
    path.write_bytes(content[:at] + b"71" + content[at + 2 :])
    assert not is_whole(path)
    found = salvaged(path, tmp_path / "new.db")
    assert (len(found.responses), found.lost) == (399, 1)
    assert not any(row[5].startswith("71 ") and row[0] == 18 for row in found.responses.values())


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    path = made(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 + 100])
    found = salvaged(path, tmp_path / "new.db")
    assert 0 < len(found.responses) < 400
    assert is_whole(tmp_path / "new.db")


@given(content=st.binary(max_size=3 * 512), at=st.integers(0, 3 * 512))
@settings(max_examples=200, deadline=None)
def test_whatever_the_bytes_are_reading_them_ends(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, at: int
) -> None:
    path = tmp_path_factory.mktemp("noise") / "x.db"
    head = b"SQLite format 3\x00\x02\x00\x01\x01\x00"
    path.write_bytes(head + content[:at] + b"\x0d\x00\x00\x00\x05" + content[at:])
    for row in rows_in(path, journal(path)):
        assert row is None or isinstance(row[0], int)


def test_a_store_that_was_put_right_goes_on(tmp_path: Path) -> None:
    path = made(tmp_path, responses=50)
    salvaged(path, tmp_path / "new.db")
    (tmp_path / "new.db").replace(path)
    store = opened(tmp_path, items=60, fingerprint="f")
    assert len(answers(store)) == 50
    source = store.register("m", "fake", {"version": "1"})
    store.write([receipt((request(55), [WHOLE]), source)])
    assert len(answers(store)) == 51
    assert isinstance(store, Store)
