"""Estimates as tables on the terminal."""

import io
import re

from rich.console import Console

from quaver.cli import console
from quaver.cli.console import say_command, texts
from quaver.cli.measuring import estimates_tables
from quaver.core.records import Estimate
from quaver.study.collection.study_status import StudyStatus


def test_the_unit_says_which_prompts_an_interval_holds_for():
    rows = [
        Estimate(
            "accuracy",
            0.66,
            0.58,
            0.73,
            n=100,
            unit="item and prompt",
            cell={"model": "m"},
            estimand="population",
            details={"prompts": 5},
        )
    ]
    screen = Console(width=80)
    with screen.capture() as shown:
        for one in estimates_tables(rows):
            screen.print(one)
    lines = shown.get().splitlines()
    assert lines[1].split() == ["value", "95%", "interval", "n", "unit"]
    assert lines[2].rstrip().endswith("item and prompt, for prompts like these 5")


def test_a_line_of_a_text_may_be_written_in_several():
    status = StudyStatus(5, 4, sent=7, received=6, discarded=1, discarded_tokens=30.0)
    lines = texts("status", REACHED={})("progress", status)
    assert lines[0] == "4 of 5 calls are answered."
    assert lines[1].startswith("7 requests were sent and 6 replies came; 1 gave no answer and used 30 of")
    assert len(lines) == 2


def test_a_command_that_is_too_long_is_copied_whole(monkeypatch):
    screen = console._Screen(width=40, file=io.StringIO(), force_terminal=True, color_system=None)
    monkeypatch.setattr(console, "screen", screen)
    command = "quaver label 'my fine texts.csv' --check 'a b' --function model:annotate"
    say_command("Next:", command)
    head, *lines = screen.file.getvalue().splitlines()
    assert head == "Next:"
    assert all(len(line) <= 40 for line in lines)
    assert re.sub(r" \\\n\s*", " ", "\n".join(lines)) == command
