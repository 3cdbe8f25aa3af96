"""The commands about collecting: plan's costs, status, export."""

import csv
from functools import partial

import pytest
from tests.cli.commands import FUNCTIONS, here, numbers, status
from tests.studies import STUDY, written

VARIED = STUDY + 'variants: [{use: instructions, texts: {curt: "Positive?"}}]\n'
FAKE = ("--function", "fake=functions:same")


@pytest.fixture
def quaver(tmp_path, monkeypatch, capsys):
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    written(tmp_path, VARIED)
    monkeypatch.setenv("COLUMNS", "200")
    return partial(here, tmp_path, monkeypatch=monkeypatch, capsys=capsys)


def test_nobody_knows_what_a_function_costs_unless_it_is_said(quaver, tmp_path):
    done = quaver("plan", *FAKE)
    assert done.returncode == 0, done.stderr
    assert "unknown" in done.stdout
    written(tmp_path, VARIED.replace("use: function}", "use: function, price: 0}"))
    assert "free" in quaver("plan", *FAKE).stdout


def test_status_for_people_and_for_programs(quaver, tmp_path):
    written(tmp_path, VARIED + "budget: {calls: 4}\n")
    run = quaver("run", *FAKE)
    assert run.returncode == 0, run.stderr
    assert "budget of calls" in run.stdout
    assert numbers(run.stdout.splitlines()[-1]) == [2]  # left
    shown = quaver("status", *FAKE).stdout.splitlines()
    assert numbers(shown[0]) == [4, 6]
    found = status(quaver("status", *FAKE, "--json"))
    assert (found["answered"], found["total"], found["errors"], found["left"]) == (4, 6, 0, None)
    assert sum(one["answered"] for one in found["conditions"]) == 4


def test_export_as_a_table(quaver, tmp_path):
    quaver("run", *FAKE)
    done = quaver("export", "study.yaml", "calls.csv", *FAKE)
    assert (numbers(done.stdout), "calls.csv" in done.stdout) == ([6], True)
    rows = list(csv.DictReader((tmp_path / "calls.csv").open(newline="")))
    assert {row["paraphrase"] for row in rows} == {"original", "curt"}
    assert {row["marked_label.correct"] for row in rows} == {"true", ""}
    wrong = quaver("export", "study.yaml", "calls.xls", *FAKE)
    assert wrong.returncode == 2
    assert all(kind in wrong.stderr for kind in (".jsonl", ".csv", ".parquet"))


def test_errors_are_counted_by_kind(quaver):
    run = quaver("run", "--function", "fake=functions:broken")
    assert "--retry-errors" in run.stdout
    shown = quaver("status", "--function", "fake=functions:broken").stdout
    assert numbers(shown.splitlines()[0]) == [6, 6, 6]
    assert "ValueError" in shown
    assert "\x1b" not in shown


def test_a_finished_run_ends_with_the_verdict_and_the_next_command(quaver):
    first, again = quaver("run", *FAKE), quaver("run", *FAKE)
    assert first.stdout.splitlines()[-4:] == again.stdout.splitlines()[-4:]
    *_, what, moves, then, command = again.stdout.splitlines()
    shown = status(quaver("status", *FAKE, "--json"))["verdict"]
    assert shown["lines"] == [what, moves, then]
    assert [(one["model"], one["kind"]) for one in shown["models"]] == [("fake", "cannot tell")]
    assert command.split()[-2:] == ["quaver", "report"]


def test_the_command_that_draws_more_gold_labels_runs_as_it_is_printed(quaver, tmp_path):
    rows = [
        f"{at},text {at},{prompt},{'ab'[at % 2]},{'ab'[(at + (at == 3)) % 2] if at < 12 else ''}"
        for at in range(300)
        for prompt in "vw"
    ]
    (tmp_path / "labels.csv").write_text("id,text,prompt,label,gold\n" + "\n".join(rows) + "\n")
    roles = "{source: labels.csv, item: id, text: text, label: label, variant: [prompt], gold: gold}"
    (tmp_path / "study.yaml").write_text(f"task: {{labels: [a, b]}}\nannotations: {roles}\n")
    *_, typed = quaver("status").stdout.splitlines()
    words = typed.removeprefix("Next: quaver ").split()
    assert words[0] == "gold"
    drawn = quaver(*words)
    assert drawn.returncode == 0
    assert (tmp_path / "gold" / "draw.csv").read_text().count(",true,") == int(words[2])
    assert quaver("status").stdout.splitlines()[-1] == "Next: quaver gold"  # which names the sheets
    assert quaver("gold").returncode == 0
