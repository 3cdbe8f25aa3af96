"""``quaver verify``: compute every number of a bundle again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.completions import studies
from quaver.cli.console import say, screen


def command(
    path: Annotated[Path, typer.Argument(help="The bundle.", metavar="BUNDLE", autocompletion=studies)],
) -> None:
    """Compute every number of a bundle again, without the model.

    Exits with 1 if anything differs.

    Examples:
      quaver verify study.quaver.zip
    """
    from quaver.bundles.verification import verify

    found = verify(path)
    for name in found.changed:
        say(f"Changed: {name}")
    for line in found.differing:
        say(f"Differs: {line}")
    if not found.changed:
        withheld = f" ({found.withheld:,} answers are withheld)" if found.withheld else ""
        screen.print(
            f"{found.annotations:,} annotations read again{withheld}, "
            f"{found.estimates:,} estimates computed again, {len(found.differing):,} differ.",
        )
    if found.older:
        say(f"{found.older:,} of their intervals are by an older method, and were compared by that method.")
    say(f"SHA-256 {found.digest}")
    if not found.holds:
        raise typer.Exit(1)
