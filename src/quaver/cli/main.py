"""``quaver``: the commands put together."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import quaver
from quaver.cli import (
    agreement_command,
    bundle_command,
    compare_command,
    demo_command,
    doctor_command,
    evaluators_command,
    export_command,
    import_command,
    init_command,
    measure_command,
    new_command,
    plan_command,
    repair_command,
    report_command,
    rescore_command,
    run_command,
    schema_command,
    status_command,
    variants_command,
    verify_command,
    worst_command,
)
from quaver.cli.screen import errors, screen
from quaver.errors import QuaverError

__all__ = ["app", "main"]


def _show_version(wanted: bool) -> None:
    if wanted:
        screen.print(f"quaver {quaver.__version__}")
        raise typer.Exit


app = typer.Typer(
    name="quaver",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    init_command,
    import_command,
    variants_command,
    plan_command,
    run_command,
    status_command,
    rescore_command,
    evaluators_command,
    measure_command,
    report_command,
    compare_command,
    worst_command,
    export_command,
    bundle_command,
    verify_command,
    repair_command,
    agreement_command,
    doctor_command,
    demo_command,
    schema_command,
    new_command,
):
    app.command(name=command.__name__.rpartition(".")[2].removesuffix("_command"))(command.command)


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version."),
    ] = False,
) -> None:
    """Measures how far the labels that a language model gives to texts can be trusted."""


def main() -> None:
    """Run a command; a user's error is one message and exit status 2."""
    try:
        app()
    except QuaverError as error:
        errors.print(f"Error: {error}", style="red", soft_wrap=True)
        sys.exit(2)
