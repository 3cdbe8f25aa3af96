"""``quaver rescore``: read the stored answers with evaluators; asks nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from quaver.cli.console import say, screen, table
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, open_study


def command(
    study: StudyArgument = HERE,
    evaluator: Annotated[
        list[str] | None, typer.Option(help="An evaluator's name; by default the study's own.")
    ] = None,
    function: FunctionOption = None,
) -> None:
    """Read the stored answers again, with the study's evaluators or others. Asks nothing."""
    opened = open_study(study, function)
    annotations = opened.rescore(evaluator)
    rows = (
        annotations.group_by("evaluator", "status").len().sort("evaluator", "len", descending=[False, True])
    )
    screen.print(table(("evaluator", "status", "answers"), rows.rows()))
    if opened.source.owns_folder:  # a bundle stays as it is
        say(f"Wrote {opened.folder / 'annotations.parquet'}")
