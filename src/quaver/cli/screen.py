"""What the commands share on the terminal: consoles, arguments, progress, tables, JSON.

Whatever is printed goes through ``screen``, ``errors`` or ``print_json``: texts of items, models and studies
are shown as they are there, and nothing in them is taken for terminal markup or control.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from quaver._secrets import Keys
from quaver.errors import QuaverError, StoreError, UnknownName

if TYPE_CHECKING:
    from quaver.collect.run.progress import Outcome, Progress
    from quaver.core.records import Condition
    from quaver.report.findings.verdicts import Quality
    from quaver.study.collection.study_status import StudyStatus
    from quaver.study.session import Study

__all__ = [
    "HERE",
    "FunctionOption",
    "StudyArgument",
    "duration",
    "errors",
    "errors_table",
    "open_both",
    "open_study",
    "plain",
    "print_json",
    "quality_of",
    "say_made",
    "say_quality",
    "screen",
    "show_outcome",
    "table",
    "watching",
    "writing_events",
]


class _Screen(Console):
    """A terminal that takes a string for text; what is to be bold or coloured is a ``Text``."""

    def render_str(self, text: str, **how: Any) -> Text:
        how |= {"markup": False, "emoji": False, "highlight": False}
        return super().render_str(_visible(text), **how)


screen = _Screen()
errors = _Screen(stderr=True)

StudyArgument = Annotated[Path, typer.Argument(help="The study file, or its folder.")]
HERE = Path("study.yaml")
"""The study of a command that names none."""
FunctionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--function", help="NAME=MODULE:FUNCTION for a model that uses a Python function.", metavar="NAME=M:F"
    ),
]


def open_study(path: Path, functions: Sequence[str] | None = None, *, small: bool = False) -> Study:
    """The study of a command's argument, or its small version, with the functions that its options name."""
    from quaver.study.session import Study

    return Study.open(path, functions=_functions(functions), small=small)


def open_both(
    first: Path, second: Path | None, functions: Sequence[str] | None
) -> tuple[Study, Study | None]:
    """Two studies that are set side by side, each with the functions of its own models."""
    from quaver.study.session import Study

    found = _functions(functions)
    if second is None:
        return Study.open(first, functions=found), None
    studies = [Study.open(path) for path in (first, second)]
    models = [[model.name for model in study.spec.models] for study in studies]
    for name in found:
        if not any(name in names for names in models):
            raise UnknownName("model", name, sorted({*models[0], *models[1]}), where="--function")
    opened = [
        Study.open(path, functions=own) if (own := {n: found[n] for n in names if n in found}) else study
        for path, study, names in zip((first, second), studies, models, strict=True)
    ]
    return opened[0], opened[1]


def _functions(options: Sequence[str] | None) -> dict[str, Any]:
    found = {}
    for option in options or ():
        name, _, target = option.rpartition("=")
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
    return found


def plain(value: object) -> Text:
    """Text that the terminal shows as it is: no markup, no control characters."""
    return Text(_visible(str(value)))


def _visible(text: str) -> str:
    """The text without keys, and with what is not printable written as Python writes it, line ends apart."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in Keys().out_of(text))


def print_json(document: object) -> None:
    """Print a line of JSON in which every character that is not printable is escaped."""
    text = Keys().out_of(json.dumps(document, ensure_ascii=False, default=str))
    print("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))


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
def writing_events(target: str) -> Iterator[TextIO | None]:
    """Where events go: a file that is added to, standard output for ``-``, nowhere for nothing.

    Raises:
        QuaverError: The file cannot be written.
    """
    if target in ("", "-"):
        yield sys.stdout if target else None
        return
    try:
        file = Path(target).open("a", encoding="utf-8")  # noqa: SIM115 - closed below
    except OSError as error:
        raise QuaverError(
            "the events cannot be written", where=target, found=error.strerror or str(error)
        ) from error
    with file:
        yield file


@contextmanager
def watching(study: Study) -> Iterator[Any]:
    """What a run has done, by condition, with its pace, tokens, money and errors; on a pipe, now and then."""
    conditions = study.experiment.conditions
    started = time.monotonic()
    with Live(console=errors, transient=True, refresh_per_second=4) as live:
        last = started
        told: set[str] = set()

        def watch(progress: Progress) -> None:
            nonlocal last
            for name, error in progress.given_up.items():
                if name not in told:
                    told.add(name)
                    errors.print(plain(f"{name} is given up, the others go on: {error}"), soft_wrap=True)
            if errors.is_terminal:
                live.update(_shown(progress, conditions))
            elif time.monotonic() - last >= 15:
                last = time.monotonic()
                errors.print(_in_a_line(progress), soft_wrap=True)

        yield watch


def say_made(what: str) -> None:
    """Tell that paraphrases are being made, before it takes its time."""
    errors.print(f"Making {what} …")


def quality_of(study: Study, now: StudyStatus) -> Quality | None:
    """The gate before a study's numbers; None where its answers cannot be read in passing.

    A process that collects now is left alone: its answers are read when it has ended.
    """
    if not now.answered or now.process is not None or now.answered > _READ_IN_PASSING:
        return None
    try:
        return study.quality()
    except StoreError:  # the folder is full or cannot be written; measuring says so
        return None


def say_quality(quality: Quality | None, console: Console = screen) -> None:
    """Print the gate, a line for each thing that is wrong with the answers."""
    from quaver.report.findings.quality_gate import quality_lines

    for line in quality_lines(quality) if quality else ():
        console.print(line, soft_wrap=True)


def _in_a_line(progress: Progress) -> str:
    told = f"{progress.before + progress.done:,} of {progress.total:,} calls"
    if progress.done:
        told += f", {progress.rate:,.1f} calls/s, {duration(progress.left)} left"
    if progress.tokens:
        told += f", {progress.tokens:,.0f} tokens"
    if progress.money:
        told += f", ${progress.money:,.4f}"
    return told + "".join(f", {count:,} × {kind}" for kind, count in progress.by_kind.most_common(3))


def _shown(progress: Progress, conditions: Sequence[Condition]) -> Group:
    """The run's line with a bar, and a line for each condition that came furthest lately."""
    total = max(1, progress.total)
    bar = Table.grid()
    bar.add_row(ProgressBar(total=total, completed=progress.before + progress.done, width=40))
    parts: list[Any] = [plain(_in_a_line(progress)), bar]
    rows = [
        (_condition(conditions[at]), done)
        for at, done in progress.by_condition.most_common(_CONDITIONS)
        if at < len(conditions)
    ]
    if len(progress.by_condition) > 1:
        parts.append(table(("condition", "answered in this run"), rows))
    if progress.by_kind:
        parts.append(errors_table(progress.by_kind))
    return Group(*parts)


def _condition(one: Condition) -> str:
    return f"{one.model} · {one.asked_as} · {one.variant}"


def errors_table(kinds: Counter[str]) -> Group:
    """Errors by kind, the most frequent first."""
    return table(("errors", "kind"), [(count, kind) for kind, count in kinds.most_common(10)])


def show_outcome(outcome: Outcome, study: Study, console: Console = screen) -> None:
    """How a run ended, what is stored, what it took, and how to go on."""

    def say(line: str) -> None:
        console.print(line, soft_wrap=True)

    pace = f" in {duration(outcome.seconds)}" if outcome.done else ""
    stored = outcome.before + outcome.reused + outcome.done
    say(f"{outcome.done:,} answers collected{pace}; {stored:,} of {outcome.total:,} are stored.")
    if outcome.reused:
        say(f"{outcome.reused:,} more answers were taken from other studies.")
    if outcome.tokens:
        cost = f", ${outcome.money:,.4f}" if outcome.money else ""
        say(f"{outcome.tokens:,.0f} tokens{cost} in all runs together.")
    if outcome.errors:
        are = "is an error" if outcome.errors == 1 else "are errors"
        say(f"{outcome.errors:,} of them {are}; `quaver run --retry-errors` asks again for what failed.")
    now = study.status()
    if outcome.errors:
        for kind, count in now.by_kind.most_common(3):
            say(f"  {count:,} × {kind}")
    if now.unplaced:
        say(f"{now.unplaced:,} stored answers fit no call of the study as it is now; they are kept.")
    for told in now.warnings:
        say(f"Warning: {told}.")
    if outcome.ended != "interrupted":
        say_quality(quality_of(study, now), console)
    if outcome.ended == "narrow":
        say(
            f"The interval is as narrow as asked: {outcome.missing:,} calls of the whole design were not "
            "needed."
        )
    elif outcome.ended != "finished":
        missing = f"{outcome.missing:,} calls are still to be asked"
        say(f"{_ENDS[outcome.ended]}: {missing}. {_GO_ON[outcome.ended]}")


_READ_IN_PASSING = 200_000
"""Answers; more take the better part of a minute to read, which ``quaver measure`` does anyway."""

_CONDITIONS = 8
"""Conditions that are shown while a study runs."""

_ENDS = {
    "interrupted": "Stopped by hand",
    "calls": "Stopped at the budget of calls",
    "tokens": "Stopped at the budget of tokens",
    "money": "Stopped at the budget of money",
    "seconds": "Stopped at the budget of time",
    "requests": "Stopped after the requests that were wanted",
}
_AGAIN = "Run again to go on."
_RAISE = "Raise it in the study file and run again to go on."
_GO_ON = {
    "interrupted": _AGAIN,
    "seconds": _AGAIN,
    "requests": _AGAIN,
    "calls": _RAISE,
    "tokens": _RAISE,
    "money": _RAISE,
}
