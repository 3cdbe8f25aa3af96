"""``quaver worst``: the items to look at first, and whether a change helped only these."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quaver.cli.console import print_by_field, say, say_field, screen, table
from quaver.cli.study_options import (
    HERE,
    FieldOption,
    FunctionOption,
    StudyArgument,
    file_of_field,
    open_both,
    studies,
)
from quaver.core.number_format import short_name
from quaver.core.rows import cell_columns
from quaver.errors import UnknownName

if TYPE_CHECKING:
    import polars as pl

    from quaver.comparison.worst_items import Worst

_LONG = 60


def command(
    study: StudyArgument = HERE,
    against: Annotated[Path | None, typer.Option(autocompletion=studies)] = None,
    n: Annotated[int, typer.Option("-n", min=1)] = 10,
    evaluator: str | None = None,
    out: Path | None = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """List the items to look at first, with their answers.

    With --against, before and after a change.

    Options:
      against: The study before a change: its bundle, or a copy of its folder.
      n: How many items.
      evaluator: The evaluator; by default the study's first.
      out: Write items and whole answers to a .csv or .json file.
      as_json: One JSON object.

    Examples:
      quaver worst study.yaml -n 5
      quaver worst study.yaml --against before.quaver.zip
      quaver worst study.yaml --out worst.csv
    """
    from quaver.comparison.worst_items import worst

    documents = {}
    now, earlier = open_both(study, against, function, field)
    for name, one in (now.fields or {"": now}).items():
        before = earlier
        if earlier is not None and name:
            before = earlier.fields.get(name)
            if before is None:
                raise UnknownName("field", name, earlier.fields, where="--against")
        found = worst(one, against=before, n=n, evaluator=evaluator)
        documents[name] = found.document()
        if (path := file_of_field(out, name)) is not None:
            found.write(path)
            say(f"Wrote {path}")
        elif not as_json:
            say_field(name)
            _show(found)
    if as_json:
        print_by_field(documents)


def _show(worst: Worst) -> None:
    if worst.items.is_empty():
        screen.print("No item is sensitive, inconsistent, or without a label.")
    for row in worst.items.iter_rows(named=True):
        gold = f", gold label {row['gold']}" if row["gold"] is not None else ""
        numbers = [
            f"{name} {_change(row[name], row.get(f'{name}_after'), worst)}"
            for name in ("score", "sensitivity", "consistency", "unparsed", "right")
            if row[name] is not None
        ]
        say(f"{row['item']}: {row['why']}{gold}", style="bold")
        say(f"  {', '.join(numbers)}")
        if row["text"]:
            say(f"  {_short(row['text'], 100)}", style="dim")
        screen.print(_answers(worst.answers.filter(worst.answers["item"] == row["item"])))
        screen.print()
    from quaver.comparison.worst_items import RULE

    screen.print(RULE, style="dim")
    if worst.before is not None:
        _show_differences(worst)


def _change(before: float, after: float | None, worst: Worst) -> str:
    if worst.before is None:
        return f"{before:.2f}"
    return f"{before:.2f} → {'none' if after is None else f'{after:.2f}'}"


def _answers(answers: pl.DataFrame) -> object:
    """The answers of one item; equal ones share a row."""
    from quaver.core.records import NO_LABEL

    varying = [name for name in ("model", "decoding") if answers[name].n_unique() > 1]
    counted = answers.group_by(*varying, "variant", "label", "status", "output", maintain_order=True).len()
    rows = []
    for row in counted.iter_rows(named=True):
        why = f"{NO_LABEL} ({row['status'].replace('_', ' ')})" if row["status"] != "no_label" else NO_LABEL
        label = row["label"] if row["label"] is not None else why
        output = "" if row["output"] is None else _short(row["output"], _LONG) or "(empty)"
        rows.append((*(row[name] for name in varying), short_name(row["variant"]), row["len"], label, output))
    return table((*varying, "variant", "times", "label", "answer"), rows)


def _show_differences(worst: Worst) -> None:
    from quaver.comparison.comparison_result import difference_cells

    screen.print()
    columns = cell_columns(worst.differences)
    apart = [
        name
        for name in columns
        if name not in ("items", "evaluator")
        and len({estimate.cell.get(name) for estimate in worst.differences}) > 1
    ]
    heads = ("items", "number", *apart, "measure", "before", "after", "difference", "interval")
    rows = []
    for estimate in worst.differences:
        which = estimate.cell["items"]
        levels = [short_name(estimate.cell.get(name, "")) for name in apart]
        rows.append((which, worst.counts[which], *levels, estimate.measure, *difference_cells(estimate)[:4]))
    screen.print(table(heads, rows, f"Before: {worst.before}"))


def _short(text: object, length: int) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
