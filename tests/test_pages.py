"""What the pages of the docs show works as it is written there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.pages import run_page


@pytest.mark.parametrize(
    "page",
    [
        *("import.md", "compare.md", "bundle.md", "extending.md", "conclusions.md", "improve.md"),
        *("notebook.md", "groups.md"),
    ],
)
def test_page(page: str, tmp_path: Path) -> None:
    assert run_page(page, tmp_path) > 0
