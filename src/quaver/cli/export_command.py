"""``quaver export``: every call with its prompt, answer and readings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.screen import FunctionOption, StudyArgument, open_study, screen


def command(
    study: StudyArgument,
    file: Annotated[Path, typer.Argument(help="Where to: a .jsonl, .csv or .parquet file.")],
    function: FunctionOption = None,
) -> None:
    """Write every call with prompt, raw output, thinking, readings, gold label and correctness to a file."""
    written = open_study(study, function).export(file)
    screen.print(f"{written:,} calls are in {file}.", soft_wrap=True)
