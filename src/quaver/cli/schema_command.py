"""``quaver schema``: the JSON Schema of the study file, for editors; and a check of study files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.console import errors, say
from quaver.cli.study_options import studies
from quaver.errors import QuaverError


def command(
    files: Annotated[list[Path] | None, typer.Argument(autocompletion=studies)] = None,
) -> None:
    """Print the study file's JSON Schema, or check study files.

    Editors read the schema. A check finds unknown keys, plug-ins, columns, labels and options.
    It asks no model and writes nothing.

    Options:
      files: Study files to check instead.

    Examples:
      quaver schema > study.schema.json
      quaver schema prompts/tickets.yaml prompts/letters.yaml
    """
    if not files:
        from quaver.design.spec.json_schema import json_schema

        print(json.dumps(json_schema(), indent=2))
        return
    from quaver.study.session import Study

    wrong = 0
    for file in files:
        try:
            Study.open(file)
        except QuaverError as error:
            wrong += 1
            say(f"Error: {error}", on=errors, style="red")
    if wrong:
        raise typer.Exit(2)
