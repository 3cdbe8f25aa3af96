"""``quaver measure``: estimates from the stored answers."""

from __future__ import annotations

from typing import Annotated

import typer

from quaver.cli.console import JsonLinesOption, print_estimates, show
from quaver.cli.run_display import say_quality
from quaver.cli.study_options import FunctionOption, StudyArgument, open_study
from quaver.cli.terminal_tables import conclusion_tables, estimates_tables


def command(
    study: StudyArgument,
    name: Annotated[list[str] | None, typer.Argument(help="Measures; by default the study's own.")] = None,
    as_json: JsonLinesOption = False,
    function: FunctionOption = None,
) -> None:
    """Measure the stored answers: values with 95% intervals, or why a value is undefined."""
    opened = open_study(study, function)
    estimates = opened.estimates(name)
    if as_json:
        print_estimates(estimates)
        return
    say_quality(opened.quality())
    show(estimates_tables([one for one in estimates if "conclusion" not in one.cell]))
    show(conclusion_tables([one for one in estimates if "conclusion" in one.cell]))
