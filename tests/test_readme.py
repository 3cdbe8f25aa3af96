"""What the README shows works as it is written there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from quaver.cli.main import COMMANDS

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_python_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["text,label", "Lovely!,positive", "Dull.,negative", "Again!,positive", "So so.,negative"]
    Path("items.csv").write_text("\n".join(rows) + "\n")
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    # The curt paraphrase answers positive always: half of its answers are wrong, and the two
    # paraphrases differ on the two negative items.
    assert "accuracy (" in printed
    assert "inter_pss (" in printed
    assert ": 0.500 [" in printed
    assert ": 1.000 [" in printed
    assert (tmp_path / "study" / "report.html").exists()


def test_commands_in_the_table_exist() -> None:
    named = set(re.findall(r"^\| `quaver (\w+)", README, re.MULTILINE))
    assert named
    assert named <= set(COMMANDS)


def test_pictures_are_there() -> None:
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (Path(__file__).parents[1] / picture).is_file()
