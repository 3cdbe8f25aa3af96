"""The parts of studies that people change first: half of a factorial design, questions of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ruamel.yaml import YAML
from tests.studies import written

from quaver.design.study_kinds import study_of_kind
from quaver.study.session import Study


def test_half_of_the_factorial_states_its_aliasing_in_plan_lock_and_report(tmp_path: Path) -> None:
    asked: dict[str, Any] = YAML(typ="safe", pure=True).load(study_of_kind("factorial"))
    asked["items"]["sample"] = 1
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
