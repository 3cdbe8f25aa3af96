"""``quaver new`` at a prompt."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.commands import here


def test_a_new_plug_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "my-plugins"
    home.mkdir()
    done = here(home, "new", "evaluator", "last_word", monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 0
    for path in ("src/my_plugins/last_word.py", "tests/test_last_word.py", "pyproject.toml"):
        assert (home / path).is_file()
        assert path in done.stdout
    again = here(home, "new", "evaluator", "last_word", monkeypatch=monkeypatch, capsys=capsys)
    assert again.returncode == 2
