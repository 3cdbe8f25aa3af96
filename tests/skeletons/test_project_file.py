"""An entry point is added as text: comments, order and everything else stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from quaver.errors import QuaverError
from quaver.skeletons.project_file import opened

HEAD = '[project]\nname = "my-plugins"  # mine'


def added(home: Path, text: str, name: str = "m") -> str:
    (home / "pyproject.toml").write_text(text)
    project = opened(home)
    project.add_entry("quaver.models", name, "my_plugins.m:M")
    project.write()
    return (home / "pyproject.toml").read_text()


LINE = 'm = "my_plugins.m:M"'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], ["", '[project.entry-points."quaver.models"]', LINE]),
        (
            ['[project.entry-points."quaver.models"]', 'a = "x:A"', 'z = "x:Z"', "", "[tool.mine]"],
            ['[project.entry-points."quaver.models"]', 'a = "x:A"', LINE, 'z = "x:Z"', "", "[tool.mine]"],
        ),
        (
            ["[project.entry-points.'quaver.models'] # here", 'a = "x:A"', "", "[tool.mine]"],
            ["[project.entry-points.'quaver.models'] # here", 'a = "x:A"', LINE, "", "[tool.mine]"],
        ),
    ],
)
def test_where_the_line_goes(tmp_path: Path, before: list[str], after: list[str]) -> None:
    assert added(tmp_path, "\n".join([HEAD, *before])) == "\n".join([HEAD, *after, ""])


def test_what_cannot_be_edited_says_what_to_write(tmp_path: Path) -> None:
    text = f'{HEAD}\n[project.entry-points]\n"quaver.models" = {{a = "x:A"}}\n'
    with pytest.raises(QuaverError) as caught:
        added(tmp_path, text)
    assert LINE in str(caught.value.fix)
    assert (tmp_path / "pyproject.toml").read_text() == text


@pytest.mark.parametrize("text", ["[project", "[tool.mine]\n", "[project]\nversion = '1'\n"])
def test_what_is_no_project(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(QuaverError) as caught:
        opened(tmp_path)
    assert caught.value.where == str(tmp_path / "pyproject.toml")


def test_the_package_is_found(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(HEAD)
    assert opened(tmp_path).package == tmp_path / "src" / "my_plugins"
    (tmp_path / "my_plugins").mkdir()
    assert opened(tmp_path).package == tmp_path / "my_plugins"
