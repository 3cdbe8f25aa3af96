"""``quaver report``: one HTML file with the findings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.console import say
from quaver.cli.study_options import HERE, FieldOption, FunctionOption, StudyArgument, studies_of


def command(
    study: StudyArgument = HERE,
    to: Annotated[Path | None, typer.Option(metavar="FOLDER")] = None,
    small: bool = False,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Write the report: one HTML file that opens anywhere.

    Beside it go estimates.csv, tables/ and figures/.

    Options:
      to: The folder to write to; by default the study's own.
      small: Of the small version.

    Examples:
      quaver report study.yaml
      quaver report study.quaver.zip --to checked
    """
    for name, opened in studies_of(study, function, small=small, field=field).items():
        say(f"Wrote {opened.report(to / name if to else None)}")
