"""``quaver paper``: what a paper takes from a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from quaver.cli.console import say
from quaver.cli.study_options import HERE, FieldOption, FunctionOption, StudyArgument, open_fields

Form = Literal["markdown", "latex", "html"]
"""A format that papers are written in."""


def command(
    study: StudyArgument = HERE,
    form: Annotated[Form, typer.Option("--as")] = "markdown",
    to: Annotated[Path | None, typer.Option(metavar="FOLDER")] = None,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Print a table, a methods paragraph and BibTeX for a paper.

    Of several fields, each has its own. The paragraph of a bundle names its digest.

    Options:
      form: The format of the table and the paragraph.
      to: Write every format to this folder instead of printing one.

    Examples:
      quaver paper study.yaml
      quaver paper study.yaml --as latex > results.tex
      quaver paper study.quaver.zip --to paper
    """
    for name, one in open_fields(study, function, field).items():
        paper = one.paper()
        if to is None:
            say("\n".join([paper.table_as(form), paper.methods_as(form), paper.bibtex.rstrip()]))
        else:
            written = paper.write(to / name)
            say(f"Wrote {', '.join(path.name for path in written)} to {to / name}")
