"""Raw answers that exist already are stored, scored, rescored, exported and bundled like those of a run."""

import csv
import sqlite3
from contextlib import closing

import polars as pl
import pytest

import quaver
from quaver.errors import QuaverError, StoreError
from quaver.study.imports.label_import import import_annotations

ROWS = [
    ("1", "p", "0", "The answer is left.", "left"),
    ("1", "p", "1", "<think>Is it right? Right.</think>left", "left"),
    ("2", "p", "0", "  right \n", "right"),
    ("2", "p", "1", "I cannot answer that.", "right"),
    ("1", "q", "0", "", "left"),
    ("2", "q", "0", "left or right?", "right"),
    ("1", "q", "1", "right", "left"),  # item 2 has no second answer
]
LEFT = ["left", "left", "right", None, None, None, "right"]
"""By hand: the one label that an answer names, thinking apart, unless it declines."""


def table(folder, rows=ROWS):
    path = folder / "answers.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "prompt_id", "iteration", "output", "gold"])
        writer.writerows(rows)
    return path


def imported(folder, evaluators=("label_match",), rows=ROWS):
    roles = {"raw": "output"}
    return import_annotations(table(folder, rows), folder / "study", **roles, evaluators=evaluators)[0]


def labels(frame, evaluator):
    mine = frame.filter(pl.col("evaluator").cast(pl.String) == evaluator)
    return mine["label"].cast(pl.String).to_list()


def test_answers_are_read_like_those_of_a_run(tmp_path):
    study = imported(tmp_path)
    frame = study.annotations()
    assert labels(frame, "label_match") == LEFT
    status = frame["status"].cast(pl.String).to_list()
    assert status == ["valid", "valid", "valid", "refused", "empty", "ambiguous", "valid"]
    assert study.experiment.labels.codes == ("left", "right")
    assert {one.measure for one in study.estimates()} >= {"intra_pss", "inter_pss", "accuracy", "compliance"}
    assert study.status().answered == 7
    with pytest.raises(StoreError) as caught:
        study.run()
    assert caught.value.found == study.source.kind


def test_another_evaluator_reads_what_is_stored(tmp_path):
    imported(tmp_path)
    study = quaver.Study.open(tmp_path / "study")
    exact = study.rescore(["exact"])
    assert labels(exact, "exact") == [None, "left", "right", None, None, None, "right"]
    path = study.folder / "study.yaml"
    path.write_text(path.read_text().replace("- label_match", "- label_match\n- exact"))
    again = quaver.Study.open(study.folder)
    assert labels(again.annotations(), "exact") == labels(exact, "exact")
    assert labels(again.annotations(), "label_match") == LEFT
    flips = {
        one.cell.get("variant"): one for one in again.measure("evaluator_flips") if one.value is not None
    }
    assert flips


def test_the_raw_text_is_kept_whole_and_exported(tmp_path):
    study = imported(tmp_path)
    study.export(tmp_path / "calls.jsonl")
    rows = pl.read_ndjson(tmp_path / "calls.jsonl")
    assert rows["output"].to_list() == [row[3] for row in ROWS]
    assert rows["thinking"].to_list()[1] == "Is it right? Right."
    # What was exported is a table of raw answers again.
    roles = {
        "item": "item",
        "raw": "output",
        "coder": "model",
        "repeat": "repeat",
        "variant": ("prompt_id",),
        "gold": "gold",
    }
    again, _ = import_annotations(
        tmp_path / "calls.jsonl", tmp_path / "again", **roles, evaluators=["label_match"]
    )
    assert labels(again.annotations(), "label_match") == LEFT


def test_thinking_may_stand_apart(tmp_path):
    path = tmp_path / "apart.jsonl"
    path.write_text(
        '{"item": 1, "output": "", "reasoning": "left? right?"}\n'
        '{"item": 2, "output": "left", "reasoning": null}\n'
    )
    study, taken = import_annotations(path, raw="output", labels=["left", "right"])
    assert ("thinking", "reasoning") in [(one.role, one.column) for one in taken]
    assert study.annotations()["reason"].to_list() == ["thinking only", None]


def test_a_changed_table_is_read_again(tmp_path):
    study = imported(tmp_path)
    rows = [(*row[:3], row[3].replace("right \n", "left"), row[4]) for row in ROWS]
    table(tmp_path, rows).replace(study.folder / "imported.csv")
    again = quaver.Study.open(study.folder)
    assert labels(again.annotations(), "label_match")[2] == "left"
    assert again.annotations().height == 7


@pytest.mark.parametrize(
    ("roles", "options", "said"),
    [
        ({"raw": "output", "gold": "prompt_id"}, {}, "two values of 'prompt_id'"),
        ({"raw": "outptu"}, {}, "did you mean 'output'"),
        ({"raw": "output", "ignore": ("gold",)}, {}, "labels=a,b,c"),
        ({"raw": "output"}, {"evaluators": ["first_lable"]}, "did you mean 'first_label'"),
        ({"raw": "output"}, {"evaluators": ["verbal_confidence"]}, "reads calls"),
        ({"label": "output"}, {"evaluators": ["exact"]}, "nothing for an evaluator to read"),
    ],
)
def test_what_cannot_be_read_leaves_nothing_behind(tmp_path, roles, options, said):
    with pytest.raises(QuaverError) as caught:
        import_annotations(table(tmp_path), tmp_path / "study", **roles, **options)
    assert said in str(caught.value)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("file", ["calls.csv", "calls.parquet"])
def test_a_time_that_is_none_is_one_error_of_an_export(file, tmp_path):
    study = imported(tmp_path)
    study.annotations()  # the store of an import is made when its answers are read
    with closing(sqlite3.connect(tmp_path / "study" / "responses.db")) as database, database:
        database.execute("UPDATE responses SET received = 'x' WHERE id = 2")
    with pytest.raises(StoreError) as caught:
        study.export(tmp_path / file)
    assert "reuse" in (caught.value.fix or "")
    assert not (tmp_path / file).exists()
