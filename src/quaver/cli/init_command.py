"""``quaver init``: a study file to start from, one with every default or one of a kind of study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.screen import screen
from quaver.design.spec.example_file import KINDS, example_file
from quaver.errors import QuaverError


def command(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help=f"What is to be studied: {', '.join(KINDS)}. If left out, a file with every key is written.",
        ),
    ] = None,
    path: Annotated[
        Path | None,
        typer.Argument(help="Where to write it, by default KIND.yaml or study.yaml; - prints it."),
    ] = None,
) -> None:
    """Write a study file that says what to change: of a kind of study, or with every key and its default."""
    if kind is not None and path is None and (kind == "-" or Path(kind).suffix):
        path, kind = Path(kind), None  # the file with every key, under a name of its own
    text = example_file(kind)
    path = path or Path(f"{kind or 'study'}.yaml")
    if str(path) == "-":
        print(text, end="")
        return
    if path.exists():
        raise QuaverError("there is a file already", where=str(path), fix="name another, or remove it")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    then = f"For a first look: quaver run {path} --small" if kind else f"Edit it, then: quaver plan {path}"
    screen.print(f"Wrote {path}. {then}")
