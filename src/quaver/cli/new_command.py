"""``quaver new``: a plug-in to start from, with its entry point and its test."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.console import say, screen
from quaver.cli.study_options import kinds_of_plugin
from quaver.skeletons.plugin_skeleton import KINDS, write_skeleton


def command(
    kind: Annotated[
        str, typer.Argument(help=f"What to write: {', '.join(KINDS)}.", autocompletion=kinds_of_plugin)
    ],
    name: Annotated[str, typer.Argument(help="Its name in study files, such as last_word.")],
    to: Annotated[
        str | None,
        typer.Option(help="The module's folder within the package; by default the package's own."),
    ] = None,
) -> None:
    """Write a plug-in to start from, with its test and entry point.

    It works at once, and goes into the package of this folder.

    Examples:
      quaver new evaluator last_word
      quaver new measure wobble
      quaver new model my_server
    """
    home = Path()
    wrote = write_skeleton(kind, name, home, to=to)
    for path in wrote.opened:
        say(f"Wrote {path}; say in its first line what the folder is for.")
    verb = "Wrote" if wrote.made else "Added to"
    say(f"Wrote {wrote.module} and {wrote.test}.")
    say(f"{verb} {wrote.project}, under [project.entry-points.{wrote.group}]: {wrote.entry}")
    screen.print("Then:")
    screen.print("  make setup" if wrote.own else '  pip install -e . "quaver[testing]"')
    if wrote.own and kind == "measure":
        screen.print("  python -m quaver.measures._stub")
    if wrote.own and wrote.opened:
        screen.print("  python tools/house.py")
    say(f"  pytest {wrote.test}")
    say(f"  pytest --pyargs quaver.testing -k {name}")
