"""``quaver accept``: which labels may be accepted, and which need a person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quaver.cli.console import JsonOption, print_by_field, say, say_field, screen, table
from quaver.cli.study_options import (
    HERE,
    FieldOption,
    FunctionOption,
    StudyArgument,
    file_of_field,
    open_fields,
)
from quaver.core.number_format import percent, promised

if TYPE_CHECKING:
    from quaver.acceptance.accepted_labels import Acceptance, Accepted


def command(
    study: StudyArgument = HERE,
    error: Annotated[float, typer.Option(min=0.0, max=1.0)] = 0.05,
    confidence: Annotated[float, typer.Option(min=0.0, max=1.0)] = 0.95,
    by: str | None = None,
    evaluator: str | None = None,
    out: Path | None = None,
    as_json: JsonOption = False,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Say which labels may be accepted, and which need a person.

    From a gold sample that quaver gold drew: at most so many of the accepted labels are wrong.

    Options:
      error: The share of accepted labels that may be wrong.
      confidence: How sure that must be.
      by: Promise it for each group of this column, or with 'label' for each class.
      evaluator: The evaluator; by default the study's first.
      out: The CSV of the items; by default accepted.csv in the study's folder.

    Examples:
      quaver accept study.yaml
      quaver accept study.yaml --error 0.1 --by label
      quaver accept study.yaml --out accepted-labels.csv
    """
    documents = {}
    for name, one in open_fields(study, function, field).items():
        acceptance = one.gold.accept(
            error=error,
            confidence_level=confidence,
            by=by,
            evaluator=evaluator,
        )
        documents[name] = acceptance.document()
        path = file_of_field(out, name) or (one.folder / "accepted.csv" if one.source.keeps_results else None)
        if path is not None:
            acceptance.write(path)
        if as_json:
            continue
        say_field(name)
        _show(acceptance)
        if path is not None:
            say(f"Wrote {path}")
    if as_json:
        print_by_field(documents)


def _show(acceptance: Acceptance) -> None:
    say(acceptance.headline)
    for note in acceptance.notes:
        say(note)
    heads = ("accepted", "share", "checked", "wrong")
    if acceptance.by:
        screen.print()
        screen.print(table((acceptance.by, *heads), [(one.level, *_cells(one)) for one in acceptance.found]))
    screen.print()
    rows = [(promised(one.promise), *_cells(one)) for one in acceptance.curve]
    screen.print(table(("at most wrong", *heads), rows))
    if acceptance.groups:
        shown = [
            (group.column, group.level, *map(_share, (group.accepted, group.at_most)), group.verdict)
            for group in acceptance.groups
        ]
        screen.print()
        screen.print(table(("group", "level", "accepted", "at most wrong", "verdict"), shown))


def _share(value: float | None) -> str:
    return "" if value is None else percent(value)


def _cells(one: Accepted) -> tuple[str | int, ...]:
    return f"{one.accepted:,}", percent(one.share), one.checked, one.wrong
