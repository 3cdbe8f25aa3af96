"""The documentation as a site: it builds without a warning, and has a page for everything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from quaver.cli.main import COMMANDS
from quaver.core import registry

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_measure_has_a_page_with_its_worked_number_and_source(site: Path) -> None:
    for name in registry.names("measures"):
        page = (site / "measures" / name / "index.html").read_text(encoding="utf-8")
        for part in ("&gt;&gt;&gt;", "ndefined", "Source: ", "Every measure"):
            assert part in page, (name, part)


def test_every_command_is_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "commands" / "index.html").read_text(encoding="utf-8")
    for command in COMMANDS:
        assert f"quaver {command}" in page


def test_nothing_is_requested_from_a_network(site: Path) -> None:
    loaded = re.compile(r"<(?:script|link|img)[^>]+(?:src|href)=\"?https?://(?!squidfunk)", re.IGNORECASE)
    for page in site.rglob("*.html"):
        found = [one for one in loaded.findall(page.read_text(encoding="utf-8")) if "canonical" not in one]
        assert not found, page
