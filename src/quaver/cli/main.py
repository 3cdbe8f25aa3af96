"""``quaver``: the commands, together."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

import quaver
from quaver.cli.console import errors, say, screen
from quaver.errors import QuaverError

COMMANDS = (
    *("init", "import", "variants", "plan", "run", "status", "rescore", "evaluators", "measure", "certify"),
    *(
        "report",
        "compare",
        "worst",
        "export",
        "bundle",
        "verify",
        "repair",
        "agreement",
        "doctor",
        "demo",
        "schema",
        "new",
    ),
)
"""In the order of the help; the command NAME is the function ``command`` of ``NAME_command.py``."""


def _show_version(wanted: bool) -> None:
    if wanted:
        screen.print(f"quaver {quaver.__version__}")
        raise typer.Exit


def app(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """The program with these commands; the modules of others are not loaded."""
    made = typer.Typer(
        name="quaver",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    made.callback()(_options)
    for name in commands:
        made.command(name=name)(import_module(f"quaver.cli.{name}_command").command)
    return made


def _options(
    show_version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version."),
    ] = False,
) -> None:
    """Measure how far you can trust the labels that a language model gives to texts."""


def main() -> None:
    """Run a command; a user's error is one message and exit status 2."""
    try:
        app([name for name in COMMANDS if name in sys.argv[1:2]] or COMMANDS)()
    except QuaverError as error:
        say(f"Error: {error}", on=errors, style="red")
        sys.exit(2)
