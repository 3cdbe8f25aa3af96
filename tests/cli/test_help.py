"""The help: whole sentences in groups, examples that parse; and what a shell completes."""

import shlex
import subprocess
import sys

import pytest
import typer
from tests.cli.commands import environment
from typer.testing import CliRunner

from quaver.cli.main import COMMANDS, EVERYDAY, GROUPS, app


def help_of(*command):
    done = CliRunner().invoke(app(), [*command, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    assert done.exit_code == 0, done.output
    return done.output


def test_every_command_stands_under_a_heading_in_one_whole_line():
    lines = help_of().splitlines()
    for title, names in GROUPS.items():
        start = lines.index(f"{title}:") + 1
        for line, name in zip(lines[start:], names, strict=False):
            assert line.split()[0] == name
            assert line.endswith(".")
            assert len(line) <= 80
            assert "..." not in line


def test_the_first_screen_shows_fifteen_commands_and_says_where_the_others_are():
    def shown(*words):
        command = [sys.executable, "-m", "quaver", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
        return [name for name in COMMANDS if f"\n  {name} " in done.stdout + done.stderr]

    assert shown("--help") == shown("help") == shown() == [name for name in COMMANDS if name in EVERYDAY]
    assert len(EVERYDAY) == 15
    assert shown("help", "--all") == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_that_it_accepts(name):
    shown = help_of(name)
    assert all(len(line) <= 80 for line in shown.splitlines())
    examples = [line.strip() for line in shown.partition("Examples:\n")[2].splitlines() if line.strip()]
    assert examples
    program = typer.main.get_command(app([name]))
    for example in examples:
        words = shlex.split(example, comments=True)
        words = words[: words.index(">")] if ">" in words else words
        assert words[:2] == ["quaver", name]
        program.commands[name].make_context(name, words[2:])


def test_help_loads_none_of_the_libraries_of_statistics():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "quaver", "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env=environment(),
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "quaver.cli.main" in loaded
    assert not loaded & {"polars", "numpy", "scipy", "altair", "pydantic", "openai"}


def completed(folder, line):
    """What bash offers at the end of a line."""
    at = len(line.split()) - (not line.endswith(" "))
    asked = {"_QUAVER_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(at)}
    done = subprocess.run(
        [sys.executable, "-m", "quaver"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment() | asked,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_a_shell_completes_commands_and_options(tmp_path):
    assert completed(tmp_path, "quaver mea") == ["measure"]
    assert completed(tmp_path, "quaver measure --und") == ["--undefined"]
