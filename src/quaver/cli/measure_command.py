"""``quaver measure``: estimates from the stored answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from quaver.cli.console import JsonLinesOption, print_estimates, say, say_study, show, table
from quaver.cli.run_display import say_quality
from quaver.cli.study_options import FieldOption, FunctionOption, StudyArgument, studies_of
from quaver.cli.terminal_tables import estimates_tables

if TYPE_CHECKING:
    from quaver.core.records import Estimate
    from quaver.study.session import Study


def command(
    study: StudyArgument,
    name: Annotated[list[str] | None, typer.Argument()] = None,
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
    for title, opened in studies_of(study, function, field=field).items():
        estimates = opened.estimates(name)
        if as_json:
            own = {"study": title} if title else {}
            print_estimates(replace(estimate, cell=own | dict(estimate.cell)) for estimate in estimates)
            continue
        say_study(title)
        _show(opened, estimates, undefined)


def _show(opened: Study, estimates: Sequence[Estimate], undefined: bool) -> None:
    from quaver.core.estimate_frame import summarized, undefined_because

    say_quality(opened.quality())
    measured = [estimate for estimate in estimates if "conclusion" not in estimate.cell]
    heads, rows = summarized(measured)
    if len(rows) > 1:
        show([table(heads, rows, "Summary")])
    show(estimates_tables([estimate for estimate in estimates if undefined or estimate.value is not None]))
    if not undefined and (because := undefined_because(measured)):
        say(f"{because}. `--undefined` lists them.")
