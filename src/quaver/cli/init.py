"""``quaver init``: a study file to start from, with every default."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.screen import screen
from quaver.design.example_file import example_file
from quaver.errors import QuaverError


def command(
    path: Annotated[Path, typer.Argument(help="Where to write it; - prints it.")] = Path("study.yaml"),
) -> None:
    """Write a study file with every key, its default and what it means."""
    text = example_file()
    if str(path) == "-":
        print(text, end="")
        return
    if path.exists():
        raise QuaverError("there is a file already", where=str(path), fix="name another, or remove it")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    screen.print(f"Wrote {path}. Edit it, then: quaver plan {path}", markup=False, highlight=False)
