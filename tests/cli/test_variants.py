"""``quaver variants`` as a program: what it shows, makes, writes and takes back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.cli.commands import here
from tests.studies import STUDY, written

Command = Callable[..., subprocess.CompletedProcess[str]]
MODEL = ("--function", "fake=functions:model")
FUNCTIONS = """\
made = []

def model(text, prompt):
    if prompt.startswith("Put the instruction"):
        made.append(prompt)
        return ["Positive, or negative?", "\\x1b[31m[red]Is it negative or positive?"][len(made) % 2]
    return "positive"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    family = "variants: [{use: paraphrases, engine: llm, model: fake, k: 2}]\n"
    written(tmp_path, STUDY + family + "meaning: {by: lexical}\n")
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    return tmp_path


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return partial(here, monkeypatch=monkeypatch, capsys=capsys)


def test_every_variant_is_shown_with_what_differs_marked(folder: Path, command: Command) -> None:
    done = command(folder, "variants", "study.yaml", *MODEL)
    assert done.returncode == 0, done.stderr
    assert "Making 2 paraphrases at temperature 0.7 from fake …" in done.stderr
    assert "paraphrase=original\n" in done.stdout
    assert "paraphrase=t0.7-1\n  paraphrase: llm (temperature 0.7, seed " in done.stdout
    assert "similarity 0." in done.stdout
    assert "[-Is this positive-]{+Positive,+} or negative?" in done.stdout
    assert "\\x1b[31m[red]" in done.stdout  # text, and no markup
    assert "\x1b" not in done.stdout  # and no control
    assert "3 variants" in done.stdout
    again = command(folder, "variants", "study.yaml", *MODEL)
    assert again.stderr == ""
    assert again.stdout == done.stdout


def test_a_table_is_written_edited_and_taken_back(folder: Path, command: Command) -> None:
    done = command(folder, "variants", "study.yaml", "--export", "table.csv", *MODEL)
    assert done.stdout == "2 texts are in table.csv; edit the column text, then --import it.\n"
    table = folder / "table.csv"
    table.write_text(
        table.read_text(encoding="utf-8").replace("Positive, or", "Positive or"), encoding="utf-8"
    )
    done = command(folder, "variants", "study.yaml", "--import", "table.csv", *MODEL)
    assert "instruction edited\n1 texts edited" in done.stdout
    (edit,) = json.loads((folder / "paraphrases.json").read_text(encoding="utf-8"))["edits"]
    assert (edit["before"], edit["after"]) == ("Positive, or negative?", "Positive or negative?")


def test_run_makes_what_is_missing_and_plan_and_status_do_not(folder: Path, command: Command) -> None:
    looked = command(folder, "status", "study.yaml", *MODEL)
    assert looked.returncode == 2
    assert "have not been made yet" in looked.stderr
    planned = command(folder, "plan", "study.yaml", *MODEL)
    assert planned.stderr == ""
    assert "3 items × 3 variants" in planned.stdout
    assert "2 calls of fake or more are to make paraphrases" in " ".join(planned.stdout.split())
    ran = command(folder, "run", "study.yaml", *MODEL)
    assert "Making 2 paraphrases" in ran.stderr
    assert "9 of 9 are stored" in ran.stdout
    stands = command(folder, "status", "study.yaml", *MODEL)
    assert "calls made paraphrases" in stands.stdout
