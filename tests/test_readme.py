"""What the README shows works as it is written there."""

import json
import re
from contextlib import suppress
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML
from tests.pages import DOCS, run_page
from tests.studies import ITEMS, STUDY, written

from quaver.cli.main import COMMANDS
from quaver.design.spec import StudySpec
from quaver.design.spec.json_schema import json_schema
from quaver.design.spec.study_file import read_study
from quaver.errors import ModelError
from quaver.study.session import Study
from quaver.study.sources.study_file_source import StudyFile

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_python_example(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    things = ["film", "book", "play", "song", "meal", "walk", "show", "game", "view", "city", "tale", "day"]
    good = [f"Lovely {thing}!,positive" for thing in things]
    bad = [f"Dull {thing}.,negative" for thing in things]
    Path("items.csv").write_text("\n".join(["text,label", *good, *bad]) + "\n")
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    shown = {"__name__": "readme"}
    exec(compile(code, "README.md", "exec"), shown)
    # Prompts that begin with "Choose" always get positive: half of their labels are wrong, all others right.
    found = shown["found"]
    right = {one.cell["variant"]: one.value for one in found.study.measure("accuracy")}
    assert {name: 0.5 if "choose" in name else 1.0 for name in right} == right
    assert len(right) == 10
    assert found.verdict.kind == "use one prompt only"
    printed = capsys.readouterr().out
    assert all(line in printed for line in found.verdict.lines)
    assert "accuracy (" in printed
    assert found.report.exists()


def test_commands_in_the_table_exist():
    named = set(re.findall(r"^\| `quaver (\w+)", README, re.MULTILINE))
    assert named
    assert named <= set(COMMANDS)


def test_pictures_are_there():
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (Path(__file__).parents[1] / picture).is_file()


_FENCE = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SCHEMA = jsonschema.Draft202012Validator(json_schema())
PAGES = ("batches", "collecting", "engines", "evaluators", "models", "paraphrases", "variants")


def fragments():
    """Each part of a study file without dots in it, beside the study that it belongs to."""
    found = []
    for page in PAGES:
        parts = _FENCE.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
        whole = parts[0] if page == "variants" else STUDY
        for number, text in enumerate(parts):
            if "…" not in re.sub("#.*", "", text):
                found.append(pytest.param(whole, text, id=f"{page}-{number}"))
    return found


@pytest.mark.parametrize(("whole", "text"), fragments())
def test_a_part_of_a_study_file_can_stand_in_one(whole, text, tmp_path, monkeypatch):
    yaml = YAML(typ="safe", pure=True)
    part = yaml.load(text)
    if isinstance(part, list):
        part = {"models": part}
    if not set(part) <= set(StudySpec.model_fields):
        part = {"variants": [{"use": "factors", **part}]}
    given = yaml.load(whole) | {"name": "part"} | part
    assert [one.message for one in SCHEMA.iter_errors(json.loads(json.dumps(given)))] == []
    source = StudyFile(*read_study(given), tmp_path, {})
    source.plugins.check_named()
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://example.openai.azure.com/openai/v1")
    with suppress(ModelError):  # a key, weights or a function that are not here
        source.plugins.models()


def test_commands_of_pages_about_one_study(tmp_path):
    varied = STUDY + 'variants:\n  - {use: instructions, texts: {curt: "Positive?"}}\n'
    for name in (".", "STUDY"):
        path = written(tmp_path / name, varied, ITEMS)
        Study.open(path, functions={"fake": lambda text, prompt: "A positive."}).run()
    assert run_page("evaluators.md", tmp_path) == 3
