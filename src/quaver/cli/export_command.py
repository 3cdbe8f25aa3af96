"""``quaver export``: every call with its prompt, answer and annotations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.console import say
from quaver.cli.study_options import FunctionOption, StudyArgument, open_study


def command(
    study: StudyArgument,
    file: Annotated[Path, typer.Argument()],
    function: FunctionOption = None,
) -> None:
    """Write every call to a file, with prompt, answer and labels.

    Options:
      file: A .jsonl, .csv or .parquet file.

    Examples:
      quaver export study.yaml calls.parquet
      quaver export study.yaml calls.csv
    """
    written = open_study(study, function).export(file)
    say(f"{written:,} calls are in {file}.")
