"""``quaver run``: ask what has not been asked yet."""

from __future__ import annotations

from typing import Annotated

import typer

from quaver.cli.collection_display import open_collection, run_collection
from quaver.cli.console import errors, say, screen
from quaver.cli.run_display import say_making, show_outcome, watching, writing_events
from quaver.cli.shard_display import shard_line
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, open_study, small_file
from quaver.cli.verdict_display import say_verdict
from quaver.errors import QuaverError


def command(
    study: StudyArgument = HERE,
    retry_errors: Annotated[bool, typer.Option("--retry-errors", help="Ask again for what failed.")] = False,
    retry_unconstrained: Annotated[
        bool,
        typer.Option(
            "--retry-unconstrained",
            help="Ask again for answers that an older Quaver collected without their JSON schema.",
        ),
    ] = False,
    events: Annotated[
        str, typer.Option(help="Where to write events as JSON lines: a file, or - for standard output.")
    ] = "",
    batch: Annotated[
        bool,
        typer.Option(
            "--batch",
            help="Ask in the providers' batches where there are any: half the price, within a day.",
        ),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Stay until every batch is over, and collect it.")
    ] = False,
    cancel_batches: Annotated[
        bool,
        typer.Option(
            "--cancel-batches", help="Ask nothing; end every batch that is out and store what it answered."
        ),
    ] = False,
    on: Annotated[
        str, typer.Option(help="Where models are asked: here, or ray for the workers of a Ray cluster.")
    ] = "",
    address: Annotated[
        str, typer.Option(help="The Ray cluster's address; RAY_ADDRESS or this machine if left out.")
    ] = "",
    workers: Annotated[
        int, typer.Option(help="Ray workers a model; as many as fit if left out.", show_default=False)
    ] = 0,
    gpus_per_worker: Annotated[
        float, typer.Option(help="GPUs that each Ray worker has for itself.", show_default=False)
    ] = 0.0,
    shard: Annotated[
        str,
        typer.Option(
            help="Ask one of several equal parts only, in a process of its own: 3/8 is the third of eight."
        ),
    ] = "",
    small: Annotated[
        bool, typer.Option("--small", help="Run the small version that the study file describes.")
    ] = False,
    function: FunctionOption = None,
) -> None:
    """Ask what has not been asked yet, and store the answers.

    Ctrl-C stops; run again to continue. No stored answer is lost or asked for twice. With --batch (or
    `batch: true` beside a model) it hands the calls over and ends; run again to collect what is ready.

    Examples:
      quaver run study.yaml
      quaver run study.yaml --small
      quaver run study.yaml --retry-errors
      quaver run study.yaml --batch
      quaver run study.yaml --shard 3/8
      quaver run study.yaml --on ray --workers 16
      quaver run study.yaml --function mine=annotate:label
    """
    if (many := open_collection(study, function, small=small)) is not None:
        if shard:
            raise QuaverError("a collection has no shards", where="--shard", fix="run its studies in shards")
        run_collection(many, retry_errors=retry_errors)
        return
    opened = open_study(study, function, small=small, shard=shard or None)
    if small:
        screen.print(f"The small version, in {opened.folder}:")
        for note in opened.spec.notes:
            screen.print(f"- {note}")
    opened.variants.make(watch=say_making)
    if shard:
        say(shard_line(opened))
    where = {"on": on, "address": address, "workers": workers, "gpus_per_worker": gpus_per_worker}
    with writing_events(events) as stream, watching(opened) as watch:
        outcome = opened.run(
            watch=watch,
            retry_errors=retry_errors,
            retry_unconstrained=retry_unconstrained,
            events=stream,
            batch=batch,
            wait=wait,
            cancel_batches=cancel_batches,
            where={name: value for name, value in where.items() if value},
        )
    shown = errors if events == "-" else screen
    status = show_outcome(outcome, opened, shown)
    if shard:
        say("`quaver status` shows all shards, and `quaver report` reads them as one.", on=shown)
    else:
        say_verdict(opened, status, small_file(study) if small else study, shown)
    if outcome.ended == "interrupted":
        raise typer.Exit(130)
