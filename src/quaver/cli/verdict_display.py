"""What the commands show of the verdict on a study: three lines, and the next command to type."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

from quaver.cli.console import say, screen
from quaver.cli.run_display import REACHED, READ_IN_PASSING
from quaver.cli.study_options import HERE
from quaver.errors import StoreError

if TYPE_CHECKING:
    from quaver.report.findings.recommendation import NextStep
    from quaver.report.findings.verdict_card import Card
    from quaver.study.collection.study_status import StudyStatus
    from quaver.study.session import Study

_COMMANDS: Final[Mapping[NextStep, str]] = {"run": "run", "ask again": "run --retry-errors"}
"""What to type for a next step; for all others the report shows where to begin."""


def say_verdict(study: Study, status: StudyStatus, path: Path, on: Console = screen) -> None:
    """Print the verdict on a study whose calls are all answered, and what to type next."""
    if card := verdict_in_passing(study, status):
        say_card(card, next_command(card, path), on)


def verdict_in_passing(study: Study, status: StudyStatus) -> Card | None:
    """The verdict; None where answers are missing or still come in, or are so many that it takes long."""
    if not status.answered or status.process is not None or status.answered > READ_IN_PASSING:
        return None
    if status.answered < status.total and status.ended not in REACHED:
        return None
    from quaver.study.study_verdict import verdict

    try:
        return verdict(study.source, status)
    except StoreError:  # the folder is full or cannot be written; measuring says so
        return None


def say_card(card: Card, then: str, on: Console = screen) -> None:
    """Print a verdict's three lines, the first one bold, and what to type next."""
    first, *others = card.lines
    on.print()
    say(first, on=on, style="bold")
    for line in others:
        say(line, on=on)
    say(f"Next: {then}", on=on)


def next_command(card: Card, path: Path) -> str:
    """What to type after a verdict.

    Args:
        card: The verdict.
        path: The study as the commands are to name it.
    """
    verb, *options = _COMMANDS.get(card.step, "report").split()
    return " ".join(("quaver", verb, *([] if path == HERE else [shlex.quote(str(path))]), *options))
