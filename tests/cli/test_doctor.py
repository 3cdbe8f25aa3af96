"""``quaver doctor`` on a model and on a study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.commands import FUNCTIONS, here
from tests.studies import written


@pytest.mark.long
def test_a_model_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = here(
        tmp_path,
        "doctor",
        "smollm2-135m-instruct",
        "--prompts",
        "2",
        monkeypatch=monkeypatch,
        capsys=capsys,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("smollm2")]
    # answers, other text, other top token, same bits, largest shift: the default repeats itself
    assert [row[1:] for row in rows] == [
        ["again", "2", "0", "0", "2", "0.0000"],
        ["reordered", "2", "0", "0", "2", "0.0000"],
        ["together", "8", "0", "0", "8", "0.0000"],
    ]


@pytest.mark.long
def test_a_model_that_does_not_repeat_itself_is_told_how_it_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("doctor", "smollm2-135m-instruct", "--prompts", "2", "--mode", "fast")
    done = here(tmp_path, *asked, monkeypatch=monkeypatch, capsys=capsys)
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("smollm2")]
    differs = any(row[3] != "0" or row[5] != row[2] for row in rows)
    assert ("mode: repeatable" in done.stdout) == differs


def test_a_study_keeps_the_figure_for_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path)
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    done = here(
        tmp_path,
        "doctor",
        str(path),
        "--function",
        "fake=functions:same",
        monkeypatch=monkeypatch,
        capsys=capsys,
    )
    assert done.returncode == 0, done.stderr
    (rows,) = (
        rows for name, rows in json.loads((tmp_path / "noise.json").read_text()).items() if name != "checksum"
    )
    assert [(row["way"], row["other_text"], row["identical"]) for row in rows] == [
        ("again", 0, None),
        ("reordered", 0, None),
        ("together", 0, None),
    ]


def test_a_model_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = here(tmp_path, "doctor", "smolm2-135m-instruct", monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 2
    assert "did you mean 'smollm2-135m-instruct'?" in done.stderr
