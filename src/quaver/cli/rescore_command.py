"""``quaver rescore``: read the stored answers with evaluators, calling nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from quaver.cli.screen import HERE, FunctionOption, StudyArgument, open_study, screen, table


def command(
    study: StudyArgument = HERE,
    evaluator: Annotated[
        list[str] | None, typer.Option(help="An evaluator's name; the study's own by default.")
    ] = None,
    function: FunctionOption = None,
) -> None:
    """Read the stored answers again, with the study's evaluators or others. Nothing is asked."""
    opened = open_study(study, function)
    annotations = opened.rescore(evaluator)
    rows = (
        annotations.group_by("evaluator", "status").len().sort("evaluator", "len", descending=[False, True])
    )
    screen.print(table(("evaluator", "status", "answers"), rows.rows()))
    if opened.source.owns_folder:  # a bundle stays as it is
        screen.print(f"Wrote {opened.folder / 'annotations.parquet'}", soft_wrap=True)
