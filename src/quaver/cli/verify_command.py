"""``quaver verify``: every number of a bundle, computed anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.screen import screen


def command(path: Annotated[Path, typer.Argument(help="The bundle.", metavar="BUNDLE")]) -> None:
    """Compute every estimate of a bundle anew, without the model. Exits with 1 where anything differs."""
    from quaver.bundles.verification import verify

    found = verify(path)
    for name in found.changed:
        screen.print(f"Changed: {name}", soft_wrap=True)
    for line in found.differing:
        screen.print(f"Differs: {line}", soft_wrap=True)
    if not found.changed:
        withheld = f" ({found.withheld:,} answers are withheld)" if found.withheld else ""
        screen.print(
            f"{found.annotations:,} annotations read anew{withheld}, "
            f"{found.estimates:,} estimates computed anew, {len(found.differing):,} differ.",
        )
    screen.print(f"SHA-256 {found.digest}", soft_wrap=True)
    if not found.holds:
        raise typer.Exit(1)
