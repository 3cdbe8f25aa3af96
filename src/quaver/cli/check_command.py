"""``quaver check``: from a table of texts to a verdict, without a study file to write."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from typing_extensions import Unpack

from quaver.cli.console import errors, say, screen, table
from quaver.cli.demo_command import YesOption, offer_weights
from quaver.cli.label_file_options import separator_of, with_options
from quaver.cli.run_display import show_outcome, watching
from quaver.cli.status_command import next_command, say_card
from quaver.core.number_format import duration
from quaver.study.checking.check_options import READERS, CheckOptions
from quaver.study.sources.named_functions import function_of

if TYPE_CHECKING:
    from quaver.report.findings.recommendation import NextStep
    from quaver.report.findings.verdict_card import Card
    from quaver.study.checking.check_design import PreparedCheck
    from quaver.study.forecasts.forecast import Forecast
    from quaver.study.session import Study


@with_options(CheckOptions)
def command(
    file: Annotated[Path, typer.Argument()],
    *,
    yes: YesOption = False,
    function: str | None = None,
    **options: Unpack[CheckOptions],
) -> None:
    """Check whether you may use the labels a model gives your texts.

    Asks the model about a sample of your texts: in other words, with the labels in another order, and again.
    Shows first what that takes, and asks you before it spends money. Ends in a verdict and a report, and
    leaves a study file behind to go on from. Every answer is kept: the same check again asks nothing.

    Options:
      file: Your texts: CSV, XLSX, ODS, JSON Lines or Parquet.
      function: MODULE:FUNCTION, a Python function to ask instead of a model.

    Examples:
      quaver check texts.xlsx --text tweet --labels "favor, against, none"
      quaver check texts.csv --gold stance --model openai/gpt-5-mini --budget 1
    """
    from quaver.study.checking.check_design import prepared_check

    options["separator"] = separator_of(options["separator"])
    if function:
        options["model"] = function_of(function)
    else:
        offer_weights(options["model"], yes=yes)
    prepared = prepared_check(file, **options)
    _go(prepared, file, function, yes=yes or bool(options["budget"]))


def _go(prepared: PreparedCheck, path: Path, function: str | None, *, yes: bool) -> None:
    """Show what a check takes, run it, and show what came out."""
    from quaver.study.checking.check import judged

    rows = [(decision.role, decision.column, decision.why) for decision in prepared.taken]
    screen.print(table(("taken for", "what", "why"), rows, f"{path.name}:"))
    screen.print()
    experiment, design = prepared.study.experiment, prepared.design
    forms = f"{len(design.instructions):,} instructions{', labels in 2 orders' * design.reorders}"
    prompts = f"{design.prompts:,} prompts ({forms})" if design.prompts > 1 else "1 prompt"
    say(
        f"{len(experiment.items):,} texts × {prompts} × {design.repeats:,} times = "
        f"{experiment.calls:,} calls."
    )
    later = f"To go on later: {_run(prepared, function)}"
    ask(prepared.study, "The check", yes=yes, later=later)
    found = judged(prepared)
    say_card(found.verdict, _next(found.verdict, prepared, path, function))
    screen.print()
    say(f"The report: {found.report}")
    say(f"The study file, to change and run again: {found.file}")


def _run(prepared: PreparedCheck, function: str | None) -> str:
    """How to ask the rest of a check."""
    given = f" --function {prepared.study.spec.models[0].name}={function}" if function else ""
    return f"quaver run {shlex.quote(str(prepared.file.parent))}{given}"


_OF_ALL_FIELDS: Final = (
    *("run", "ask again", "add prompts", "add items"),
    *("label the rest", "keep this prompt", "label by hand", "label more by hand"),
)
"""Steps that are taken for all fields at once."""


def _next(card: Card, prepared: PreparedCheck, path: Path, function: str | None) -> str:
    """What to type after a verdict; of several fields, about that whose labels may be used least."""
    from quaver.report.findings.verdict_card import best_of

    study = shlex.quote(str(prepared.file.parent))
    label = f"quaver label {shlex.quote(str(path))} --check {study}"
    label += f" --function {function}" if function else ""
    field = best_of(card.recommendations).field
    if field and card.step not in _OF_ALL_FIELDS:
        return f"quaver view {study} --field {shlex.quote(field)}"
    needed, rows = best_of(card.recommendations).needed, prepared.table.rows
    inside = "write the function as label(text, prompt), asking what the prompt says, then "
    steps: dict[NextStep, str] = {
        "run": _run(prepared, function),
        "ask again": f"{_run(prepared, function)} --retry-errors",
        "add prompts": f"{inside if prepared.design.in_function else ''}the same check with --prompts 20",
        "choose the evaluator": f"the same check with --evaluator {READERS[0]}",
        **dict.fromkeys(("label the rest", "keep this prompt"), label),
        **dict.fromkeys(("label by hand", "label more by hand"), f"{label} --error 5%"),
    }
    if prepared.design.sample:
        n = needed if prepared.design.sample < needed < rows else rows
        steps["add items"] = f"the same check with --n {n}"
    if card.step in steps:
        return steps[card.step]
    if card.command:
        return next_command(card, prepared.file.parent)
    return f"quaver view {study}"


def ask(study: Study, what: str, *, yes: bool, later: str, batch: bool = False) -> str:
    """Ask what is left of a study, once it is shown and agreed to; how that ended."""
    from quaver.study.checking.check_design import left_to_ask, spends

    plan = left_to_ask(study, pilot=True)
    left = plan.calls - plan.stored
    if not left:
        say(f"{what}: all {plan.calls:,} calls are answered already.")
        return "finished"
    models = ", ".join(forecast.model for forecast in plan.models)
    costs = ["an unknown price" if forecast.cost is None else str(forecast.cost) for forecast in plan.models]
    cost = f" for {' and '.join(costs)}" if spends(study) else ""
    time = "" if plan.seconds is None or plan.seconds < 1 else f", in about {duration(plan.seconds)}"
    say(f"{what}: {left:,} of {plan.calls:,} calls are left to ask of {models}{cost}{time}.")
    _agree(study, plan, yes=yes, later=later)
    with watching() as watch:
        outcome = study.run(watch=watch, batch=batch)
    show_outcome(outcome, study)
    if outcome.ended == "interrupted":
        raise typer.Exit(130)
    return str(outcome.ended)


def _agree(study: Study, plan: Forecast, *, yes: bool, later: str) -> None:
    """Ask before money is spent."""
    from quaver.study.checking.check_design import consent_missing, spends

    if yes or not spends(study):
        return
    if not sys.stdin.isatty():
        raise consent_missing(plan)
    if not typer.confirm("Ask them?", default=False, err=True):
        say(f"Nothing was asked. {later}", on=errors)
        raise typer.Exit(1)
