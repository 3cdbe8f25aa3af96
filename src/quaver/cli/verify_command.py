"""``quaver verify``: make again what follows from a bundle's answers, and compare it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.console import printer


def command(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    digest: Annotated[str | None, typer.Option(metavar="SHA256")] = None,
    design: Annotated[str | None, typer.Option(metavar="SHA256")] = None,
) -> None:
    """Make again what follows from a bundle's answers, and compare it.

    Shows what was made again and compared, what was not, and what nobody can find out from an archive. Exits
    with 1 if anything differs, with 3 if nothing does and a part was not compared.

    Options:
      path: The bundle.
      digest: The archive's SHA-256 as the authors published it.
      design: The SHA-256 of the design as the authors published it before they had results.

    Examples:
      quaver verify study.quaver.zip
      quaver verify study.quaver.zip --digest 9a41…
      quaver verify study.quaver.zip --design 3f0c9a…
    """
    from quaver.bundles.verification import verify

    verification = verify(path, digest=digest, design=design)
    printer("verify")("bundle", verification)
    raise typer.Exit({"holds": 0, "differs": 1, "not fully compared": 3}[verification.outcome])
