"""Answers that are there already: of another study, found by what was asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.studies import ITEMS

from quaver import Study
from quaver.errors import QuaverError, Unavailable, UnknownName
from quaver.models.replay import Replay
from quaver.testing.requests import one, request

TWINS = ITEMS + "d,I like it.,positive\n"  # as the first


def study(
    folder: Path, model: dict[str, Any], *, functions: Any = None, items: str = TWINS, **more: Any
) -> Study:
    folder.mkdir(exist_ok=True)
    (folder / "items.csv").write_text(items)
    asked = {
        "task": {"labels": ["positive", "negative"]},
        "items": {"source": str(folder / "items.csv"), "id": "id", "text": "{{ text }}", "gold": "truth"},
        "prompt": {"instruction": "Is this positive or negative?"},
        "variants": [{"use": "instructions", "texts": {"curt": "Positive or negative?"}}],
        "decoding": {"drawn": {"temperature": 1.0}},
        "repeats": 3,
        "models": [model],
    }
    return Study.open(asked | more, folder=folder / "study", functions=functions)


def counting() -> Callable[[str, str], str]:
    numbers = count()
    return lambda text, prompt: f"{text} {prompt} {next(numbers)}"


@pytest.fixture
def original(tmp_path: Path) -> Study:
    made = study(tmp_path / "one", {"name": "m", "use": "function"}, functions={"m": counting()})
    made.run()
    return made


def texts(made: Study) -> dict[tuple[str, str, int], str]:
    with sqlite3.connect(made.folder / "responses.db") as db:
        rows = db.execute("SELECT variant, item, repeat, text, error FROM answers")
        return {(variant, item, repeat): error or text for variant, item, repeat, text, error in rows}


def test_every_answer_of_a_study_comes_back_to_its_own_call(original: Study, tmp_path: Path) -> None:
    again = study(tmp_path / "two", {"name": "r", "use": "replay", "study": str(original.folder)})
    outcome = again.run()
    assert outcome.ended == "finished"
    assert texts(again) == texts(original), "twins too: each item its own, repeat by repeat"
    assert len(set(texts(again).values())) == 2 * 4 * 3
    assert again.source.models["r"].provenance()["answered_by"][0]["engine"] == "function"


def test_items_with_other_names_are_found_by_their_prompt(original: Study, tmp_path: Path) -> None:
    folder = tmp_path / "two"
    items = "id,text,truth\nz,It is a chair.,\n"
    made = study(folder, {"name": "r", "use": "replay", "study": str(original.folder)}, items=items)
    made.run()
    assert texts(made)["paraphrase=original", "z", 2] == texts(original)["paraphrase=original", "c", 2]


def test_what_was_not_asked_is_an_error_that_says_so(original: Study, tmp_path: Path) -> None:
    folder = tmp_path / "two"
    items = "id,text,truth\na,I like it.,\nn,New.,\n"
    model = {"name": "r", "use": "replay", "study": str(original.folder)}
    made = study(folder, model, items=items, repeats=4)
    made.run()
    found = texts(made)
    assert "this prompt" in found["paraphrase=original", "n", 0]
    assert "repeat 3" in found["paraphrase=original", "a", 3]
    assert found["paraphrase=original", "a", 2] == texts(original)["paraphrase=original", "a", 2]


def test_another_decoding_is_another_question(original: Study, tmp_path: Path) -> None:
    hotter = {"drawn": {"temperature": 1.5}}
    made = study(
        tmp_path / "two", {"name": "r", "use": "replay", "study": str(original.folder)}, decoding=hotter
    )
    made.run()
    (error,) = set(texts(made).values())
    assert "another decoding" in error


def test_other_answers_are_another_model(original: Study, tmp_path: Path) -> None:
    before = Replay(study=str(original.folder)).identity()
    assert Replay(study=str(original.folder), model="m").identity() == before
    other = study(tmp_path / "other", {"name": "m", "use": "function"}, functions={"m": lambda t, p: "x"})
    other.run()
    assert Replay(study=str(other.folder)).identity() != before


def refused(problem: str, **options: Any) -> QuaverError:
    with pytest.raises(QuaverError, match=problem) as caught:
        one(Replay(**options), request())
    return caught.value


def test_bad_input(original: Study, tmp_path: Path) -> None:
    assert (refused("no study", study=str(tmp_path / "no")).found or "").endswith("folder")
    assert isinstance(refused("unknown model 'n'", study=str(original.folder), model="n"), UnknownName)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "responses.db").write_text("no database at all, but long enough to be one" * 20)
    assert isinstance(refused("cannot be read", study=str(broken)), Unavailable)
