"""The schema for editors: it knows every name, describes every key, and judges a study as the reader does."""

import json
import re
from importlib.metadata import EntryPoint
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML
from tests.studies import STUDY, changed

import quaver
from quaver.core import registry
from quaver.design.spec.json_schema import json_schema

ROOT = Path(__file__).parents[3]
FILES = sorted(
    path
    for path in (Path(quaver.__file__).parent / "examples").rglob("*.yaml")
    if "\ntask:" in "\n" + path.read_text(encoding="utf-8")
)
SCHEMA = json_schema()
CASES = YAML(typ="safe").load(ROOT / "tests" / "data" / "mistakes.yaml")


def refused(study, schema=SCHEMA):
    """What an editor marks in a study."""
    document = json.loads(json.dumps(YAML(typ="safe", pure=True).load(study)))
    return [one.message for one in jsonschema.Draft202012Validator(schema).iter_errors(document)]


def parts(node, path=""):
    """Every key of the study file with its schema."""
    if isinstance(node, dict):
        for name, part in node.get("properties", {}).items():
            yield f"{path}.{name}", part
        for name, part in node.items():
            yield from parts(part, f"{path}.{name}")
    elif isinstance(node, list):
        for part in node:
            yield from parts(part, path)


def test_every_key_is_described():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    found = list(parts(SCHEMA))
    assert len(found) > 100
    assert [path for path, part in found if len(part.get("description", "")) < 5] == []
    assert all("description" in one or "anyOf" in one for one in SCHEMA["$defs"].values())
    assert SCHEMA["$id"]


def test_examples_are_what_the_schema_admits():
    shown = [(path, part, example) for path, part in parts(SCHEMA) for example in part.get("examples", ())]
    assert len(shown) > 10
    for path, part, example in shown:
        whole = {**part, "$defs": SCHEMA["$defs"]}
        assert jsonschema.Draft202012Validator(whole).is_valid(json.loads(json.dumps(example))), path


def test_names_of_other_packages_are_known(monkeypatch):
    study = STUDY + "measures: [wobble]\n"
    assert refused(study)
    known = registry._entries("measures") | {"wobble": EntryPoint("wobble", "m:w", "quaver.measures")}
    monkeypatch.setattr(registry, "_entries", lambda kind: known if kind == "measures" else {})
    assert refused(study, json_schema()) != refused(study)
    assert "wobble" in json.dumps(json_schema())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_study_file_is_admitted(path):
    assert refused(path.read_text(encoding="utf-8")) == []


def test_the_studies_on_the_pages_are_admitted():
    fence = re.compile(r"^```yaml[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [text for page in pages for text in fence.findall(page.read_text(encoding="utf-8"))]
    whole = re.compile(r"^(?:models|annotations):", re.MULTILINE)
    studies = [text for text in texts if "task:" in text and whole.search(text) and "…" not in text]
    assert len(studies) >= 3
    assert [(text, refused(text)) for text in studies if refused(text)] == []


MARKED = (
    *("a misspelt key", "temperature", "a measure", "an evaluator", "a family", "none at all"),
    *("an engine of paraphrases", "a follow-up", "an engine", "a single label", "the level"),
    *("measures as a text", "a list of decodings", "a budget's key", "a budget as a number"),
    "14: decoding.hot.temprature ('temperature')",
)
"""Of the mistakes in study files some that an editor can know."""
WRONG = [one.get("more") or (one["old"], one["new"]) for one in CASES if one["mistake"] in MARKED]
WRONG += ["measures: [{use: accurate}]", "measures: [{use: inter_pss, estimand: all}]"]
WRONG += ["small: {itmes: {sample: 3}}", ("use: function", "use: function, price: {input: cheap, output: 1}")]


@pytest.mark.parametrize("change", WRONG, ids=str)
def test_a_mistake_is_marked(change):
    assert refused(changed(change))
