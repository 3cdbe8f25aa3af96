"""The recipes for published labels are valid, and say where to get the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from quaver.replication.published_file import read_published

EXAMPLES = Path(__file__).parents[2] / "examples" / "published"
FOLDERS = sorted(path.parent for path in EXAMPLES.glob("*/published.yaml"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_recipe_is_read(folder: Path) -> None:
    spec, _ = read_published(folder)
    assert spec.source
    assert spec.numbers
    assert "Get them" in (folder / "published.yaml").read_text(encoding="utf-8")


def test_there_are_recipes() -> None:
    assert FOLDERS
