"""Logs of other tools become studies: items, prompts, repeats, raw answers and gold go where they belong."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import quaver
from quaver.errors import ItemError
from quaver.study.imports.label_import import import_annotations
from quaver.study.imports.tool_logs import log_in

# As inspect-ai 0.3.285 wrote them, without events, usage and times.
_EVAL = {"eval_id": "Q", "task": "stance", "task_args": {}, "model": "mockllm/model"}


def sample(name: str, epoch: int, target: Any, answer: str, value: Any = "C") -> dict[str, Any]:
    return {
        "id": name,
        "epoch": epoch,
        "input": [
            {"role": "system", "content": "You code texts."},
            {"role": "user", "content": f"Text {name}"},
        ],
        "target": target,
        "metadata": {"party": "red", "tags": ["x"]},
        "output": {"model": "mockllm/model", "choices": [], "completion": answer},
        "scores": {"match": {"value": value, "answer": answer}},
    }


SAMPLES = [
    sample("t1", 1, "favor", "favor"),
    sample("t1", 2, "favor", "against", "I"),
    sample("t2", 1, ["against"], "I am against it"),
    sample("t2", 2, ["against"], "against"),
]


def written(path: Path, samples: list[dict[str, Any]], **about: Any) -> Path:
    document = {"version": 2, "status": "success", "eval": {**_EVAL, **about}, "samples": samples}
    path.write_text(json.dumps(document))
    return path


def test_a_log_of_inspect_is_a_study_of_raw_answers(tmp_path: Path) -> None:
    study, taken = import_annotations(written(tmp_path / "log.json", SAMPLES))
    assert {one.role: one.column for one in taken}["log"] == "log.json"
    frame = study.annotations()
    rows = {(row["item"], row["repeat"]): row for row in frame.iter_rows(named=True)}
    assert [rows[place]["label"] for place in sorted(rows)] == ["favor", "against", "against", "against"]
    assert rows["t2", 1]["gold"] == "against"
    assert study.experiment.items[0].fields["text"] == "Text t1"
    (accuracy,) = study.measure("accuracy")
    assert accuracy.value == pytest.approx(3 / 4)


def test_packed_and_unpacked_logs_are_the_same(tmp_path: Path) -> None:
    plain = log_in(written(tmp_path / "log.json", SAMPLES))
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as packed:
        packed.writestr("header.json", json.dumps({"eval": _EVAL}))
        for one in SAMPLES:
            packed.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
    assert plain is not None
    assert log_in(tmp_path / "log.eval") == plain


def test_several_logs_are_prompts_of_one_study_by_their_arguments(tmp_path: Path) -> None:
    written(tmp_path / "a.json", SAMPLES, task_args={"prompt": "short"})
    written(tmp_path / "b.json", SAMPLES, task_args={"prompt": "long"})
    study, _ = import_annotations(tmp_path / "*.json", tmp_path / "study")
    assert [one.id for one in study.experiment.variants] == ["variant=prompt=short", "variant=prompt=long"]


def test_open_answers_are_measured_by_their_scores(tmp_path: Path) -> None:
    samples = [sample(f"t{at}", 1, f"a long answer {at}", "another", "CI"[at % 2]) for at in range(40)]
    study, _ = import_annotations(written(tmp_path / "log.json", samples))
    assert set(study.annotations()["label"].to_list()) == {"C", "I"}


def test_a_sample_without_scores_and_a_question_in_parts_are_read(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]
    odd = [
        sample("p", 1, ["favor", "none"], "favor") | {"scores": None, "metadata": None},
        sample("q", 1, [], "favor") | {"input": [{"role": "user", "content": parts}]},
        sample("r", 1, "favor", "favor") | {"input": "plain"},
    ]
    log = log_in(written(tmp_path / "log.json", odd, task_args={"prompt": "short", "k": 2}))
    assert log is not None
    assert [(row["text"], row["gold"], row["score"]) for row in log.rows] == [
        ("Text p", None, None),
        ("one two", None, "C"),
        ("plain", "favor", "C"),
    ]
    assert {row["variant"] for row in log.rows} == {"prompt=short,k=2"}


def test_two_logs_are_compared_item_by_item(tmp_path: Path) -> None:
    before, _ = import_annotations(written(tmp_path / "before.json", SAMPLES))
    after, _ = import_annotations(
        written(tmp_path / "after.json", [one | {"output": {"completion": "against"}} for one in SAMPLES])
    )
    # Of four answers two change: t1's first, which was right, and none of those that say "against" already.
    found = quaver.compare(before, after)
    (accuracy,) = [one for one in found.differences if one.measure == "accuracy"]
    assert accuracy.value == pytest.approx(2 / 4 - 3 / 4)


@pytest.mark.parametrize(
    "damage",
    [
        {"eval": {"task": "x"}, "samples": SAMPLES},
        {"eval": _EVAL, "samples": [{"id": 1}]},
        {"eval": _EVAL, "samples": []},
        {"eval": _EVAL, "samples": None},
        {"eval": [], "samples": [1]},
    ],
)
def test_a_damaged_log_is_one_error(tmp_path: Path, damage: dict[str, Any]) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(damage))
    with pytest.raises(ItemError, match="log"):
        import_annotations(path)
    assert not (tmp_path / "log").exists()


def test_what_is_no_log_is_left_to_the_tables(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text('{"item": 1, "label": "x"}')
    assert log_in(tmp_path / "labels.jsonl") is None
    assert log_in(tmp_path / "labels.csv") is None
    with zipfile.ZipFile(tmp_path / "odd.eval", "w") as packed:
        packed.writestr("other.txt", "")
    with pytest.raises(ItemError):
        log_in(tmp_path / "odd.eval")


def test_a_log_that_unpacks_to_more_than_is_read_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("header.json", b" " * 2000 + b"{}")
    monkeypatch.setattr("quaver.study.imports.tool_logs.MOST_BYTES", 1000)
    with pytest.raises(ItemError, match="more than 1,000 bytes"):
        log_in(path)


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252", "utf-8-sig"])
def test_a_table_in_another_encoding_is_no_damaged_log(tmp_path: Path, encoding: str) -> None:
    text = "".join(f'{{"item": {at}, "label": "{label}"}}\n' for at, label in enumerate(["très", "peu"]))
    (tmp_path / "labels.jsonl").write_bytes(text.encode(encoding))
    study, _ = import_annotations(tmp_path / "labels.jsonl", encoding=encoding)
    assert study.annotations()["label"].to_list() == ["très", "peu"]
