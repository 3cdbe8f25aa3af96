"""A collection of studies on the terminal: what it will take, how it runs, how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quaver.cli.console import say, screen, show, table
from quaver.cli.run_display import say_making, show_outcome, watching
from quaver.cli.terminal_tables import estimates_tables
from quaver.core.number_format import duration
from quaver.study.sources.named_functions import functions_of

if TYPE_CHECKING:
    from quaver.collect.run.progress import Progress
    from quaver.many_studies.collection import Collection


def open_collection(
    path: Path, functions: Sequence[str] | None = None, *, small: bool = False
) -> Collection | None:
    """The collection of a command's argument; None where it is a study."""
    from quaver.many_studies.collection_file import is_collection

    if not is_collection(path):
        return None
    from quaver.many_studies.collection import Collection  # few commands are about one

    return Collection.open(path, functions=functions_of(functions), small=small)


def show_plans(of: Collection) -> None:
    """What each study will take, and all together."""
    plans = of.plan()
    rows = [
        (
            row["study"],
            row["model"],
            row["items"],
            row["variants"],
            row["calls"],
            row["answered"],
            "done" if row["answered"] == row["calls"] else duration(row["seconds"]),
            "unknown" if row["most"] is None else f"${row['most']:,.2f} at most" if row["most"] else "free",
        )
        for row in plans.rows()
    ]
    heads = ("study", "model", "items", "variants", "calls", "answered", "time left", "cost left")
    screen.print(table(heads, rows))
    studies = "1 study" if len(of.studies) == 1 else f"{len(of.studies)} studies"
    say(f"{plans.calls:,} calls in {studies}, {plans.stored:,} of them answered.")


def run_collection(of: Collection, *, retry_errors: bool) -> None:
    """Run the studies one after the other, each with its progress.

    Raises:
        typer.Exit: It was interrupted.
    """
    for study in of.studies.values():
        study.variants.make(watch=say_making)
    with ExitStack() as shown:
        current: dict[str, object] = {}

        def watch(name: str, progress: Progress) -> None:
            if name not in current:
                shown.pop_all().close()
                if screen.is_terminal:
                    say(f"{name}:")
                current[name] = shown.enter_context(watching(of.studies[name]))
            current[name](progress)  # type: ignore[operator]

        outcomes = of.run(watch=watch, retry_errors=retry_errors)
    for name, outcome in outcomes.items():
        say(f"{name}:")
        show_outcome(outcome, of.studies[name])
    if left := [name for name in of.studies if name not in outcomes]:
        say(f"Not run: {', '.join(left)}. The collection's budget is spent, or the run was interrupted.")
    if any(outcome.ended == "interrupted" for outcome in outcomes.values()):
        raise typer.Exit(130)


def show_statuses(of: Collection) -> None:
    """How far each study is."""
    status = of.status()
    heads = ("study", "answered", "of", "errors", "tokens", "cost")
    rows = [
        (row["study"], row["answered"], row["calls"], row["errors"], int(row["tokens"]), _money(row["money"]))
        for row in status.rows()
    ]
    screen.print(table(heads, rows))
    say(f"{status.answered:,} of {status.total:,} calls are answered, {_money(status.money)}.")


def show_measures(of: Collection, names: Sequence[str] | None) -> None:
    """The studies' measures beside each other, and effects pooled over studies."""
    show(estimates_tables([one for one in of.estimates(names) if one.value is not None]))


def _money(spent: float | None) -> str:
    return "cost unknown" if spent is None else f"${spent:,.2f}" if spent else "free"
