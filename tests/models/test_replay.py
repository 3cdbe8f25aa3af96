"""Answers that are there already: of another study, found by what was asked, and in a file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.studies import ITEMS

from quaver import Study
from quaver.errors import QuaverError, SpecError, Unavailable, UnknownName
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


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_a_file_answers_by_item_and_variant(tmp_path: Path, ending: str) -> None:
    import polars as pl

    rows = [
        {"item": item, "variant": variant, "repeat": repeat, "label": f"{item}{variant}{repeat}"}
        for item in "abc"
        for variant in ("paraphrase=original", "paraphrase=curt")
        for repeat in range(3)
    ]
    path = tmp_path / f"answers.{ending}"
    frame = pl.DataFrame(rows)
    write = {
        "csv": frame.write_csv,
        "tsv": lambda to: frame.write_csv(to, separator="\t"),
        "jsonl": frame.write_ndjson,
        "parquet": frame.write_parquet,
    }
    write[ending](path)
    model = {"name": "r", "use": "replay", "file": str(path), "answer": "label"}
    made = study(tmp_path / "s", model)
    made.run()
    found = texts(made)
    for row in rows:
        assert found[row["variant"], row["item"], row["repeat"]] == row["label"]
    missing = found["paraphrase=original", "d", 0]
    assert all(word in missing for word in ("no stored answer", f"answers.{ending}", "item", "variant"))


def test_a_file_answers_by_the_prompt_in_the_order_of_the_repeats(tmp_path: Path) -> None:
    asked = request("I like it.", repeats=(0,))
    prompt = asked.prompt.messages[0].content
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"prompt": prompt, "answer": text}) + "\n" for text in ("x", None)))
    model = Replay(file=str(path))
    assert one(model, asked).text == "x"
    empty = one(model, request("I like it.", repeats=(1,)))
    assert (empty.text, empty.finish) == ("", "stop")
    error = one(model, request("I like it.", repeats=(2,))).error or ""
    assert "a.jsonl has 2 repeats" in error


def refused(problem: str, **options: Any) -> QuaverError:
    with pytest.raises(QuaverError, match=problem) as caught:
        one(Replay(**options), request())
    return caught.value


def test_bad_input(original: Study, tmp_path: Path) -> None:
    def file(text: str, name: str = "a.csv") -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    assert isinstance(refused("study or .* file"), SpecError)
    refused("study or .* file", study="s", file="f")
    assert (refused("no study", study=str(tmp_path / "no")).found or "").endswith("folder")
    assert isinstance(refused("unknown model 'n'", study=str(original.folder), model="n"), UnknownName)
    refused("file of answers", file=str(tmp_path / "no.csv"))
    refused("files that end in '.txt'", file=file("x", "a.txt"))
    refused("has no column 'answer'", file=file("item,label\na,x\n"))
    refused("has no column 'item'", file=file("answer,variant\na,x\n"))
    refused("not a number", file=file("item,repeat,answer\na,first,x\n"))
    twice = refused("two rows answer the same call", file=file("item,repeat,answer\na,0,x\na,0,y\n"))
    assert str(twice.where).endswith("row 2")
    refused("cannot be read", file=file("not parquet", "a.parquet"))
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "responses.db").write_text("no database at all, but long enough to be one" * 20)
    assert isinstance(refused("cannot be read", study=str(broken)), Unavailable)


def test_a_study_that_asks_a_file_for_more_than_texts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,answer\na,x\n")
    made = study(
        tmp_path / "s",
        {"name": "r", "use": "replay", "file": str(tmp_path / "a.csv")},
        decoding={"d": {"logprobs": 5}},
    )
    with pytest.raises(SpecError, match="5 log-probabilities") as caught:
        made.plan()
    assert "llamacpp" in str(caught.value)
