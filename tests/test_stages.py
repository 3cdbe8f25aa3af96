"""Data flows one way: no stage imports another one, and what they share imports no stage."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import quaver

ROOT = Path(quaver.__file__).parent
STAGES = {"design", "collect", "score", "measure", "report"}
SHARED = [
    *("arguments", "boundary", "cells", "errors", "label_cells", "printed", "quality_in_words", "records"),
    *("meter", "registry", "secrets", "seeds", "shown", "spreadsheet", "terms", "verdicts"),
]
MAY = {("models/stored_answers.py", "collect")}
"""Recorded answers are read from a study's store."""


def imported(path: Path) -> set[str]:
    """The parts of Quaver that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{one.name}" for one in node.names}
    return {name.split(".")[1] for name in found if name.startswith("quaver.")}


@pytest.mark.parametrize("stage", sorted(STAGES | {"models"}))
def test_a_stage_imports_what_is_shared_and_no_other_stage(stage: str) -> None:
    allowed = {stage, *SHARED} | ({"models"} if stage == "collect" else set())
    for path in (ROOT / stage).rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        other = imported(path) - allowed
        assert {(name, one) for one in other} <= MAY


@pytest.mark.parametrize("name", SHARED)
def test_what_is_shared_imports_no_stage(name: str) -> None:
    assert imported(ROOT / f"{name}.py") <= set(SHARED)


def test_collect_knows_models_by_their_protocols_alone() -> None:
    for path in (ROOT / "collect").rglob("*.py"):
        assert "quaver.models." not in path.read_text(encoding="utf-8"), path.name


def test_only_the_commands_print() -> None:
    for path in ROOT.rglob("*.py"):
        if "cli" not in path.relative_to(ROOT).parts:
            calls = (n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call))
            assert not [n.lineno for n in calls if isinstance(n.func, ast.Name) and n.func.id == "print"], (
                path
            )
