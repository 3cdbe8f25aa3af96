"""The worked changes of CONTRIBUTING.md work: they are made in a copy of the code, from the page alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```(python|diff) title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
STUDY = """\
task: {labels: [kind, unkind]}
items: {source: items.csv, text: "{{ text }}", once: party}
prompt: {instruction: Is this kind?}
variants: [{use: instructions, texts: {curt: "Kind?"}}]
models: [{name: mine, use: function}]
measures: [wobble]
"""


def sections() -> dict[str, str]:
    found = PAGE.split("\n### ")[1:]
    return {text.partition("\n")[0]: text.partition("\n## ")[0] for text in found}


def change(section: str, home: Path) -> set[str]:
    """Make the changes that a section shows; the files that it touches."""
    touched = set()
    for kind, name, body in BLOCK.findall(section):
        path = home / name
        touched.add(name)
        if kind == "python":
            assert not path.exists(), f"{name} is new"
            path.write_text(body, encoding="utf-8")
            continue
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(changed(lines, body)), encoding="utf-8")
    return touched


def changed(lines: Sequence[str], diff: str) -> list[str]:
    """A file's lines with a diff, whose lines need not be neighbours there any more.

    What is added goes after the line that the diff shows above it, or before the one below where none is
    above; a line is replaced whatever it assigns by now.
    """
    signed = [(line[0], line[1:]) for line in diff.splitlines(keepends=True)]
    marks = "".join(sign for sign, _ in signed)
    added = [line for sign, line in signed if sign == "+"]
    assert re.fullmatch(r"\++ | \++ ?|-\++", marks), f"not one addition beside a line that stays:\n{diff}"
    anchor = signed[-1 if marks[0] == "+" else 0][1]
    key = anchor.partition(" = ")[0] + " = " if marks[0] == "-" else anchor
    places = [n for n, line in enumerate(lines) if (line.startswith(key) if marks[0] == "-" else line == key)]
    assert len(places) == 1, f"no place, or several, for:\n{diff}"
    start, end = {" ": (places[0] + 1,) * 2, "+": (places[0],) * 2, "-": (places[0], places[0] + 1)}[marks[0]]
    return [*lines[:start], *added, *lines[end:]]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A copy of the code with all five changes, installed as far as its metadata say."""
    home = tmp_path_factory.mktemp("clone")
    shutil.copy(ROOT / "pyproject.toml", home)
    shutil.copytree(ROOT / "src", home / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (home / "tests").mkdir()
    for name in ("conftest.py", "tests/recipes.py", "tests/local_engines.py"):
        shutil.copy(ROOT / name, home / name)
    for section in sections().values():
        assert len(change(section, home)) <= 3
    entries = tomllib.loads((home / "pyproject.toml").read_text())["project"]["entry-points"]
    info = home / "site" / "quaver-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: quaver\nVersion: 0.1.0\n")
    tables = [[f"[{group}]", *(f"{k} = {v}" for k, v in named.items())] for group, named in entries.items()]
    (info / "entry_points.txt").write_text("\n".join("\n".join(table) for table in tables) + "\n")
    (home / "study.yaml").write_text(STUDY)
    (home / "items.csv").write_text("text,party\na,d\nb,r\nc,d\n")
    (home / "mine.py").write_text(
        'def same(text, prompt):\n    return "kind" if len(text + prompt) % 2 else "unkind"\n'
    )
    return home


@pytest.fixture(scope="module")
def run(home):
    """Runs a module of the copy."""

    def run(*command: str) -> str:
        paths = [home / "site", home / "src", home]
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

    return run


def test_there_are_five_changes():
    assert len(sections()) == 5


def test_the_code_of_the_page_is_clean(home, run):
    names = {name for _, name, _ in BLOCK.findall(PAGE) if name.endswith(".py")}
    run("ruff", "check", "--no-cache", *names)
    run("ruff", "format", "--check", "--no-cache", *names)


@pytest.mark.long
def test_measure_and_provider_keep_their_contracts(run):
    done = run(
        "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "quaver.testing", "-k", "wobble or ollama"
    )
    assert re.search(r"\d+ passed", done)


@pytest.mark.long
def test_the_new_measure_declares_what_the_documentation_says_of_it(run):
    test = ROOT / "tests" / "measures" / "test_missing_treatments.py"
    assert "[wobble]" in run("pytest", "-v", "-p", "no:cacheprovider", str(test))


@pytest.mark.parametrize(
    ("text", "diff", "after"),
    [
        ("a\nx\nb\n", " a\n+n\n b\n", "a\nn\nx\nb\n"),
        ("x\nb\n", "+n\n b\n", "x\nn\nb\n"),
        ("A = {1}\nb\n", "-A = {}\n+A = {2}\n", "A = {2}\nb\n"),
    ],
)
def test_a_diff_survives_the_next_change(text, diff, after):
    assert "".join(changed(text.splitlines(keepends=True), diff)) == after


@pytest.mark.long
def test_command_field_column_and_chart(home, run):
    assert "unkind" in run("quaver", "labels", "study.yaml")
    assert "4 of 4 are stored" in run("quaver", "run", "study.yaml", "--function", "mine=mine:same")
    once = json.loads(run("quaver", "schema"))["$defs"]["ItemsSpec"]["properties"]["once"]
    assert once["description"].startswith("Only the first item")
    assert once["default"] is None
    run("quaver", "report", "study.yaml", "--function", "mine=mine:same")
    assert 'id="figure-wobble"' in (home / "report.html").read_text(encoding="utf-8")
    assert "answer_tokens" in pl.read_parquet_schema(home / "annotations.parquet")


def test_what_the_page_names_exists():
    for target in re.findall(r"`make ([a-z-]+)", PAGE):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target
    for path in re.findall(r"\]\(([^)#:]+)\)", PAGE):
        assert (ROOT / path).exists(), path
