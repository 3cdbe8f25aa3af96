"""``quaver bundle``: a study in one archive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.collection_display import open_collection
from quaver.cli.console import say
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, open_study


def command(
    study: StudyArgument = HERE,
    out: Annotated[
        Path | None, typer.Option(help="The archive; by default NAME.quaver.zip beside the study's folder.")
    ] = None,
    without_texts: Annotated[
        bool, typer.Option("--without-texts", help="Leave the items' texts out of every file.")
    ] = False,
    function: FunctionOption = None,
) -> None:
    """Pack a study or a collection into one archive with checksums.

    It holds answers, annotations, estimates and report, and a reader can verify every number. Of a
    collection, it holds a bundle of each study.

    Examples:
      quaver bundle study.yaml
      quaver bundle study.yaml --without-texts --out shared.quaver.zip
    """
    from quaver.bundles.packing import bundle

    if (many := open_collection(study, function)) is not None:
        path, digest = many.bundle(out, texts=not without_texts)
    else:
        path, digest = bundle(open_study(study, function), out, texts=not without_texts)
    say(f"Wrote {path}")
    say(f"SHA-256 {digest}")
