"""``quaver demo``: the whole path on a real model and real voters."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.screen import screen, show_outcome, watching
from quaver.cli.tables import estimates_tables
from quaver.records import Estimate
from quaver.study import Study

_SHOWN = ("label_shares", "inter_pss", "accuracy")
_EXAMPLE = files("quaver") / "examples" / "votes.yaml"


def command(
    folder: Annotated[Path, typer.Option(help="Where answers and report go.")] = Path("demo"),
) -> None:
    """Ask a small model how 24 real voters voted, in sixteen ways, and report how far that moves."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "study.yaml"
    if not path.exists():
        path.write_text(_EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    study = Study.open(path)
    screen.print(f"{study.spec.name}: {study.experiment.calls:,} calls to a model on this machine.")
    with watching() as watch:
        outcome = study.run(watch=watch)
    show_outcome(outcome, study)
    if outcome.ended != "finished":
        raise typer.Exit(130)
    study.noise(prompts=4)
    report = study.report()
    for one in estimates_tables(_headline(study.estimates(_SHOWN))):
        screen.print(one)
        screen.print()
    screen.print(f"The report: {report.resolve()}", highlight=False, markup=False, soft_wrap=True)


def _headline(estimates: list[Estimate]) -> list[Estimate]:
    """What the table on the terminal shows: one reading of the answers, and what has a value."""
    first = estimates[0].cell["evaluator"]
    return [one for one in estimates if one.cell["evaluator"] == first and one.value is not None]
