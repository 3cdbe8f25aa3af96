"""Functions that the commands' tests hand over as models, and how the commands are run."""

import inspect
import json
import os
import re
import subprocess
import sys

import pytest

from quaver.cli.main import COMMANDS, function_of, main

FUNCTIONS = """\
import os, time

def same(text, prompt):
    return "positive" if "like" in text else "negative"

def slow(text, prompt):
    with open("asked", "a") as file:
        file.write("x\\n")
    time.sleep(0.3)
    return "positive"

def broken(text, prompt):
    raise ValueError("[red]no[/red] \\x1b[31m")

def hostile(text, prompt):
    return "[bold]positive[/bold] \\x1b]0;title\\x07"
"""


def quaver(folder, *arguments):
    """Run a command in a folder, as at a prompt."""
    return subprocess.run(
        [sys.executable, "-m", "quaver", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment(),
    )


def of_a_study(named):
    """The commands of a study that end by themselves and are not named, called with nothing else."""
    known = {one[0] for one in named}
    return [(name, "study.yaml") for name in COMMANDS if name not in known and _takes_a_study(name)]


def _takes_a_study(name):
    parameters = inspect.signature(function_of(name)).parameters
    return (
        "study" in parameters and "port" not in parameters
    )  # what serves a page goes on until it is stopped


def here(folder, *arguments, monkeypatch, capsys):
    """The same without a process of its own."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["quaver", *arguments])
    sys.modules.pop("functions", None)
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    code = ended.value.code
    status = code if isinstance(code, int) else 0
    return subprocess.CompletedProcess(list(arguments), status, captured.out, captured.err)


def numbers(text):
    """The whole numbers of a text, in order."""
    return [int(one.replace(",", "")) for one in re.findall(r"(?<![\w.])\d[\d,]*(?![\w.]*\d)", text)]


def status(done):
    """What ``quaver status --json`` printed."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def environment():
    """As at a prompt, wide enough that no line is broken."""
    return {**os.environ, "COLUMNS": "200", "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
