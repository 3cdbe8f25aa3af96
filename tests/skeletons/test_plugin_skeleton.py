"""What ``quaver new`` writes works as it is: it is lint-clean, typed, tested, and keeps its contract."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from quaver.core import registry
from quaver.errors import QuaverError, UnknownName
from quaver.skeletons.plugin_skeleton import KINDS, opened, write_skeleton

ROOT = Path(__file__).parents[2]


def run(home: Path, *command: str) -> str:
    """What a Python tool prints beside a package that is installed, as far as its metadata say."""
    paths = [home / "src", home / "site", *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(home: Path) -> None:
    """What an installer leaves of the project's metadata."""
    entries = tomllib.loads((home / "pyproject.toml").read_text())["project"]["entry-points"]
    info = home / "site" / "mine-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    tables = [
        "\n".join([f"[{group}]", *(f"{name} = {target}" for name, target in named.items())])
        for group, named in entries.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(tables) + "\n")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of one plug-in of every kind."""
    folder = tmp_path_factory.mktemp("packages") / "my-plugins"
    folder.mkdir()
    for kind in KINDS:
        write_skeleton(kind, f"my_{kind}", folder)
    install(folder)
    return folder


def test_a_new_package_is_clean_and_typed(home: Path) -> None:
    rules = ("--config", str(ROOT / "pyproject.toml"), "--no-cache")
    assert "All checks passed" in run(home, "ruff", "check", *rules, "src")
    assert "All checks passed" in run(home, "ruff", "check", "--no-cache", "--select", "I", "src", "tests")
    for length in ("88", "110"):
        lines = ("--no-cache", "--line-length", length)
        assert "already formatted" in run(home, "ruff", "format", "--check", *lines, "src", "tests")
    typed = ("--strict", "--follow-imports", "silent", "--cache-dir", os.devnull)
    assert "no issues found" in run(home, "mypy", *typed, "src")


def test_new_plug_ins_pass_their_tests_and_keep_their_contracts(home: Path) -> None:
    kept = ("-p", "no:cacheprovider", "-k", "my_", "--pyargs", "tests", "quaver.testing")
    report = home / "passed.xml"
    run(home, "pytest", "-q", f"--junitxml={report}", *kept)
    passed = [
        (case.get("classname", ""), case.get("name", ""))
        for case in ET.parse(report).iter("testcase")
        if case.find("skipped") is None
    ]
    for kind in KINDS:
        own = [name for file, name in passed if file == f"tests.test_my_{kind}"]
        contract = [name for file, name in passed if f"my_{kind}" in name and not file.startswith("tests.")]
        assert own, kind
        assert contract, kind


def test_in_quaver_itself_it_goes_where_its_kind_is(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    wrote = write_skeleton("evaluator", "last_words", tmp_path)
    assert wrote.module.relative_to(tmp_path).as_posix() == "src/quaver/score/evaluators/last_words.py"
    assert wrote.test.relative_to(tmp_path).as_posix() == "tests/score/evaluators/test_last_words.py"
    lines = (tmp_path / "pyproject.toml").read_text().splitlines()
    at = lines.index('last_words = "quaver.score.evaluators.last_words:LastWords"')
    assert lines[at - 1].startswith("label_scores = "), "in order among the others"
    for path in (wrote.module, wrote.test):
        run(tmp_path, "ruff", "check", "--no-cache", str(path))
        run(tmp_path, "ruff", "format", "--check", "--no-cache", str(path))


@pytest.mark.parametrize(
    ("kind", "name", "to", "where"),
    [
        ("evaluator", "Last Word", None, "name"),
        ("evaluator", "class", None, "name"),
        ("evaluator", "exact", None, "name"),
        ("evaluator", "mine", "../elsewhere", "--to"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, kind: str, name: str, to: str | None, where: str) -> None:
    with pytest.raises(QuaverError) as caught:
        write_skeleton(kind, name, tmp_path, to=to)
    assert caught.value.where == where
    assert list(tmp_path.iterdir()) == []


def test_a_measure_of_quavers_own_is_of_a_family(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.raises(QuaverError) as caught:
        write_skeleton("measure", "mine", tmp_path)
    assert "measures/FAMILY" in str(caught.value.expected)
    wrote = write_skeleton("measure", "mine", tmp_path, to="measures/stability")
    assert wrote.entry == 'mine = "quaver.measures.stability.mine:mine"'


def test_a_new_folder_says_what_it_is_for(tmp_path: Path) -> None:
    wrote = write_skeleton("measure", "mine", tmp_path, to="measures/mobility")
    package = wrote.module.parents[2]
    assert wrote.opened == (package / "measures/__init__.py", package / "measures/mobility/__init__.py")
    assert wrote.opened[1].read_text() == '"""Measures: mobility."""\n'
    assert write_skeleton("measure", "other", tmp_path, to="measures/mobility").opened == ()


def test_a_package_that_cannot_be_imported(tmp_path: Path) -> None:
    home = tmp_path / "2026 plugins"
    home.mkdir()
    with pytest.raises(QuaverError) as caught:
        write_skeleton("model", "mine", home)
    assert caught.value.found == "2026_plugins"
    assert list(home.iterdir()) == []


def test_an_unknown_kind(tmp_path: Path) -> None:
    with pytest.raises(UnknownName):
        write_skeleton("evaluater", "mine", tmp_path)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    wrote = write_skeleton("model", "mine", tmp_path)
    before = {path: path.read_text() for path in (wrote.module, wrote.test, wrote.project)}
    with pytest.raises(QuaverError):
        write_skeleton("model", "mine", tmp_path)
    wrote.module.unlink()
    wrote.test.unlink()
    with pytest.raises(QuaverError, match="taken") as caught:
        write_skeleton("model", "mine", tmp_path)
    assert "quaver.models" in str(caught.value.where)
    assert wrote.project.read_text() == before[wrote.project]


def test_every_kind_of_skeleton_is_a_kind_of_plug_in() -> None:
    for shape in KINDS.values():
        assert registry.names(shape.group)


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
