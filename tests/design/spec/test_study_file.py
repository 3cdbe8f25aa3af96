"""Reading study files: what is taken as it is written, and plug-ins' options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML
from tests.studies import STUDY, resolved, written

from quaver.design.spec.json_schema import json_schema
from quaver.design.spec.study_file import Positions, bind, read_study
from quaver.errors import SpecError

CODES = """\
task:
  labels: [1, {code: 0, name: 0}]
items:
  source: items.csv
  text: "{{ text }}"
  gold: {column: truth, map: {5: 1, 6: 0}}
prompt:
  instruction: Is it?
  answers: {1: 2, 0: 3}
variants:
  - use: prompts
    factor: format
    prompts:
      1: {postfix: Say., answers: {1: 7, 0: 8}}
  - use: instructions
    texts: {1: One?, 2: Two?}
models:
  - {name: 1, use: function}
decoding:
  0: {temperature: 0}
"""


def test_whole_numbers_are_codes_wherever_codes_stand(tmp_path: Path) -> None:
    items = "text,truth\nx,5\ny,6\nz,1\n,0\n"
    asked = resolved(written(tmp_path, CODES, items))
    assert asked.labels.codes == ("1", "0")
    assert [label.name for label in asked.labels.labels] == ["1", "0"]
    assert [item.gold for item in asked.items] == ["1", "0", "1", "0"]
    assert asked.variants[0].answers == {"1": "7", "0": "8"}
    assert [v.factors["paraphrase"] for v in asked.variants] == ["original", "1", "2"]
    assert list(asked.decodings) == ["0"]
    assert {condition.model for condition in asked.conditions} == {"1"}


@pytest.mark.parametrize(
    ("labels", "codes"),
    [
        ("[no, yes, on, off, n, y]", ["no", "yes", "on", "off", "n", "y"]),
        ('["\\ud83d\\udd25", cold]', ["\U0001f525", "cold"]),
        ("[007, 08, 9]", ["007", "08", "9"]),
    ],
)
def test_codes_stay_as_written(tmp_path: Path, labels: str, codes: list[str]) -> None:
    study = STUDY.replace("[positive, negative]", labels) + "seed: 007\n"
    spec, _ = read_study(written(tmp_path, study))
    assert [label.code for label in spec.task.labels] == codes
    assert spec.seed == 7, "a number may still be a number"


def test_whole_numbers_are_codes_in_a_mapping_too() -> None:
    spec, _ = read_study(YAML(typ="safe", pure=True).load(CODES))
    assert [label.code for label in spec.task.labels] == ["1", "0"]
    assert spec.prompt.answers == {"1": "2", "0": "3"}
    assert spec.items.gold is not None
    assert spec.items.gold.map == {"5": "1", "6": "0"}


def test_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(b"\xef\xbb\xbf" + STUDY.replace("\n", "\r\n").encode())
    assert read_study(path)[0] == read_study(written(tmp_path))[0]


STUDIES = {
    "codes": CODES,
    "grids and nesting": STUDY
    + "variants: [{use: instructions, texts: {b: B?}}]\nsample: 2\n"
    + "decoding: {hot: {temperature: [0.5, 1], top_p: [0.9], only: {paraphrase: [b]}}}\n",
    "short forms": STUDY
    + "variants: []\nevaluators: [first_label, {use: exact}]\nmeasures: [accuracy]\nbudget:\n",
}


@pytest.mark.parametrize("text", STUDIES.values(), ids=STUDIES)
def test_the_schema_admits_what_the_reader_admits(tmp_path: Path, text: str) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(text, encoding="utf-8")
    read_study(path)
    schema = json.loads(json.dumps(json_schema()))
    document = json.loads(json.dumps(YAML(typ="safe", pure=True).load(text)))
    refused = [one.message for one in jsonschema.Draft202012Validator(schema).iter_errors(document)]
    assert refused == []


# --------------------------------------------------------------------- options of plug-ins


class Shop:
    def __init__(self, size: int, colour: str = "red", *, late: bool = False) -> None:
        self.given = (size, colour, late)


def options(given: dict[str, Any], plugin: Any = Shop) -> dict[str, Any]:
    return bind(plugin, given, Positions(None, {}), ("models", 0))


def test_options_are_converted_to_their_types() -> None:
    assert options({"size": "3", "colour": 5}) == {"size": 3, "colour": "5"}
    assert Shop(**options({"size": 1, "late": True})).given == (1, "red", True)


@pytest.mark.parametrize(
    ("given", "start", "inside"),
    [
        ({"size": 1, "color": "x"}, "models[0].color: unknown key 'color'", "did you mean 'colour'?"),
        ({"size": 1, "usee": "x"}, "models[0].usee: unknown key 'usee'", "did you mean 'use'?"),
        ({}, "models[0].size: 'size' is missing", "a value"),
        ({"size": "big"}, "models[0].size: this value does not fit", "found: 'big'"),
    ],
)
def test_wrong_options_name_the_nearest(given: dict[str, Any], start: str, inside: str) -> None:
    with pytest.raises(SpecError) as caught:
        options(given)
    assert str(caught.value).startswith(start)
    assert inside in str(caught.value)


def test_a_plug_in_that_takes_anything_gets_anything() -> None:
    def anything(**rest: Any) -> None: ...

    assert options({"a": 1, "b": [2]}, anything) == {"a": 1, "b": [2]}
