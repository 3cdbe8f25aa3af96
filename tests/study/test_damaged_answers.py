"""Answers that were damaged are asked again; all others are taken over from the damaged file."""

import json
import os
import sqlite3
from contextlib import closing

import pytest

from quaver.errors import StoreError
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

    def __init__(self):
        self.asked = 0

    def __call__(self, text, prompt):
        self.asked += 1
        return f"yes, since {text} " + "it is so " * 20


def study(folder, function):
    folder.mkdir(exist_ok=True)
    (folder / "items.csv").write_text("id,text\n" + "".join(f"{n},Text number {n}.\n" for n in range(ITEMS)))
    (folder / "study.yaml").write_text(json.dumps(STUDY))
    return Study.open(folder, functions={"f": function})


def damage(path, table, pages):
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


def test_what_is_lost_is_asked_again_and_nothing_else(tmp_path):
    function = Function()
    made = study(tmp_path / "s", function)
    made.run()
    before = made.annotations()
    damage(made.folder / "responses.db", "responses", 2)
    with pytest.raises(StoreError) as caught:
        study(tmp_path / "s", function).rescore()
    assert "under `reuse:`" in str(caught.value.fix)

    (made.folder / "damaged").mkdir()
    for file in made.folder.glob("responses.db*"):
        file.rename(made.folder / "damaged" / file.name)
    (made.folder / "study.yaml").write_text(json.dumps(STUDY | {"reuse": ["damaged"]}))
    again = Study.open(made.folder, functions={"f": function})
    function.asked = 0
    outcome = again.run()
    assert 0 < outcome.done == function.asked < ITEMS
    assert outcome.reused == 2 * ITEMS - outcome.done
    assert (
        again.annotations()
        .drop("confidence")
        .sort("item", "repeat")
        .equals(before.drop("confidence").sort("item", "repeat"))
    )
