"""What the commands show of a run: its progress, how it ended, the verdict and what to type next."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar

from quaver.cli.console import errors, log, plain, printer, say, say_command, screen, table, whole
from quaver.errors import StoreError

if TYPE_CHECKING:
    from quaver.collect.run.progress import Outcome, Progress
    from quaver.report.findings.quality import Quality
    from quaver.report.findings.recommendation import NextStep
    from quaver.report.findings.verdict_card import Card
    from quaver.study.collection.study_status import StudyStatus
    from quaver.study.session import Study

_READ_IN_PASSING: Final = 200_000
"""Answers; more take the better part of a minute to read, which ``quaver measure`` does anyway."""

_SECONDS: Final = 15
"""Between two lines of progress, where there is no terminal."""

_COMMANDS: Final[Mapping[NextStep, str]] = {
    "run": "run STUDY",
    "ask again": "run STUDY --retry-errors",
}
"""What to type for a next step; for all others the report shows where to begin."""


_STOPPING: Final = "Stopping: waiting a moment for answers on their way; Ctrl-C again stops at once."

_LOGGED: Final = ("total", "before", "done", "errors", "rate", "left", "tokens", "money", "waits")
"""What the log says of a run's progress."""


@contextmanager
def phase(what: str) -> Iterator[None]:
    """Shows what a command is at while it prints nothing."""
    if errors.logs:
        log("phase", phase=what)
    with nullcontext() if errors.logs else errors.status(f"{what} …"):
        yield


def _loaded_for_the_verdict() -> None:
    """Load what a verdict takes, which is as slow as measuring some thousand answers."""
    from quaver.report.findings.decision import RULES, compiled
    from quaver.report.page_templates import template
    from quaver.study import study_report  # noqa: F401

    template("verdict.txt")
    for rule in RULES:
        compiled(rule.when)


def telling_of_a_stop() -> Callable[[Progress], None]:
    """What a run calls as it goes on, to say at once that it is stopping."""
    noted = False

    def watch(progress: Progress) -> None:
        nonlocal noted
        if progress.stopping and not noted:
            noted = True
            say(_STOPPING, on=errors)

    return watch


@contextmanager
def watching() -> Iterator[Any]:
    """Shows a run with its pace, tokens, money and errors; without a terminal, now and then.

    What the verdict takes is loaded in the meantime.
    """
    Thread(target=_loaded_for_the_verdict, daemon=True).start()
    with nullcontext() if errors.logs else Live(console=errors, transient=True, refresh_per_second=4) as live:
        last = 0.0 if errors.logs else time.monotonic()
        tell = telling_of_a_stop()
        given_up: set[str] = set()

        def watch(progress: Progress) -> None:
            nonlocal last
            for name, why in progress.given_up.items():
                if name not in given_up:
                    given_up.add(name)
                    say(f"{name} is given up: {why}", on=errors)
            tell(progress)
            passed = time.monotonic() - last
            if live is None:
                if passed >= 1:
                    last = time.monotonic()
                    log("progress", **{name: getattr(progress, name) for name in _LOGGED})
            elif errors.is_terminal:
                live.update(_progress(progress))
            elif passed >= _SECONDS:
                last = time.monotonic()
                say(str(progress), on=errors)

        yield watch


def _progress(progress: Progress) -> Group:
    """The run's line with a bar, and its errors."""
    done = progress.before + progress.done
    parts: list[Any] = [plain(progress), ProgressBar(max(1, progress.total), done, width=40)]
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


def _is_read_in_passing(status: StudyStatus) -> bool:
    """Whether reading the answers neither takes long nor disturbs a running process."""
    return 0 < status.answered <= _READ_IN_PASSING and status.process is None


def quality_in_passing(study: Study, status: StudyStatus) -> Quality | None:
    """The quality of a study's answers; None where they are not read in passing."""
    if not _is_read_in_passing(status):
        return None
    with suppress(StoreError), phase("Reading the answers"):  # of a full folder; measuring says so
        return study.quality()
    return None


def verdict_in_passing(study: Study, status: StudyStatus) -> Card | None:
    """The verdict; None where answers are missing or are not read in passing."""
    if not _is_read_in_passing(status) or status.answered < status.total:
        return None
    from quaver.study.study_report import verdict

    with suppress(StoreError), phase("Measuring"):
        return verdict(study.source, status)
    return None


def study_document(opened: Study) -> dict[str, Any]:
    """A study's status, quality and verdict for JSON; None for what is not known in passing."""
    status = opened.status()
    document = asdict(status) | {"by_kind": dict(status.by_kind), "left": status.left}
    document |= dict.fromkeys(("quality", "clusters", "verdict"))
    if quality := quality_in_passing(opened, status):
        document["quality"] = quality.rows()
        document["clusters"] = [asdict(clusters) for clusters in quality.clusters]
    if card := verdict_in_passing(opened, status):
        document["verdict"] = verdict_document(card)
    return document


def verdict_document(card: Card) -> dict[str, Any]:
    """A verdict for JSON: how the answers were read, its lines, and a recommendation for each model."""
    names = ("model", "field", "kind", "prompt", "classes", "groups", "reason", "next_step")
    models = [
        {name: getattr(recommendation, name) for name in names} for recommendation in card.recommendations
    ]
    lines = [*map(whole, card.lines)]
    return {"reading": card.reading, "lines": lines, "misread": card.misread, "models": models}


def say_quality(quality: Quality | None) -> None:
    """Print a line for each thing that is wrong with the answers."""
    from quaver.report.findings.key_results import quality_lines

    for line in quality_lines(quality) if quality else ():
        say(line)


def show_outcome(outcome: Outcome, study: Study) -> StudyStatus:
    """Print how a run ended, what is stored, what it cost, and how to continue; the status it leaves."""
    status = study.status()
    print_status("collected", outcome, status)
    if outcome.ended != "interrupted":
        say_quality(quality_in_passing(study, status))
    print_status("ended", outcome, status)
    return status


def print_status(text: str, *about: Any) -> None:
    """Print a text about how far a study is, one of those in ``status.txt``."""
    from quaver.study.collection.forecast import in_dollars

    printer("status", in_dollars=in_dollars)(text, *about)


def say_verdict(study: Study, status: StudyStatus) -> None:
    """Print the verdict on a study whose calls are all answered, and what to type next."""
    if card := verdict_in_passing(study, status):
        say_card(card, next_command(card))


def say_card(card: Card, then: str) -> None:
    """Print how answers were read, a verdict's three lines, the first one bold, and what to type next."""
    first, *others = card.lines
    screen.print()
    if card.reading:
        say(card.reading)
    say(first, style="bold")
    for line in (*others, *card.misread):
        say(line)
    before, verb, behind = then.partition("quaver ")
    say_command(f"Next: {before}".rstrip(), verb + behind)


def next_command(card: Card) -> str:
    """What to type after a verdict."""
    return whole(f"quaver {card.command or _COMMANDS.get(card.step, 'report STUDY')}")
