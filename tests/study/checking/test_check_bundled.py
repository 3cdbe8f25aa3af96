"""A check on the bundled model, from the command to the report."""

import csv
from pathlib import Path

import pytest
from tests.study.checking.test_check import TEXTS, said


@pytest.mark.long
def test_a_small_check_on_the_bundled_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with Path("texts.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("tweet", "gold"), *TEXTS])
    with pytest.raises(SystemExit) as ended:
        said(monkeypatch, "check", "texts.csv", "--n", "10", "--prompts", "2", "--to", "found")
    assert ended.value.code in (0, None)
    shown = capsys.readouterr().out
    assert "10 of 30" in shown
    assert "30 texts × 2 prompts" in shown
    assert "Next: " in shown
    assert Path("found/report.html").is_file()
    assert "constraint: labels" in Path("found/study.yaml").read_text(encoding="utf-8")
