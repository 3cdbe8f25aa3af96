"""``quaver bundle``: a study in one archive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.screen import HERE, FunctionOption, StudyArgument, open_study, screen


def command(
    study: StudyArgument = HERE,
    out: Annotated[
        Path | None, typer.Option(help="Where it goes; NAME.quaver.zip beside the study's folder.")
    ] = None,
    without_texts: Annotated[
        bool, typer.Option("--without-texts", help="Leave the items' texts out of everything.")
    ] = False,
    function: FunctionOption = None,
) -> None:
    """Pack a study with its answers, annotations, estimates and report into one archive with checksums."""
    from quaver.bundles.packing import bundle

    path, digest = bundle(open_study(study, function), out, texts=not without_texts)
    screen.print(f"Wrote {path}", soft_wrap=True)
    screen.print(f"SHA-256 {digest}", soft_wrap=True)
