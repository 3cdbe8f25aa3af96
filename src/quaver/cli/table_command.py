"""``quaver table``: a paper's table from stored answers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.console import say, screen, table
from quaver.cli.run_display import open_collection
from quaver.cli.study_options import FunctionOption, StudyArgument, open_study, tables_of_papers


class TableForm(StrEnum):
    """A format that a table is printed in."""

    markdown = "markdown"
    latex = "latex"
    csv = "csv"


def command(
    study: StudyArgument,
    name: Annotated[
        str | None,
        typer.Argument(help="The table; without one, all are listed.", autocompletion=tables_of_papers),
    ] = None,
    form: Annotated[
        TableForm, typer.Option("--as", "--format", help="The table's format.")
    ] = TableForm.markdown,
    item: Annotated[
        list[str] | None,
        typer.Option(help="The id of an item that the table is about; may be repeated.", metavar="ID"),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--figure", help="Draw its figure to this file: .svg, .png, .pdf.", metavar="FILE"),
    ] = None,
    small: Annotated[bool, typer.Option("--small", help="Of the small version.")] = False,
    function: FunctionOption = None,
) -> None:
    """Print a table as one of the papers prints it.

    It takes a study, a bundle, or a collection, whose studies are the table's data sets. No model is
    asked.

    Examples:
      quaver table study.yaml
      quaver table study.yaml intra-stability
      quaver table tasks.yaml stability-views --as latex > views.tex
      quaver table barrie-2025.yaml intra-stability --small
      quaver table study.yaml matrix --item 12 --item 45
      quaver table study.yaml classes --figure plane.svg
      quaver table study.yaml poor-prompts --as csv > prompts.csv
    """
    from quaver.papers.catalogue import PAPERS, kind_of
    from quaver.papers.catalogue import table as published

    if name is not None:
        kind_of(name)  # a wrong name is said before answers are read
    stored = open_collection(study, function, small=small) or open_study(study, function, small=small)
    if name is None:
        rows = [(one.name, one.title, paper.code) for paper in PAPERS for one in paper.tables]
        screen.print(table(("table", "what it shows", "paper"), rows))
        return
    if to is not None:
        from quaver.papers.catalogue import figure
        from quaver.papers.paper_figures import save

        save(figure(stored, name), to)
        say(f"Wrote {to}")
        return
    text = published(stored, name, items=item or ()).as_(form.value)
    say(text.replace("\r\n", "\n").rstrip("\n"))
