"""What can be read of a damaged store: every row whose own bytes are whole, whatever became of the others."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.collect.fakes import answers, opened, request
from tests.collect.store.test_response_store import WHOLE

from quaver.collect.store.response_store import Store
from quaver.collect.store.salvage import is_whole, salvaged
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


def test_a_whole_store_comes_back_as_it_was(tmp_path: Path) -> None:
    path = made(tmp_path)
    assert is_whole(path)
    found = salvaged(path, tmp_path / "new.db")
    assert (found.responses, found.lost) == (400, 0)
    for name in ("responses", "prompts", "sources", "terms"):
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
    salvaged(copy / "responses.db", copy / "new.db")
    texts = table(copy / "new.db", "SELECT text FROM responses ORDER BY id")
    assert texts == [(str(item),) for item in range(10)]


@pytest.mark.long
@pytest.mark.parametrize("how", ["zeros", "noise"])
def test_each_damaged_page_costs_its_own_rows_alone(tmp_path: Path, how: str) -> None:
    path = made(tmp_path)
    pages = path.stat().st_size // PAGE
    whole = {row[0]: row for row in table(path, "SELECT id, key, text, checksum FROM responses")}
    lost_in_all = 0
    for seed in range(12):
        broken = damaged(path, random.Random(seed).sample(range(30, pages + 1), 3), how)
        new = tmp_path / f"new-{seed}.db"
        found = salvaged(broken, new)
        kept = {row[0]: row for row in table(new, "SELECT id, key, text, checksum FROM responses")}
        assert kept.items() <= whole.items(), "nothing is made up"
        assert len(kept) >= 400 - 3 * 60
        assert found.lost <= 400 - len(kept)
        assert is_whole(new)
        lost_in_all += 400 - len(kept)
    assert lost_in_all


def test_a_store_without_its_first_page_has_nothing_that_sqlite_reads(tmp_path: Path) -> None:
    path = made(tmp_path)
    broken = damaged(path, [1])
    assert not is_whole(broken)
    assert salvaged(broken, tmp_path / "new.db").responses == 0


@pytest.mark.long
def test_a_row_whose_byte_was_flipped_is_lost_and_the_others_are_not(tmp_path: Path) -> None:
    path = made(tmp_path)
    content = path.read_bytes()
    at = content.index(b"17 \xc3\xbc")
    path.write_bytes(content[:at] + b"71" + content[at + 2 :])
    assert not is_whole(path)
    found = salvaged(path, tmp_path / "new.db")
    assert (found.responses, found.lost) == (399, 1)
    assert not table(tmp_path / "new.db", "SELECT 1 FROM responses WHERE id = 18")


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    path = made(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2 + 100])
    found = salvaged(path, tmp_path / "new.db")
    assert 0 < found.responses < 400
    assert is_whole(tmp_path / "new.db")


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
