"""``quaver table``: a paper's table from stored answers."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from quaver.cli.console import say, screen, table
from quaver.cli.study_options import FieldOption, FunctionOption, StudyArgument, studies_of

TableForm = Literal["markdown", "latex", "html", "csv"]
"""A format that a table is printed in."""


TableLayout = Literal["long", "paper"]
"""How a table is laid out."""


def command(
    study: StudyArgument,
    name: Annotated[str | None, typer.Argument()] = None,
    form: Annotated[TableForm, typer.Option("--as", "--format")] = "markdown",
    item: Annotated[list[str] | None, typer.Option(metavar="ID")] = None,
    layout: TableLayout = "long",
    small: bool = False,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Print a table as one of the papers prints it.

    It takes a study, a bundle, or a file that lists studies, which are the table's data sets. No model is
    asked.

    Options:
      name: The table; without one, all are listed.
      form: The table's format.
      item: The id of an item that the table is about; may be repeated.
      layout: A row an answer to a question, or as the paper prints it.
      small: Of the small version.

    Examples:
      quaver table study.yaml
      quaver table study.yaml intra-stability
      quaver table tasks.yaml stability-views --as latex > views.tex
      quaver table barrie-2025.yaml intra-stability --small
      quaver table study.yaml matrix --item 12 --item 45
      quaver table study.yaml factor-levels --layout paper --as latex
      quaver table study.yaml poor-prompts --as csv > prompts.csv
    """
    from quaver.papers.catalogue import PAPERS, kind_of, printed
    from quaver.papers.catalogue import table as published

    if name is not None:
        kind_of(name)  # a wrong name is said before answers are read
    stored = studies_of(study, function, small=small, field=field)
    if name is None:
        rows = [(kind.name, kind.title, paper.code) for paper in PAPERS for kind in paper.tables]
        screen.print(table(("table", "what it shows", "paper"), rows))
        return
    items = item or ()
    tables = (
        printed(stored, name, items=items) if layout == "paper" else [published(stored, name, items=items)]
    )
    text = "\n".join(one.as_(form) for one in tables)
    say(text.replace("\r\n", "\n").rstrip("\n"))
