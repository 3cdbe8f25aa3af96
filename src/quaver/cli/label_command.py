"""``quaver label``: a label for each text, in a copy of the table that the texts came in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typing_extensions import Unpack

from quaver.cli.check_command import ask
from quaver.cli.console import say, screen, table
from quaver.cli.demo_command import YesOption, offer_weights
from quaver.cli.label_file_options import separator_of, with_options
from quaver.core.number_format import count
from quaver.study.labelling.label_options import LabelOptions
from quaver.study.sources.named_functions import function_of

if TYPE_CHECKING:
    from quaver.study.labelling.labelling import Labelling
    from quaver.study.session import Study


@with_options(LabelOptions)
def command(
    file: Annotated[Path, typer.Argument()],
    *,
    yes: YesOption = False,
    function: str | None = None,
    **options: Unpack[LabelOptions],
) -> None:
    """Label all your texts, in a copy of their table.

    Goes on from a check, or makes one first: its verdict says whether these labels can be used, and which
    prompts to ask. Each text gets their most frequent label, or the one that a person gave it, and a note
    where a person should look; of several fields one for each. With --error, people label a sample,
    and you learn which labels can be accepted. Every answer is kept: after a break, the same command goes on.

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

    options["separator"] = separator_of(options["separator"])
    if function:
        options["model"] = function_of(function)
    elif check_to_go_on_from(file, options) is None:
        offer_weights(options["model"], yes=yes)
    work = Labelling(file, options, *([function] if function else []))
    agreed = yes or bool(options["budget"])
    if work.prepared is not None:
        rows = [(decision.role, decision.column, decision.why) for decision in work.prepared.taken]
        screen.print(table(("taken for", "what", "why"), rows, f"{file.name}:"))
    _ask(work, work.check, "The check", yes=agreed)
    screen.print()
    for line in filter(None, (work.verdict.reading, *work.verdict.lines[:2], *work.verdict.misread)):
        say(line)
    screen.print()
    for name, choice in work.choices.items():
        which = f"{name}: each" if name else "Each"
        say(f"{which} text is asked about with {count(len(choice.variants), 'prompt')}: {choice.reason}.")
    _ask(work, work.study, "All texts", yes=agreed)
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


def _ask(work: Labelling, study: Study, what: str, *, yes: bool) -> None:
    """Ask what is left of a study; without all of its answers, nothing follows."""
    later = "The same command goes on later."
    if ask(study, what, yes=yes, later=later, batch=work.options["batch"]) != "finished":
        raise typer.Exit(1)
