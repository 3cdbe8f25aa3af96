"""What the commands show of a run: progress, how it ended."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from quaver.cli.console import errors, plain, printer, say, screen, table
from quaver.errors import StoreError

if TYPE_CHECKING:
    from quaver.collect.run.progress import Outcome, Progress
    from quaver.report.findings.quality import Quality
    from quaver.study.collection.study_status import StudyStatus
    from quaver.study.session import Study

READ_IN_PASSING = 200_000
"""Answers; more take the better part of a minute to read, which ``quaver measure`` does anyway."""

_SECONDS = 15
"""Between two lines of progress, where there is no terminal."""


@contextmanager
def watching() -> Iterator[Any]:
    """Shows a run with its pace, tokens, money and errors; without a terminal, now and then."""
    with Live(console=errors, transient=True, refresh_per_second=4) as live:
        last = time.monotonic()
        given_up: set[str] = set()

        def watch(progress: Progress) -> None:
            nonlocal last
            for name in [name for name in progress.given_up if name not in given_up]:
                say(f"{name} failed for good; the others continue: {progress.given_up[name]}", on=errors)
            given_up.update(progress.given_up)
            if errors.is_terminal:
                live.update(_progress(progress))
            elif time.monotonic() - last >= _SECONDS:
                last = time.monotonic()
                say(str(progress), on=errors)

        yield watch


def _progress(progress: Progress) -> Group:
    """The run's line with a bar, and its errors."""
    bar = Table.grid()
    done = progress.before + progress.done
    bar.add_row(ProgressBar(total=max(1, progress.total), completed=done, width=40))
    parts: list[Any] = [plain(progress), bar]
    if progress.by_kind:
        parts.append(errors_table(progress.by_kind))
    return Group(*parts)


def say_making(what: str) -> None:
    """Say that a model is about to make paraphrases, which takes a while."""
    errors.print(f"Making {what} …")


def errors_table(kinds: Counter[str]) -> Group:
    """Errors by kind, the most frequent first, with what to do about each."""
    from quaver.collect.run.progress import to_do_about

    rows = [(count, kind, to_do_about(kind)) for kind, count in kinds.most_common(10)]
    return table(("errors", "kind", "what to do"), rows)


def quality_in_passing(study: Study, status: StudyStatus) -> Quality | None:
    """The quality of a study's answers; None where reading them is slow or disturbs a running process."""
    if not status.answered or status.process is not None or status.answered > READ_IN_PASSING:
        return None
    try:
        return study.quality()
    except StoreError:  # the folder is full or cannot be written; measuring says so
        return None


def say_quality(quality: Quality | None, on: Console = screen) -> None:
    """Print a line for each thing that is wrong with the answers."""
    from quaver.report.findings.key_results import quality_lines

    for line in quality_lines(quality) if quality else ():
        say(line, on=on)


def show_outcome(outcome: Outcome, study: Study, on: Console = screen) -> StudyStatus:
    """Print how a run ended, what is stored, what it cost, and how to continue; the status it leaves."""
    status = study.status()
    print_status("collected", outcome, status, on=on)
    if outcome.ended != "interrupted":
        say_quality(quality_in_passing(study, status), on)
    print_status("ended", outcome, status, on=on)
    return status


def print_status(text: str, *about: Any, on: Console = screen) -> None:
    """Print a text about how far a study is, one of those in ``status.txt``."""
    from quaver.study.forecasts.forecast import Range

    printer("status", Range=Range)(text, *about, on=on)
