"""``quaver report``: one HTML file that says what was found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.screen import HERE, FunctionOption, StudyArgument, open_study, screen


def command(
    study: StudyArgument = HERE,
    to: Annotated[
        Path | None,
        typer.Option(help="The folder to write to; the study's own if left out.", metavar="FOLDER"),
    ] = None,
    function: FunctionOption = None,
) -> None:
    """Write report.html, estimates.csv and figures/ from the stored answers."""
    path = open_study(study, function).report(to)
    screen.print(f"Wrote {path}", soft_wrap=True)
