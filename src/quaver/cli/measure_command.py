"""``quaver measure``: estimates from the stored answers."""

from __future__ import annotations

from typing import Annotated

import typer

from quaver.cli.console import JsonLinesOption, print_estimates, say, show, table
from quaver.cli.run_display import open_collection, say_quality, show_measures
from quaver.cli.study_options import FieldOption, FunctionOption, StudyArgument, one_of_plugins, open_study
from quaver.cli.terminal_tables import conclusion_tables, estimates_tables


def command(
    study: StudyArgument,
    name: Annotated[list[str] | None, typer.Argument(autocompletion=one_of_plugins("measures"))] = None,
    undefined: bool = False,
    as_json: JsonLinesOption = False,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Print estimates with their intervals, after a summary.

    Estimates that are undefined are counted; --undefined lists them, each with its reason.

    Options:
      name: Measures; by default the study's own.
      undefined: Also list what is undefined, each with its reason.

    Examples:
      quaver measure study.yaml
      quaver measure study.yaml accuracy inter_pss
      quaver measure study.yaml --field tone
      quaver measure study.yaml --undefined
      quaver measure study.yaml --json > estimates.jsonl
    """
    from quaver.core.estimate_frame import summarized, undefined_because

    if (many := open_collection(study, function)) is not None:
        if as_json:
            print_estimates(many.estimates(name))
        else:
            show_measures(many, name)
        return
    opened = open_study(study, function, field=field)
    estimates = opened.estimates(name)
    if as_json:
        print_estimates(estimates)
        return
    say_quality(opened.quality())
    measured = [estimate for estimate in estimates if "conclusion" not in estimate.cell]
    heads, rows = summarized(measured)
    if len(rows) > 1:
        show([table(heads, rows, "Summary")])
    show(estimates_tables([estimate for estimate in measured if undefined or estimate.value is not None]))
    show(conclusion_tables([estimate for estimate in estimates if "conclusion" in estimate.cell]))
    if not undefined and (because := undefined_because(measured)):
        say(f"{because}. `--undefined` lists them.")
