"""``quaver measure``: estimates from the stored answers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from quaver.cli.screen import FunctionOption, StudyArgument, open_study, print_json, say_quality, screen
from quaver.cli.terminal_tables import conclusion_tables, estimates_tables


def command(
    study: StudyArgument,
    name: Annotated[list[str] | None, typer.Argument(help="Measures; the study's own by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    function: FunctionOption = None,
) -> None:
    """Measure the stored answers: values, 95% intervals, and why where there is none."""
    opened = open_study(study, function)
    estimates = opened.estimates(name)
    if as_json:
        for estimate in estimates:
            print_json(asdict(estimate))
        return
    say_quality(opened.quality())
    concluded = [one for one in estimates if "conclusion" in one.cell]
    others = [one for one in estimates if "conclusion" not in one.cell]
    for one in (*estimates_tables(others), *conclusion_tables(concluded)):
        screen.print(one)
        screen.print()
