"""Data flows one way: no stage imports another one, and what they share imports no stage."""

import ast
from functools import cache
from pathlib import Path

import pytest

import quaver

ROOT = Path(quaver.__file__).parent
STAGES = {
    "design": {"design"},
    "collect": {"collect"},
    "models": {"models", "collect"},  # recorded answers are read from a study's store
    "score": {"score"},
    "estimation": {"estimation"},
    "agreement": {"agreement", "estimation"},
    "gold": {"gold", "agreement", "estimation"},
    "correction": {"correction", "estimation"},
    "measures": {"measures", "agreement", "correction", "estimation"},
    "report": {"report"},
}
SHARED = {"core", "errors", "_secrets"}


@cache
def imported(path):
    """The parts of Quaver that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{one.name}" for one in node.names}
    return {name.split(".")[1] for name in found if name.startswith("quaver.")}


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_a_stage_imports_what_is_shared_and_no_other_stage(stage):
    for path in (ROOT / stage).rglob("*.py"):
        assert imported(path) <= STAGES[stage] | SHARED, path.name


def test_what_is_shared_imports_no_stage():
    for path in [ROOT / "errors.py", ROOT / "_secrets.py", *(ROOT / "core").glob("*.py")]:
        assert imported(path) <= SHARED, path.name


def test_only_the_commands_print():
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "cli" not in path.relative_to(ROOT).parts and "print(" in text:
            calls = (one.func for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call))
            assert not [one.lineno for one in calls if isinstance(one, ast.Name) and one.id == "print"], path
