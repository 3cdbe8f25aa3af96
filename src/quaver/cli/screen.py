"""What the commands share on the terminal: consoles, arguments, progress, tables.

Texts of items, models and studies go through ``plain``, so that nothing in them is taken for
terminal markup or control.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from quaver.collect.runner import Outcome, Progress
from quaver.errors import QuaverError
from quaver.study import Study

__all__ = [
    "HERE",
    "FunctionOption",
    "StudyArgument",
    "duration",
    "errors",
    "open_study",
    "plain",
    "screen",
    "show_outcome",
    "table",
    "watching",
]

screen = Console()
errors = Console(stderr=True)

StudyArgument = Annotated[Path, typer.Argument(help="The study file, or its folder.")]
HERE = Path("study.yaml")
"""The study of a command that names none."""
FunctionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--function", help="NAME=MODULE:FUNCTION for a model that uses a Python function.", metavar="NAME=M:F"
    ),
]


def open_study(path: Path, functions: Sequence[str] | None = None) -> Study:
    """The study of a command's argument, with the functions that its options name."""
    found = {}
    for option in functions or ():
        name, _, target = option.partition("=")
        module, _, attribute = target.partition(":")
        if not (name and module and attribute):
            raise QuaverError(
                "this names no function", where="--function", expected="NAME=MODULE:FUNCTION", found=option
            )
        sys.path.insert(0, str(Path.cwd()))
        try:
            found[name] = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise QuaverError(
                "the function cannot be imported", where="--function", found=f"{option}: {error}"
            ) from error
        finally:
            sys.path.pop(0)
    return Study.open(path, functions=found)


def plain(value: object) -> Text:
    """Text that the terminal shows as it is: no markup, no control characters."""
    return Text("".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in str(value)))


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> Group:
    """A table under its title; columns that hold only numbers are set to the right."""
    drawn = Table(header_style="bold", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], int | float) for row in rows) and bool(rows)
        drawn.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(plain(f"{cell:,}" if isinstance(cell, int) else cell) for cell in row))
    return Group(*([plain(title)] if title else []), drawn)


def duration(seconds: float | None) -> str:
    """``2 min 5 s``, as people say it."""
    if seconds is None:
        return "unknown"
    if seconds < 1:
        return "under a second"
    hours, rest = divmod(round(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    parts = [(hours, "h"), (minutes, "min"), (rest, "s")]
    return " ".join([f"{n} {unit}" for n, unit in parts if n][:2])


@contextmanager
def watching() -> Iterator[Any]:
    """A progress bar with calls a second and time left; on a pipe, a line now and then."""
    columns = (
        TextColumn("asking"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
    )
    with Bar(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task("", total=None, pace="")
        last = [0.0]

        def watch(progress: Progress) -> None:
            pace = f"{progress.rate:,.0f} calls/s, {duration(progress.left)} left" if progress.done else ""
            if progress.errors:
                pace += f", {progress.errors:,} errors"
            done = progress.before + progress.done
            bar.update(task, total=progress.total, completed=done, pace=pace)
            if not errors.is_terminal and progress.elapsed - last[0] >= 15:
                last[0] = progress.elapsed
                errors.print(f"{done:,} of {progress.total:,} calls, {pace}", highlight=False)

        yield watch


def show_outcome(outcome: Outcome, study: Study) -> None:
    """How a run ended, what is stored, and how to go on."""
    pace = f" in {duration(outcome.seconds)}" if outcome.done else ""
    screen.print(
        f"{outcome.done:,} answers collected{pace}; "
        f"{outcome.before + outcome.done:,} of {outcome.total:,} are stored.",
        highlight=False,
    )
    if outcome.errors:
        screen.print(
            f"{outcome.errors:,} of them are errors; `quaver run --retry-errors` asks for these again.",
            highlight=False,
        )
    counts, _ = study.status()
    if counts.unplaced:
        screen.print(
            f"{counts.unplaced:,} stored answers fit no call of the study as it is now; they are kept.",
            highlight=False,
        )
    if outcome.ended != "finished":
        why = {
            "interrupted": "Stopped by hand",
            "calls": "Stopped at the budget of calls",
            "seconds": "Stopped at the budget of time",
            "requests": "Stopped after the requests that were wanted",
        }[outcome.ended]
        screen.print(
            f"{why}: {outcome.missing:,} calls are still to be asked. Run again to go on.", highlight=False
        )
