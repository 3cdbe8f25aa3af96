"""``quaver status``: how a study stands, also while it runs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from quaver.cli.screen import (
    HERE,
    FunctionOption,
    StudyArgument,
    duration,
    errors_table,
    open_study,
    print_json,
    quality_of,
    say_quality,
    screen,
)
from quaver.cli.screen import table as drawn

if TYPE_CHECKING:
    from quaver.study.collection.study_status import StudyStatus

_SHOWN = 30
"""Conditions that are listed."""


def command(
    study: StudyArgument = HERE,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    function: FunctionOption = None,
) -> None:
    """Say how much of a study is answered, what was spent and what failed. Asks nothing."""
    opened = open_study(study, function)
    now = opened.status()
    quality = quality_of(opened, now)
    if as_json:
        issues = None if quality is None else [asdict(one) for one in quality.issues]
        print_json(asdict(now) | {"by_kind": dict(now.by_kind), "left": now.left, "quality": issues})
        return
    _say(f"{now.answered:,} of {now.total:,} calls are answered" + _with_errors(now.errors))
    for line in _about(now):
        _say(line)
    if now.by_kind:
        screen.print(errors_table(now.by_kind))
    say_quality(quality)
    unfinished = [one for one in now.conditions if one.answered < one.wanted]
    if unfinished and now.answered and len(now.conditions) > 1:
        heads = ("model", "decoding", "variant", "answered", "of")
        rows = [
            (one.condition.model, one.condition.asked_as, one.condition.variant, one.answered, one.wanted)
            for one in unfinished[:_SHOWN]
        ]
        screen.print(drawn(heads, rows, "Conditions that are not finished:"))
        if len(unfinished) > _SHOWN:
            _say(f"… and {len(unfinished) - _SHOWN:,} conditions more.")


def _with_errors(errors: int) -> str:
    return f", {errors:,} with an error." if errors else "."


def _about(now: StudyStatus) -> list[str]:
    lines = []
    if now.tokens:
        from quaver.study.forecasts.costs import Range

        cost = "cost unknown" if now.money is None else str(Range(now.money, now.money))
        lines.append(f"{now.tokens:,.0f} tokens were read and written ({cost}).")
    if now.discarded:
        lines.append(
            f"{now.sent:,} requests were sent and {now.received:,} replies came; {now.discarded:,} became no "
            f"answer and took {now.discarded_tokens:,.0f} of these tokens."
        )
    if now.paraphrases:
        lines.append(f"{now.paraphrases:,} calls made paraphrases; what they took is among it.")
    lines += [f"{calls:,} answers were taken from {study}." for study, calls in now.reused.items()]
    if now.waiting:
        lines.append(
            f"{now.waiting:,} answers of a run that was killed wait in responses.spill: "
            "`quaver run` takes them in, and does not ask for them again."
        )
    if now.unplaced:
        lines.append(f"{now.unplaced:,} stored answers fit no call of the study as it is.")
    if now.ended == "narrow":
        lines.append("The collection ended because its interval is as narrow as asked.")
    if now.process is not None:
        pace = f"{now.rate:,.1f} calls a second in the last minute, {duration(now.left)} left"
        lines.append(
            f"Process {now.process} is collecting: {pace if now.rate else 'nothing came in lately'}."
        )
    return [*lines, *(f"Warning: {told}." for told in now.warnings)]


def _say(line: str) -> None:
    screen.print(line, soft_wrap=True)
