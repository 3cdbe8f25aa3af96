"""``quaver run``: ask what has not been asked yet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quaver.cli.console import say_study, screen
from quaver.cli.run_display import (
    say_making,
    show_outcome,
    watching,
)
from quaver.cli.status_command import say_verdict
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, studies_of
from quaver.collect.store.store_lock import stopping

if TYPE_CHECKING:
    from quaver.collect.run.progress import Outcome
    from quaver.study.session import Study


def command(
    study: StudyArgument = HERE,
    retry_errors: bool = False,
    batch: bool = False,
    wait: bool = False,
    cancel_batches: bool = False,
    on: str = "",
    address: str = "",
    workers: Annotated[int, typer.Option(show_default=False)] = 0,
    gpus_per_worker: Annotated[float, typer.Option(show_default=False)] = 0.0,
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
      on: Where models are asked: here, or ray for the workers of a Ray cluster.
      address: The Ray cluster's address; RAY_ADDRESS or this machine if left out.
      workers: Ray workers a model; as many as fit if left out.
      gpus_per_worker: GPUs that each Ray worker has for itself.
      small: Run the small version that the study file describes.

    Examples:
      quaver run study.yaml
      quaver run study.yaml --small
      quaver run study.yaml --batch
      quaver run study.yaml --on ray --workers 16
      quaver run study.yaml --function mine=annotate:label
    """
    opened = studies_of(study, function, small=small)
    asked: dict[str, Any] = {
        "retry_errors": retry_errors,
        "batch": batch,
        "wait": wait,
        "cancel_batches": cancel_batches,
    }
    where = {
        "on": on,
        "address": address,
        "workers": workers,
        "gpus_per_worker": gpus_per_worker,
    }
    asked["where"] = {name: value for name, value in where.items() if value}
    for name, one in opened.items():
        say_study(name)
        path = one.source.positions.path or study if name or small else study
        if _run(one, path, asked, small=small).ended == "interrupted":
            raise typer.Exit(130)


def _run(opened: Study, path: Path, asked: Mapping[str, Any], *, small: bool) -> Outcome:
    """Run a study, and say how it ended."""
    if small:
        _say_small(opened)
    opened.variants.make(watch=say_making)
    with watching() as watch, stopping(opened.folder):
        outcome = opened.run(watch=watch, **asked)
    say_verdict(opened, show_outcome(outcome, opened), path)
    return outcome


def _say_small(opened: Study) -> None:
    """Say where the small version is, and what it says of itself."""
    screen.print(f"The small version, in {opened.folder}:")
    for note in opened.spec.notes:
        screen.print(f"- {note}")
