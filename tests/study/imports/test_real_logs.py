"""Logs as the tools themselves wrote them are read without an option."""

from __future__ import annotations

from pathlib import Path

import pytest

from quaver.study.imports.label_import import import_annotations

LOGS = Path(__file__).parents[3] / "docs" / "logs"
HELD = {
    "inspect.json": ("inspect-ai", 4, 8),
}
"""Who wrote each, its items, and its answers."""


@pytest.mark.parametrize("name", HELD)
def test_a_log_is_read_without_an_option(name: str, tmp_path: Path) -> None:
    tool, items, answers = HELD[name]
    study, taken = import_annotations(LOGS / name, tmp_path / "study")
    assert f"of {tool}" in {one.why for one in taken if one.role == "log"}
    assert (len(study.experiment.items), len(study.annotations())) == (items, answers)
