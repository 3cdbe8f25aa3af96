"""Each family's study under examples, smaller, on the real embedded model, from its file to its report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ruamel.yaml import YAML
from tests.studies import written

from quaver.study import Study

SMALL: dict[str, dict[str, Any]] = {
    "factorial": {"parts": {name: {"tokens": 4} for name in ("label", "score", "explanation")}},
    "treatments": {"treatments": {f"T{n}": {"max_tokens": 6} for n in range(1, 7)}},
    "perturbations": {"answer_tokens": 4, "reasoning_tokens": 6},
    "surface": {"k": 1},
    "format": {"n": 2},
    "llm": {"k": 1},
    "file": {"path": str(files("quaver") / "examples" / "wordings.csv")},
}
"""Shorter answers, by example."""

CALLS = {
    "factorial": 16,
    "treatments": 6 * 2 * 2,
    "perturbations": 6,
    "surface": 3 * 2,  # the original among the wordings, two repeats
    "format": 3 * 2,
    "llm": 3 * 2,
    "file": 6 * 2,
}
"""One item, by hand."""


def example(name: str) -> dict[str, Any]:
    text = (files("quaver") / "examples" / f"{name}.yaml").read_text(encoding="utf-8")
    study: dict[str, Any] = YAML(typ="safe").load(text)
    study["items"]["sample"] = 1
    study["measures"] = [
        {**one, "resamples": 20} if isinstance(one, dict) and one["use"] == "factor_effects" else one
        for one in study["measures"]
    ]
    family = study["variants"][0]
    for key, value in SMALL[name].items():
        given = family.get(key)
        if isinstance(given, dict):
            value = {one: {**given.get(one, {}), **value.get(one, {})} for one in {**given, **value}}
        family[key] = value
    return study


@pytest.fixture(params=SMALL)
def ran(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Study]]:
    study = Study.open(example(request.param), folder=tmp_path / "study")
    outcome = study.run()
    assert (outcome.ended, outcome.errors) == ("finished", 0)
    yield request.param, study
    for model in study.models.values():
        model.close()


def test_it_runs_to_its_report(ran: tuple[str, Study]) -> None:
    name, study = ran
    frame = study.annotations()
    assert len(frame) == CALLS[name] * len(study.spec.evaluators)
    factors = study.experiment.variants[0].factors
    assert all(frame[factor].null_count() == 0 for factor in factors)
    if name == "treatments":
        assert frame["temperature"].unique().sort().to_list() == [0.2, 1.0]
    lock = json.loads((study.folder / "study.lock.json").read_text(encoding="utf-8"))
    assert [one["factors"] for one in lock["variants"]] == [
        dict(variant.factors) for variant in study.experiment.variants
    ]
    assert study.report().exists()


def test_half_of_the_factorial_states_its_aliasing_in_plan_lock_and_report(tmp_path: Path) -> None:
    asked = example("factorial")
    asked["variants"][0]["fraction"] = "1/2"
    asked["models"] = [{"name": "mine", "use": "function"}]
    asked["measures"] = ["compliance"]
    study = Study.open(asked, folder=tmp_path / "half", functions={"mine": lambda text, prompt: "Dole"})
    plan = study.plan()
    assert (plan.variants, plan.calls) == (8, 8)
    relation = "Defining relation: I = definition × output × explanation × length."
    assert relation in plan.notes
    study.run()
    assert relation in json.loads((study.folder / "study.lock.json").read_text(encoding="utf-8"))["notes"]
    assert relation in study.report().read_text(encoding="utf-8")


QUESTIONS = {
    "questions.csv": "id,context,question,answer0,answer1,label\n"
    "q1,It rained.,Was it wet?,Yes.,No.,0\nq2,It shone.,Was it wet?,Yes.,No.,1\n",
    "questions.jsonl": '{"stem": "Is ice cold?", "options": {"A": "Yes.", "B": "No."}, "answer": "A"}\n'
    '{"stem": "Is fire cold?", "options": ["Yes.", "No."], "answer": "B"}\n',
}
READ = {
    "questions.csv": {
        "task": {"labels": ["A", "B"], "options": ["answer0", "answer1"]},
        "items": {
            "id": "id",
            "gold": {"column": "label", "map": {"0": "A", "1": "B"}},
            "text": "{{ context }}\n\n{{ question }}\n{{ options }}",
        },
    },
    "questions.jsonl": {
        "task": {"labels": ["A", "B"], "options": "options"},
        "items": {"gold": "answer", "text": "{{ stem }}\n{{ options }}"},
    },
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_treatments_take_a_file_of_questions(tmp_path: Path, name: str) -> None:
    written(tmp_path, items=QUESTIONS[name], name=name)
    asked: dict[str, Any] = {
        "task": READ[name]["task"],
        "items": {**READ[name]["items"], "source": str(tmp_path / name)},
        "prompt": {"instruction": "Which option is right?"},
        "variants": ["treatments"],
        "models": [{"name": "mine", "use": "function"}],
        "evaluators": ["final_line"],
    }
    seen: list[str] = []

    def annotate(text: str, prompt: str) -> str:
        seen.append(text)
        return "A) Yes.\nFINAL: A"

    study = Study.open(asked, folder=tmp_path / "study", functions={"mine": annotate})
    study.run()
    frame = study.annotations()
    assert len(frame) == 2 * 6
    assert all("A) Yes.\nB) No." in text for text in seen)
    right = frame.filter(pl.col("label").cast(pl.String) == pl.col("gold").cast(pl.String))
    assert len(right) == 6
