"""``quaver status``: how far a study is, also while it runs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console

from quaver.cli.console import JsonOption, print_json, say, say_study, screen, table
from quaver.cli.run_display import (
    READ_IN_PASSING,
    errors_table,
    print_status,
    quality_in_passing,
    say_quality,
)
from quaver.cli.study_options import HERE, FunctionOption, StudyArgument, studies_of
from quaver.core.number_format import moment
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
    if status.answered < status.total:
        return None
    from quaver.study.study_report import verdict

    try:
        return verdict(study.source, status)
    except StoreError:  # the folder is full or cannot be written; measuring says so
        return None


def say_card(card: Card, then: str, on: Console = screen) -> None:
    """Print how answers were read, a verdict's three lines, the first one bold, and what to type next."""
    first, *others = card.lines
    on.print()
    if card.reading:
        say(card.reading, on=on)
    say(first, on=on, style="bold")
    for line in (*others, *card.misread):
        say(line, on=on)
    say(f"Next: {then}", on=on)


def next_command(card: Card, path: Path) -> str:
    """What to type after a verdict."""
    verb, *options = (card.command or _COMMANDS.get(card.step, "report")).split()
    return " ".join(("quaver", verb, *([] if path == HERE else [shlex.quote(str(path))]), *options))


def command(
    study: StudyArgument = HERE, as_json: JsonOption = False, function: FunctionOption = None
) -> None:
    """Show how far a study is, what it cost and what failed.

    Asks nothing; works while the study runs.

    Examples:
      quaver status study.yaml
      quaver status study.yaml --json
    """
    documents = {}
    for name, opened in studies_of(study, function).items():
        if as_json:
            documents[name] = _document(opened)
        else:
            say_study(name)
            _show(opened, opened.source.positions.path or study if name else study)
    if as_json:
        print_json(documents.get("", {"studies": documents}))


def _document(opened: Study) -> dict[str, Any]:
    """A study's status, quality and verdict for JSON."""
    status = opened.status()
    quality = quality_in_passing(opened, status)
    issues = None if quality is None else [asdict(issue) for issue in quality.issues]
    groups = None if quality is None else [asdict(clusters) for clusters in quality.clusters]
    more = {"by_kind": dict(status.by_kind), "left": status.left, "quality": issues, "clusters": groups}
    return asdict(status) | more | {"verdict": _verdict_document(verdict_in_passing(opened, status))}


def _show(opened: Study, path: Path) -> None:
    status = opened.status()
    quality = quality_in_passing(opened, status)
    print_status("progress", status)
    if status.by_kind:
        screen.print(errors_table(status.by_kind))
    _show_batches(status)
    say_quality(quality)
    say_verdict(opened, status, path)


def _verdict_document(card: Card | None) -> dict[str, Any] | None:
    """A verdict for JSON: its lines, and what is recommended for each model; None where there is none."""
    if card is None:
        return None
    names = ("model", "field", "kind", "prompt", "classes", "groups", "reason", "next_step")
    models = [
        {name: getattr(recommendation, name) for name in names} for recommendation in card.recommendations
    ]
    return {"reading": card.reading, "lines": card.lines, "misread": card.misread, "models": models}


def _show_batches(status: StudyStatus) -> None:
    if not status.batches:
        return
    from quaver.study.forecasts.forecast import Range

    rows = [
        (
            batch.model,
            batch.remote or batch.name,
            batch.state,
            batch.calls,
            batch.done,
            moment(batch.since),
            moment(batch.expires) if batch.expires else "unknown",
            "unknown" if batch.money is None else str(Range(batch.money, batch.money)),
        )
        for batch in status.batches
    ]
    heads = ("model", "batch", "state", "calls", "done", "since", "given up at", "expected cost")
    print_status("batches", status.batches)
    screen.print(table(heads, rows))
    print_status("batch_notes", status.batches)
