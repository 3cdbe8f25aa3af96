"""``quaver replicate``: published numbers, computed again from the published annotations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.console import say, screen, table


def command(
    folder: Annotated[Path, typer.Argument()] = Path(),
    to: Annotated[Path | None, typer.Option(metavar="FOLDER")] = None,
) -> None:
    """Compute published numbers again from the published annotations.

    Each stands beside the recomputed one, with an interval that holds beside the published one. Writes the
    table as Markdown, LaTeX and CSV. Exits with 1 if a number is not reproduced within its rounding.

    Options:
      folder: A folder with published.yaml, or with promptstability's files.
      to: Where the tables go; by default the same folder.

    Examples:
      quaver replicate barrie-2024
      quaver replicate barrie-2024 --to tables
    """
    from quaver.replication.replication import replicate
    from quaver.replication.replication_table import replication_table, write_replication

    replication = replicate(folder)
    shown = replication_table(replication)
    screen.print(table(shown.columns, [tuple(map(str, row)) for row in shown.rows], replication.source))
    say(replication.summary)
    home = folder if folder.is_dir() else folder.parent
    for path in write_replication(replication, to or home):
        say(f"Wrote {path}")
    if not replication.holds:
        raise typer.Exit(1)
