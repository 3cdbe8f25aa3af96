"""``quaver variants``, ``plan``, ``run``, ``status`` and ``watch``: what a study asks, and how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from quaver.cli.command_options import (
    HERE,
    FunctionOption,
    NumberOption,
    StudyArgument,
    open_study,
    studies_of,
)
from quaver.cli.console import about, give, give_each, gives, plain, printer, say, say_heading, screen, table
from quaver.cli.run_display import (
    errors_table,
    print_status,
    quality_in_passing,
    say_making,
    say_quality,
    say_verdict,
    show_outcome,
    study_document,
    telling_of_a_stop,
    watching,
)
from quaver.collect.store.store_lock import stopping
from quaver.core.number_format import duration, moment

if TYPE_CHECKING:
    from quaver.core.variant_display import Change
    from quaver.study.collection.forecast import Forecast
    from quaver.study.collection.study_status import StudyStatus
    from quaver.study.session import Study


def variants_command(
    study: StudyArgument = HERE, again: bool = False, function: FunctionOption = None
) -> None:
    """Show every prompt, and what differs from the original.

    Options:
      again: Let the model make its paraphrases again.

    Examples:
      quaver variants study.yaml
      quaver variants study.yaml --again
    """
    from quaver.core.variant_display import origin_in_words

    documents = {}
    for name, each in studies_of(study, function).items():
        say_heading("Study", name)
        if again or each.source.can_ask:
            each.variants.make(again=again, watch=say_making)
        shown = list(each.variants)
        for variant, messages in shown:
            say(plain(variant.id), style="bold")
            for line in origin_in_words(variant.origin, variant.covariates):
                say(f"  {line}", style="dim")
            for role, pieces in messages:
                say(_indented(role, pieces))
            screen.print()
        say(
            f"{len(shown):,} variants, shown with the first item. Marks show what differs from the original "
            "prompt: [-gone-]{+new+}."
        )
        documents[name] = {
            "variants": [
                {
                    "id": variant.id,
                    "origin": origin_in_words(variant.origin, variant.covariates),
                    "messages": dict(messages),
                }
                for variant, messages in shown
            ]
        }
    give_each("studies", documents)


_SIGNS = {"same": ("", ""), "gone": ("[-", "-]"), "new": ("{+", "+}")}
"""Between which signs a piece of a prompt stands."""


def _indented(role: str, pieces: list[Change]) -> Text:
    """A message with its differences between signs."""
    marked = ""
    for kind, piece in pieces:
        before, behind = _SIGNS[kind]
        marked += f"{before}{plain(piece).plain}{behind}"
    return Text(f"  {role}: ", style="dim") + Text(marked.replace("\n", "\n" + " " * (len(role) + 4)))


def plan_command(
    study: StudyArgument = HERE,
    pilot: int = 0,
    small: bool = False,
    function: FunctionOption = None,
) -> None:
    """Estimate calls, tokens, time and cost.

    Asks nothing, except with --pilot. Paraphrases that a model has yet to make count as long as the
    original.

    Options:
      pilot: First ask this many requests, spread over the study, to measure time and tokens.
      small: Plan the small version that the study file describes.

    Examples:
      quaver plan study.yaml
      quaver plan study.yaml --pilot 20
    """
    documents = {}
    for name, opened in studies_of(study, function, small=small).items():
        say_heading("Study", name)
        if pilot:
            opened.variants.make(watch=say_making)
        plan = opened.plan(pilot=pilot, watch=telling_of_a_stop())
        _show_plan(plan)
        numbers = (
            "items",
            "parts",
            "variants",
            "decodings",
            "calls",
            "stored",
            "seconds",
            "notes",
            "paraphrases",
        )
        documents[name] = {part: getattr(plan, part) for part in numbers} | {"models": plan.rows()}
    give_each("studies", documents)


_PLANNED = (
    *("model", "calls", "prompts", "prompt tokens", "read once"),
    *("answers, at most", "time left", "cost left"),
)
_SHOWN = ("model", "calls", "prompts", "prompt_tokens", "tokens_read_once", "most_answer_tokens")


def _show_plan(plan: Forecast) -> None:
    tell = printer("plan")
    tell("head", plan)
    rows = []
    for model in plan.models:
        time_left = "done" if model["answered"] == model["calls"] else duration(model["seconds_left"])
        cost_left = "unknown" if model["most_cost"] is None else model["cost"]
        rows.append((*map(model.get, _SHOWN), time_left, cost_left))
    screen.print(table(_PLANNED, rows))
    for text in ("batches", "notes", "doubts"):
        tell(text, plan)


def run_command(
    study: StudyArgument = HERE,
    retry_errors: bool = False,
    batch: bool = False,
    wait: bool = False,
    cancel_batches: bool = False,
    on: str = "",
    small: bool = False,
    function: FunctionOption = None,
) -> None:
    """Ask what has not been asked yet, and store the answers.

    Ctrl-C stops; run again to continue. No stored answer is lost or asked for twice. With --batch (or
    `batch: true` beside a model) it hands the calls over and ends; run again to collect what is ready.

    Options:
      retry_errors: Ask again for what failed.
      batch: Ask in the providers' batches where there are any: half the price, within a day.
      wait: Stay until every batch is over, and collect it.
      cancel_batches: Ask nothing; end every batch that is out and store what it answered.
      on: Where models are asked: here, or ray for the workers of a Ray cluster, as `run` says in the file.
      small: Run the small version that the study file describes.

    Examples:
      quaver run study.yaml
      quaver run study.yaml --small
      quaver run study.yaml --batch
      quaver run study.yaml --on ray
      quaver run study.yaml --function mine=annotate:label
    """
    documents = dict[str, dict[str, Any]]()
    for name, opened in studies_of(study, function, small=small).items():
        say_heading("Study", name)
        if small:
            screen.print(f"The small version, in {opened.folder}:")
            for note in opened.spec.notes:
                screen.print(f"- {note}")
        opened.variants.make(watch=say_making)
        about(opened.source.positions.path or study if name or small else study, function)
        with watching() as watch, stopping(opened.folder):
            outcome = opened.run(
                retry_errors=retry_errors,
                batch=batch,
                wait=wait,
                cancel_batches=cancel_batches,
                where={"on": on} if on else {},
                watch=watch,
            )
        say_verdict(opened, show_outcome(outcome, opened))
        documents[name] = {"ended": outcome.ended, **(study_document(opened) if gives() else {})}
        if outcome.ended == "interrupted":
            break
    give_each("studies", documents)
    if any(document["ended"] == "interrupted" for document in documents.values()):
        raise typer.Exit(130)


def status_command(study: StudyArgument = HERE, function: FunctionOption = None) -> None:
    """Show how far a study is, what it cost and what failed.

    Asks nothing; works while the study runs.

    Examples:
      quaver status study.yaml
      quaver status study.yaml --json
    """
    documents = {}
    for name, opened in studies_of(study, function).items():
        if gives():
            documents[name] = study_document(opened)
            continue
        say_heading("Study", name)
        if name:
            about(opened.source.positions.path or study, function)
        _show(opened)
    give_each("studies", documents)


def _show(opened: Study) -> None:
    status = opened.status()
    quality = quality_in_passing(opened, status)
    print_status("progress", status)
    if status.by_kind:
        screen.print(errors_table(status.by_kind))
    if status.batches:
        _show_batches(status)
    say_quality(quality)
    say_verdict(opened, status)


def _show_batches(status: StudyStatus) -> None:
    from quaver.study.collection.forecast import in_dollars

    rows = []
    for batch in status.batches:
        expires = moment(batch["expires"]) if batch["expires"] else "unknown"
        cost = "unknown" if batch["money"] is None else in_dollars((batch["money"], batch["money"], None))
        name = batch["remote"] or batch["name"]
        about = batch["model"], name, batch["state"], batch["calls"], batch["done"]
        rows.append((*about, moment(batch["since"]), expires, cost))
    heads = ("model", "batch", "state", "calls", "done", "since", "given up at", "expected cost")
    print_status("batches", status.batches)
    screen.print(table(heads, rows))
    print_status("batch_notes", status.batches)


def watch_command(
    study: StudyArgument = HERE,
    prompts: NumberOption = None,
    parts: NumberOption = None,
    first: Annotated[int | None, typer.Option(min=2)] = None,
    whole: bool = False,
    renew: bool = False,
    function: FunctionOption = None,
) -> None:
    """Notice when the model behind a name has changed.

    Asks some of the study's prompts again. The first look locks them, and later looks are compared with it.
    Exits with 1 at an alarm.

    Options:
      prompts: Prompts of a look (20).
      parts: Looks that it takes to ask every prompt of the canary (10).
      first: How often each prompt is asked on the first occasion (6).
      whole: Ask for whole answers, not for one token.
      renew: Begin a new watch; the old one stays beside it.

    Examples:
      quaver watch study.yaml
      quaver watch study.yaml --json > message.json
    """
    from quaver.watch.occasions import FIRST, PARTS, PROMPTS, CanaryOptions
    from quaver.watch.watching import watch

    options = None
    if prompts or parts or first or whole:
        options = CanaryOptions(prompts or PROMPTS, parts or PARTS, first or FIRST, whole=whole)
    looked = watch(open_study(study, function), options, renew=renew)
    say(looked.text)
    give(looked.document)
    if looked.alarms:
        raise typer.Exit(1)
