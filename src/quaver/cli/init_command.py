"""``quaver init``: a study file to start from, one with every default or one of a kind of study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.completions import kinds_of_study
from quaver.cli.console import screen
from quaver.design.study_kinds import KINDS, study_of_kind
from quaver.errors import QuaverError


def command(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            autocompletion=kinds_of_study,
            help=f"The kind of study: {', '.join(KINDS)}. Without one, the file has every key.",
        ),
    ] = None,
    path: Annotated[
        Path | None,
        typer.Argument(help="The file to write; by default KIND.yaml or study.yaml; - prints it."),
    ] = None,
) -> None:
    """Write a study file to start from.

    With a kind of study, the file is ready to run; without one, it has every key with its default.

    Examples:
      quaver init
      quaver init stability
      quaver init stability my-study.yaml
      quaver init sensitivity -        # print it
    """
    if kind is not None and path is None and (kind == "-" or Path(kind).suffix):
        path, kind = Path(kind), None  # the file with every key, under a name of its own
    if kind is None:
        from quaver.design.spec.example_file import example_file

        text = example_file()
    else:
        text = study_of_kind(kind)
    path = path or Path(f"{kind or 'study'}.yaml")
    if str(path) == "-":
        print(text, end="")
        return
    if path.exists():
        raise QuaverError(
            "the file exists already", where=str(path), fix="choose another name, or remove the file"
        )
    from quaver.design.spec.schema_file import write_with_schema

    write_with_schema(path, text)
    then = f"For a first look: quaver run {path} --small" if kind else f"Edit it, then: quaver plan {path}"
    screen.print(f"Wrote {path}. {then}")
