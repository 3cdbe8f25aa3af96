"""What the README shows works as it is written there."""

import re
from pathlib import Path

import pytest

from quaver.cli.main import COMMANDS

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_python_example(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    things = ["film", "book", "play", "song", "meal", "walk", "show", "game", "view", "city", "tale", "day"]
    good = [f"Lovely {thing}!,positive" for thing in things]
    bad = [f"Dull {thing}.,negative" for thing in things]
    Path("items.csv").write_text("\n".join(["text,label", *good, *bad]) + "\n")
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    shown = {"__name__": "readme"}
    exec(compile(code, "README.md", "exec"), shown)
    # Prompts that begin with "Choose" always get positive: half of their labels are wrong, all others right.
    found = shown["found"]
    right = {one.cell["variant"]: one.value for one in found.study.measure("accuracy")}
    assert {name: 0.5 if "choose" in name else 1.0 for name in right} == right
    assert len(right) == 10
    assert found.verdict.kind == "use one prompt only"
    printed = capsys.readouterr().out
    assert all(line in printed for line in found.verdict.lines)
    assert "accuracy (" in printed
    assert found.report.exists()


def test_commands_in_the_table_exist():
    named = set(re.findall(r"^\| `quaver (\w+)", README, re.MULTILINE))
    assert named
    assert named <= set(COMMANDS)


def test_pictures_are_there():
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (Path(__file__).parents[1] / picture).is_file()
