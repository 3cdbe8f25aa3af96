"""``quaver evaluators``: what another evaluator reads differently in the stored answers."""

from __future__ import annotations

from quaver.cli.console import JsonLinesOption, print_estimates, say, show
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, open_study
from quaver.cli.terminal_tables import estimates_tables, flips_tables


def command(
    study: StudyArgument = HERE,
    first: str | None = None,
    second: str | None = None,
    as_json: JsonLinesOption = False,
    function: FunctionOption = None,
) -> None:
    """Compare how evaluators read the same answers.

    Labels gained, lost and changed, accuracy by each, and the share of a gap recovered. `quaver rescore
    STUDY --evaluator A --evaluator B` reads the answers with evaluators of your choice.

    Options:
      first: An evaluator; by default the study's first.
      second: The evaluator to compare it with; by default each other one.

    Examples:
      quaver evaluators study.yaml
      quaver evaluators study.yaml --first marked_label --second first_label
    """
    from quaver.measures.correctness.evaluator_flips import WORTH_A_WARNING

    opened = open_study(study, function)
    named = {role: name for role, name in (("first", first), ("second", second)) if name is not None}
    flips = opened.measure("evaluator_flips", **named)
    shares = opened.measure("recovered_share", **named)
    if as_json:
        print_estimates((*flips, *shares))
        return
    compared = [estimate for estimate in flips if "second" in estimate.cell]
    show(flips_tables(compared))
    show(estimates_tables(shares if compared else flips))
    for estimate in flips:
        if (
            estimate.measure == "evaluator_flips"
            and estimate.value is not None
            and estimate.value > WORTH_A_WARNING
        ):
            where = ", ".join(
                estimate.cell[column] for column in estimate.cell if column not in ("first", "second")
            )
            say(f"Warning: {where}: {estimate.warnings[0]}", style="yellow")
