"""The studies under examples that vary a prompt's parts, on one item and the real embedded model."""

from importlib.resources import files

import pytest
from ruamel.yaml import YAML

from quaver.study.session import Study

pytestmark = pytest.mark.long

CALLS = {"base_model": 2, "labels": 2 * 2, "options": 3 * 2, "placement": 2, "shots": 1 + 3 + 3}
"""Variants, by hand."""


def example(name):
    folder = files("quaver") / "examples"
    study = YAML(typ="safe", pure=True).load((folder / f"{name}.yaml").read_text(encoding="utf-8"))
    if study["items"]["source"] == "questions.jsonl":
        study["items"]["source"] = str(folder / "questions.jsonl")
    study["items"]["sample"] = 1
    return study


@pytest.mark.parametrize("name", CALLS)
def test_it_runs_to_its_estimates(name, tmp_path):
    study = Study.open(example(name), folder=tmp_path / "study")
    outcome = study.run()
    for model in study.source.models.values():
        model.close()
    assert (outcome.ended, outcome.errors, outcome.done) == ("finished", 0, CALLS[name])
    assert {one.measure for one in study.estimates()} == {asked.use for asked in study.spec.measures}
