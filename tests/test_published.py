"""The recipes of published data sets: each can be read, is listed, and says where its data are."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from quaver.replication.published_file import read_published

PUBLISHED = Path(__file__).parents[1] / "examples" / "published"
RECIPES = sorted(path.parent.name for path in PUBLISHED.glob("*/published.yaml"))


@pytest.fixture(name="run", scope="module")
def _run() -> ModuleType:
    """The script that computes all figures again."""
    sys.path.insert(0, str(PUBLISHED))
    spec = importlib.util.spec_from_file_location("published_run", PUBLISHED / "run.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    sys.path.remove(str(PUBLISHED))
    return script


def test_every_recipe_is_run(run: ModuleType) -> None:
    assert sorted(run.SETS) == RECIPES


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "relevance"])
def test_a_recipe_can_be_read(run: ModuleType, name: str) -> None:
    spec, _ = read_published(PUBLISHED / name)
    file = run.SETS[name][1]
    assert file in spec.files
    assert spec.source
    assert spec.numbers or any(one.scores is not None for one in spec.files.values())


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_says_where_its_data_are(run: ModuleType, name: str) -> None:
    text = (PUBLISHED / name / "published.yaml").read_text(encoding="utf-8")
    assert re.search(rf"Get them: clone github\.com/[\w-]+/{run.SETS[name][0]}\b", text)


def test_a_set_is_computed_again_from_its_data(run: ModuleType, tmp_path: Path) -> None:
    data = tmp_path / "FluffFinder" / "Data_LLM"
    data.mkdir(parents=True)
    spec, _ = read_published(PUBLISHED / "fluff")
    columns = ",".join(f"score {n}" for n in range(1, 21))
    for number, file in enumerate(spec.files.values()):
        rows = [f"{text},{','.join(str(1 + (text + number) % 5) for _ in range(20))}" for text in range(10)]
        (tmp_path / "FluffFinder" / file.file).write_text("\n".join([f"T,{columns}", *rows]))
    text, verdicts = run.section("fluff", tmp_path / "FluffFinder", run.SETS["fluff"][1])
    assert verdicts == {"differs": len(spec.numbers)}  # these alphas are 1
    assert "1.000 [" in text


def test_data_that_are_not_there_are_said_to_be_missing(run: ModuleType, tmp_path: Path) -> None:
    text, verdicts = run.section("moves", tmp_path / "nowhere", "steps_100_times")
    assert not verdicts
    assert "Not computed: nowhere is not in the folder of data." in text
