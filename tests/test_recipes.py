"""A new recipe for keys asks nothing again: stored answers are put under the keys of the new one."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from tests.kept.answers import annotate

from quaver.core.records import Message
from quaver.design.calls import call_keys
from quaver.errors import StoreError
from quaver.study.session import Study

KEPT = Path(__file__).parent / "kept" / "first"


class Another(call_keys.Recipe):
    """Takes in a 2, so that every key is another."""

    def request(
        self, condition: call_keys.State, messages: Iterable[Message], occurrence: int, repeats: int
    ) -> tuple[bytes, list[bytes]]:
        state = condition.copy()
        state.update(b"2")
        return super().request(state, messages, occurrence, repeats)

    def follow_up(self, condition: call_keys.State, added: Sequence[Message], followed: bytes) -> bytes:
        state = condition.copy()
        state.update(b"2")
        return super().follow_up(state, added, followed)


def new_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_keys, "RECIPES", {1: call_keys.Recipe(), 2: Another()})
    monkeypatch.setattr(call_keys, "RECIPE", 2)


def opened(folder: Path, name: str) -> Study:
    if not folder.exists():
        shutil.copytree(KEPT / name, folder)
    return Study.open(folder, functions={"mine": annotate} if name == "mixed" else {})


def stored(study: Study) -> set[bytes]:
    with closing(sqlite3.connect(study.folder / "responses.db")) as db:
        return {key for (key,) in db.execute("SELECT key FROM responses")}


@pytest.mark.parametrize("name", ["mixed", "tokens", "unheld"])
def test_nothing_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    before = stored(opened(tmp_path / "s", name))
    new_recipe(monkeypatch)
    study = opened(tmp_path / "s", name)
    outcome = study.run()
    assert (outcome.done, outcome.missing, study.status().unplaced) == (0, 0, 0)
    assert not before & stored(study), "every answer, and every follow-up, has a new key"
    assert json.loads((study.folder / "study.lock.json").read_text(encoding="utf-8"))["keys"] == {"recipe": 2}
    assert opened(tmp_path / "s", name).run().done == 0


def test_what_fits_no_call_keeps_its_key_and_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = opened(tmp_path / "s", "tokens")
    file = tmp_path / "s" / "study.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("repeats: 2", "repeats: 1"), encoding="utf-8")
    new_recipe(monkeypatch)
    study = opened(tmp_path / "s", "tokens")
    assert study.run().done == 0
    assert study.status().left_behind == 8
    assert any(one.startswith("8 answers") for one in study.status().warnings)


def test_a_recipe_that_is_not_known_says_what_it_would_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        new_recipe(later)
        opened(tmp_path / "s", "tokens").run()
    before = stored(opened(tmp_path / "s", "tokens"))
    with pytest.raises(StoreError, match="16 stored answers"):
        opened(tmp_path / "s", "tokens").run()
    assert stored(opened(tmp_path / "s", "tokens")) == before


def test_studies_of_other_recipes_do_not_look_for_each_others_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(tmp_path / "first", "tokens").run()
    study = opened(tmp_path / "later", "tokens")
    for name in ("responses.db", "annotations.parquet", "study.lock.json"):
        (study.folder / name).unlink()
    file = tmp_path / "later" / "study.yaml"
    file.write_text(file.read_text(encoding="utf-8") + "reuse: [../first]\n", encoding="utf-8")
    new_recipe(monkeypatch)
    with pytest.raises(StoreError, match="recipe 1"):
        opened(tmp_path / "later", "tokens").run()
    opened(tmp_path / "first", "tokens").status()
    outcome = opened(tmp_path / "later", "tokens").run()
    assert (outcome.reused, outcome.done, outcome.missing) == (16, 0, 0)
