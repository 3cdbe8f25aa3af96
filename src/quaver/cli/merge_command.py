"""``quaver merge``: a study's shards in one store."""

from __future__ import annotations

import typer

from quaver.cli.run_display import print_status
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, open_study


def command(study: StudyArgument = HERE, function: FunctionOption = None) -> None:
    """Make one store of a study's shards.

    Asks nothing, and changes nothing when repeated. Every command that reads the study does the same.
    It says which shards are missing and how many calls nobody has answered, and the exit status is 1 while
    there are any.

    Examples:
      quaver merge study.yaml
    """
    from quaver.study.merging import merge  # loads the study's parts

    merged = merge(open_study(study, function))
    print_status("merged", merged)
    if merged.missing or merged.unfinished:
        raise typer.Exit(1)
