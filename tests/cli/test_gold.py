"""``quaver gold``: what it says, writes and refuses."""

import json
import shlex

import pytest
from tests.cli.commands import here
from tests.gold_study import filled, labelled_study, truths


@pytest.fixture
def folder(tmp_path):
    labelled_study(tmp_path)
    return tmp_path


def test_a_sample_from_forecast_to_labels(folder, monkeypatch, capsys):
    def run(*arguments):
        done = here(folder, "gold", "study.yaml", *arguments, monkeypatch=monkeypatch, capsys=capsys)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "40 of 200 items" in run("--n", "40", "--forecast")
    assert not (folder / "gold").exists()
    said = run("--n", "40", "--coders", "ada,ben", "--overlap", "0.25", "--format", "csv")
    assert "round-1-ada.csv" in said
    for coder in ("ada", "ben"):
        filled(folder / "gold" / f"round-1-{coder}.csv", truths())
    again = said.split("Next: once it is filled in, quaver gold study.yaml ")[1].split()
    assert again == ["--take", "FILE"]
    assert "25 new labels" in run("--take", "gold/round-1-ada.csv", "--take", "gold/round-1-ben.csv")
    status = json.loads(run("--json"))
    assert (status["drawn"], status["labelled"], status["complete"]) == (40, 40, True)
    assert "alpha 1.00 on 10 items" in run()
    assert json.loads(run("--n", "50", "--json"))["forecast"]["size"] == 50
    assert "round-2-ada-2.xlsx" in run("--sheets", "--format", "xlsx")


def test_the_command_that_takes_sheets_back_can_be_typed_whatever_the_study_is_called(
    folder, monkeypatch, capsys
):
    (folder / "study.yaml").rename(folder / "my study.yaml")
    done = here(folder, "gold", "my study.yaml", "--n", "20", monkeypatch=monkeypatch, capsys=capsys)
    words = shlex.split(done.stdout.partition("filled in, quaver ")[2])
    assert words[:2] == ["gold", "my study.yaml"]
    done = here(folder, *words, monkeypatch=monkeypatch, capsys=capsys)
    assert "20 rows without one" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--n", "10", "--take", "x.csv"),
        ("--design", "poisson"),
        ("--n", "10", "--design", "cluster"),
        ("--n", "10", "--format", "pdf"),
        ("--take", "none.csv"),
        ("--adjudicate", "carla"),
        ("--rule", "dice"),
        ("--sheets",),
    ],
)
def test_what_cannot_be_done_is_one_error(folder, arguments, monkeypatch, capsys):
    done = here(folder, "gold", "study.yaml", *arguments, monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
