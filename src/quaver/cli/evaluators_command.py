"""``quaver evaluators``: what another evaluator reads otherwise in the stored answers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from quaver.cli.screen import HERE, FunctionOption, StudyArgument, open_study, print_json, screen
from quaver.cli.terminal_tables import estimates_tables, flips_tables


def command(
    study: StudyArgument = HERE,
    first: Annotated[str | None, typer.Option(help="The one that is suspected; the study's first.")] = None,
    second: Annotated[str | None, typer.Option(help="The one that it is compared with; each other.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    function: FunctionOption = None,
) -> None:
    """Compare the evaluators: labels gained, lost and changed, accuracy by each, share of a gap recovered.

    `quaver rescore STUDY --evaluator A --evaluator B` reads with others than the study's own.
    """
    from quaver.measures.correctness.evaluator_flips import WORTH_A_WARNING

    opened = open_study(study, function)
    named = {role: name for role, name in (("first", first), ("second", second)) if name is not None}
    flips = opened.measure("evaluator_flips", **named)
    shares = opened.measure("recovered_share", **named)
    if as_json:
        for estimate in (*flips, *shares):
            print_json(asdict(estimate))
        return
    compared = [one for one in flips if "second" in one.cell]
    for drawn in (*flips_tables(compared), *estimates_tables(shares if compared else flips)):
        screen.print(drawn)
        screen.print()
    for one in flips:
        if one.measure == "evaluator_flips" and one.value is not None and one.value > WORTH_A_WARNING:
            where = ", ".join(one.cell[column] for column in one.cell if column not in ("first", "second"))
            screen.print(f"Warning: {where}: {one.warnings[0]}", style="yellow", soft_wrap=True)
