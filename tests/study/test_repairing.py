"""A study whose store was damaged is put right, and its next run asks for what was lost alone."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.commands import environment

from quaver.errors import StoreError
from quaver.study.repairing import repair
from quaver.study.session import Study

ITEMS = 120
STUDY = {
    "task": {"labels": ["yes", "no"]},
    "items": {"source": "items.csv", "id": "id", "text": "{{ text }}"},
    "prompt": {"instruction": "Is it so?"},
    "models": [{"name": "f", "use": "function"}],
    "repeats": 2,
}


class Function:
    """Answers at some length, and counts."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, text: str, prompt: str) -> str:
        self.asked += 1
        return f"yes, since {text} " + "it is so " * 20


def study(folder: Path, function: Function) -> Study:
    folder.mkdir(exist_ok=True)
    (folder / "items.csv").write_text("id,text\n" + "".join(f"{n},Text number {n}.\n" for n in range(ITEMS)))
    (folder / "study.yaml").write_text(json.dumps(STUDY))
    return Study.open(folder, functions={"f": function})


def damage(path: Path, table: str, pages: int) -> None:
    """Overwrite pages that hold rows of a table."""
    content = bytearray(path.read_bytes())
    with closing(sqlite3.connect(path)) as db:
        size = db.execute("PRAGMA page_size").fetchone()[0]
    mark = {"responses": b"yes, since Text", "prompts": b'[["user"'}[table]
    leaves = [
        at
        for at in range(0, len(content), size)
        if content[at] == 0x0D
        and mark in content[at : at + size]
        and (table == "responses" or b"yes, since" not in content[at : at + size])
    ]
    for at in leaves[1 : 1 + pages]:
        content[at : at + size] = os.urandom(size)
    path.write_bytes(content)


def test_what_is_lost_is_asked_again_and_nothing_else(tmp_path: Path) -> None:
    function = Function()
    made = study(tmp_path / "s", function)
    made.run()
    before = made.annotations()
    path = made.folder / "responses.db"
    damage(path, "responses", 2)
    with pytest.raises(StoreError) as caught:
        study(tmp_path / "s", function).rescore()
    assert "quaver repair" in str(caught.value.fix)

    again = study(tmp_path / "s", function)
    found = repair(again)
    assert found.saved + found.lost == 2 * ITEMS
    assert 0 < found.lost < ITEMS
    assert found.kept == made.folder / "responses.damaged-1.db"
    assert found.kept.exists()
    assert again.status().answered == found.saved == 2 * ITEMS - found.lost
    function.asked = 0
    assert again.run().done == found.lost == function.asked
    assert (
        again.annotations()
        .drop("confidence")
        .sort("item", "repeat")
        .equals(before.drop("confidence").sort("item", "repeat"))
    )
    assert repair(again).kept is None


def test_answers_whose_prompt_is_lost_are_kept_without_it(tmp_path: Path) -> None:
    function = Function()
    made = study(tmp_path / "s", function)
    made.run()
    path = made.folder / "responses.db"
    sql = "SELECT item, repeat, text FROM answers ORDER BY item, repeat"
    with closing(sqlite3.connect(path)) as db:
        before = db.execute(sql).fetchall()
    damage(path, "prompts", 1)
    again = study(tmp_path / "s", function)
    found = repair(again)
    assert (found.saved, found.lost) == (2 * ITEMS, 0)
    assert 0 < found.without_prompt < 2 * ITEMS
    function.asked = 0
    assert (again.run().done, function.asked) == (0, 0)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute(sql).fetchall() == before


def test_a_whole_store_is_left_alone(tmp_path: Path) -> None:
    made = study(tmp_path / "s", Function())
    made.run()
    found = repair(made)
    assert (found.saved, found.lost, found.kept) == (2 * ITEMS, 0, None)
    assert not list(made.folder.glob("*.damaged*"))


def test_a_file_that_holds_no_answers_is_left_alone(tmp_path: Path) -> None:
    made = study(tmp_path / "s", Function())
    with pytest.raises(StoreError, match="nothing to repair"):
        repair(made)
    diary = made.folder / "responses.db"
    diary.write_text("This is a diary, and none of your business. " * 300)
    with pytest.raises(StoreError, match="no stored response"):
        repair(made)
    assert diary.read_text().startswith("This is a diary")
    assert not (made.folder / "responses.repaired.db").exists()


@pytest.mark.long
def test_the_command_says_what_was_saved_and_lost(tmp_path: Path) -> None:
    made = study(tmp_path / "s", Function())
    made.run()
    (tmp_path / "functions.py").write_text("def f(text, prompt): return 'yes'\n")

    def command() -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "quaver", "repair", "s", "--function", "f=functions:f"]
        return subprocess.run(
            line, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment()
        )

    assert "all 240 stored answers" in command().stdout
    damage(made.folder / "responses.db", "responses", 2)
    done = command()
    assert done.returncode == 0, done.stderr
    assert "answers were saved" in done.stdout
    assert "responses.damaged-1.db" in done.stdout
    assert "`quaver run`" in done.stdout
