"""``quaver variants`` as a program: what it shows and makes."""

import re
from functools import partial

import pytest
from tests.cli.commands import here, numbers
from tests.studies import STUDY, written

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
def folder(tmp_path):
    family = "variants: [{use: paraphrases, engine: llm, model: fake, k: 2}]\n"
    written(tmp_path, STUDY + family)
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    return tmp_path


@pytest.fixture
def command(monkeypatch, capsys):
    return partial(here, monkeypatch=monkeypatch, capsys=capsys)


def test_every_variant_is_shown_with_what_differs_marked(folder, command):
    done = command(folder, "variants", "study.yaml", *MODEL)
    assert done.returncode == 0, done.stderr
    assert "fake" in done.stderr
    assert 2 in numbers(done.stderr)
    assert "paraphrase=original\n" in done.stdout
    assert "paraphrase=t0.7-1\n  paraphrase: llm (temperature 0.7, seed " in done.stdout
    assert "[-Is this positive-]{+Positive,+} or negative?" in done.stdout
    assert "\\x1b[31m[red]" in done.stdout  # text, and no markup
    assert "\x1b" not in done.stdout  # and no control
    assert numbers(done.stdout.splitlines()[-1]) == [3]
    again = command(folder, "variants", "study.yaml", *MODEL)
    assert again.stderr == ""
    assert again.stdout == done.stdout


def test_run_makes_what_is_missing_and_plan_and_status_do_not(folder, command):
    looked = command(folder, "status", "study.yaml", *MODEL)
    assert looked.returncode == 2
    assert "paraphrases" in looked.stderr
    planned = command(folder, "plan", "study.yaml", *MODEL)
    assert planned.stderr == ""
    assert numbers(planned.stdout.splitlines()[0])[:2] == [3, 3]
    assert re.search(r"\b2 calls\b.*\bparaphrases\b", " ".join(planned.stdout.split()))
    ran = command(folder, "run", "study.yaml", *MODEL)
    assert 2 in numbers(ran.stderr)
    assert numbers(ran.stdout.splitlines()[0])[-2:] == [9, 9]
    shown = command(folder, "status", "study.yaml", *MODEL)
    assert "paraphrases" in shown.stdout


def test_a_collection_shows_the_prompts_of_each_of_its_studies(command, folder):
    (folder / "both.yaml").write_text(
        "name: both\nshared:\n  task: {labels: [positive, negative]}\n"
        '  items: {source: items.csv, id: id, text: "{{ text }}"}\n'
        "  models: [{name: fake, use: function}]\n"
        "studies:\n  short: {prompt: {instruction: Which?}}\n"
        "  long: {prompt: {instruction: Which of these?}}\n",
        encoding="utf-8",
    )
    shown = command(folder, "variants", "both.yaml", *MODEL).stdout
    assert shown.index("Study short") < shown.index("Which?") < shown.index("Study long")
    assert "Which of these?" in shown
