"""Runs a page of the docs as a reader would: files are written, commands typed, their output compared.

A fence with a title (```` ```yaml title="study.yaml" ````) is a file. In a ``console`` fence a line that
starts with ``$`` is a command, the lines below it are what it prints, up to runs of spaces; ``…`` stands
for any lines, or inside a line for any part of it. A ``python`` fence without a title is run.
"""

import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from tests import forked

from quaver.cli import console
from quaver.cli.main import main

DOCS = Path(__file__).parents[1] / "docs"
SHOWN = {"COLUMNS": "110", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
"""How wide the pages' terminal is, and that it has no colours."""

_PLAIN = re.compile(r"quaver [^|&;<>$`]*")
"""A command of Quaver's that needs no shell."""

_FENCE = re.compile(r"^```(\w+)?(?: title=\"([^\"]+)\")?[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def files_of(name):
    """The files that a page shows, by their titles."""
    page = (DOCS / name).read_text(encoding="utf-8")
    return {title: body for _, title, body in _FENCE.findall(page) if title}


def run_page(name, folder, typed=lambda _: None, *, processes=False):
    """Run a page in a folder; how many commands and programs it had.

    Args:
        name: Of the page.
        folder: Where it is run.
        typed: Runs a command without a process of its own and gives what it prints; None for others.
        processes: Whether every command is a process of its own, as it is for a reader.
    """
    ran = 0
    for language, title, body in _FENCE.findall((DOCS / name).read_text(encoding="utf-8")):
        if title:
            (folder / title).parent.mkdir(parents=True, exist_ok=True)
            (folder / title).write_text(body, encoding="utf-8")
        elif language == "console":
            ran += _console(body, folder, typed, processes=processes)
        elif language == "python":
            _printed(forked.command("-c", body), folder)
            ran += 1
    return ran


def _console(body, folder, typed, *, processes):
    sessions = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
    for session in sessions:
        command, _, told = session.partition("\n")
        printed = typed(command)
        if printed is None and not processes and _PLAIN.fullmatch(command):
            printed = _in_process(shlex.split(command), folder)
        printed = _printed(["bash", "-c", command], folder) if printed is None else printed
        _compare(told, printed, command)
    return len(sessions)


def _in_process(words, folder):
    """What a command of Quaver's prints, without a process of its own: what it imports is there already."""
    before, here, arguments = set(sys.modules), Path.cwd(), sys.argv
    out = io.StringIO()
    status = 0
    width = int(SHOWN["COLUMNS"])
    with (
        patch.dict(os.environ, SHOWN),
        # A console keeps the width that it found when it was made, which another test may have set.
        patch.object(console.screen, "_width", width),
        patch.object(console.errors, "_width", width),
        redirect_stdout(out),
        redirect_stderr(out),
    ):
        os.chdir(folder)
        sys.argv = words
        try:
            main()
        except SystemExit as ended:
            status = ended.code or 0
        finally:
            os.chdir(here)
            sys.argv = arguments
            for name in set(sys.modules) - before:  # the page's own: another page has others of that name
                if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                    del sys.modules[name]
    assert status == 0, f"{words}\n{out.getvalue()}"
    return out.getvalue()


def _printed(command, folder):
    environment = os.environ | {
        **SHOWN,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])),
        "PATH": os.pathsep.join(
            [str(forked.path_of_commands()), str(Path(sys.executable).parent), os.environ["PATH"]]
        ),
    }
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}"
    return done.stdout


def _compare(told, printed, command):
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    at, gap = 0, False
    for line in (" ".join(line.split()) for line in told.splitlines() if line.strip()):
        if line == "…":
            gap = True
            continue
        rest = [number for number in range(at, len(lines)) if lines[number]]
        like = re.compile(".*".join(map(re.escape, line.split("…"))))
        found = [n for n in (rest if gap else rest[:1]) if like.fullmatch(lines[n])]
        assert found, f"{command}: no {line!r} in\n{printed}"
        at, gap = found[0] + 1, False
