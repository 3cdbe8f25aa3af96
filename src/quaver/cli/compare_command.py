"""``quaver compare``: what differs between two studies, or between the conditions of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quaver.cli.console import JsonOption, print_json, printer, say, screen, table
from quaver.cli.study_options import (
    FieldOption,
    FunctionOption,
    open_both,
    study_file,
)
from quaver.core.number_format import short_name
from quaver.errors import StoreError

if TYPE_CHECKING:
    from quaver.comparison.comparison_result import Comparison


def show_comparison(comparison: Comparison, most: int) -> None:
    """Show a comparison, with so many of its flipped items."""
    from quaver.comparison.comparison_result import FIXED, headline, judged_rows, rows_of  # loads polars

    tell = printer("compare", found=comparison)
    tell("head")
    screen.print()
    rows = [row for row in rows_of(comparison.verdicts) if row.verdict.estimate.value is not None]
    if rows:
        level = f"{100 * rows[0].verdict.estimate.confidence_level:.4g}% interval"
        heads = ("measure", "where", "before", "after", "difference", level, "unpaired")
        keep = [at for at, name in enumerate(heads) if name != "where" or any(row.where for row in rows)]
        cells = [(row.measure, *row[1:7]) for row in rows]
        screen.print(table([heads[at] for at in keep], [tuple(cell[at] for at in keep) for cell in cells]))
        screen.print()
        say(FIXED)
        screen.print()
    tell("verdicts")
    screen.print()
    tell("flips", most)
    if most and not comparison.flips.is_empty():
        _show_flips(comparison, most)
    if comparison.judgements:
        screen.print()
        tell("bounds")
        for row in (row for row in judged_rows(comparison) if row.failed):
            say(f"  {row.measure}{f' ({row.where})' * bool(row.where)}: {row.words}")
        screen.print()
        say(f"{headline(comparison)}.", style="bold")


def _show_flips(comparison: Comparison, most: int) -> None:
    from quaver.core.records import NO_LABEL

    flips = comparison.flips
    absent = {"before": NO_LABEL, "after": NO_LABEL, "gold": "no gold label"}  # a label may be called None
    has_gold = ["gold"] * (flips["gold"].null_count() < flips.height)
    varying = [
        c for c in flips.columns if c in ("item", "before", "after", *has_gold) or flips[c].n_unique() > 1
    ]
    rows: list[tuple[Any, ...]] = [
        tuple(
            absent.get(name, "") if value is None else short_name(str(value))
            for name, value in zip(varying, row, strict=True)
        )
        for row in flips.select(varying).head(most).iter_rows()
    ]
    screen.print(table(varying, rows))
    if flips.height > most:
        screen.print(f"… and {flips.height - most:,} more; --json has them all.")


_MOST_FLIPS = 20


def command(
    before: Annotated[Path, typer.Argument()],
    after: Annotated[Path | None, typer.Argument()] = None,
    by: str | None = None,
    reference: str | None = None,
    measure: list[str] | None = None,
    fail_if: Annotated[list[str] | None, typer.Option(metavar="BOUND")] = None,
    fail_unless: Annotated[list[str] | None, typer.Option(metavar="BOUND")] = None,
    margin: Annotated[float | None, typer.Option(min=0)] = None,
    confidence_level: float = 0.95,
    resamples: Annotated[int, typer.Option(min=100)] = 2000,
    flips: Annotated[int, typer.Option(min=0)] = _MOST_FLIPS,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    as_json: JsonOption = False,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Compare two studies, models or prompts on the same items.

    Differences are paired by item. Exits with 1 if a bound fails, so that it can guard a prompt in CI.
    Without a second study and --by, a study's prompts are compared with the original.

    Options:
      before: A study: its file, folder or bundle.
      after: Another version of the same items; without it, one study's prompts are compared.
      by: Compare the levels of this column in one study: model, variant, a factor.
      reference: The level to compare the others with; by default the original or first.
      measure: A measure; by default the studies' own. May be repeated.
      fail_if: Exit with 1 if the whole interval is beyond this: 'accuracy < 0'; loss: if any users
        lose.
      fail_unless: Exit with 1 unless the whole interval is: 'accuracy > -0.02'.
      margin: The largest loss that you take for none; by default 0.03: three points.
      confidence_level: Level of the intervals.
      resamples: Random draws, where a measure needs them.
      flips: How many flipped items to show.
      markdown: Write Markdown for a pull request's comment to this file.
      junit: Write JUnit XML to this file.

    Examples:
      quaver compare before.quaver.zip study.yaml
      quaver compare study.yaml --by model
      quaver compare old new --fail-unless 'accuracy > -0.03'
      quaver compare old new --fail-if loss --junit x.xml
    """
    from quaver.comparison.comparison_result import junit as as_junit
    from quaver.comparison.comparison_result import markdown as as_markdown
    from quaver.comparison.difference_verdict import MARGIN
    from quaver.comparison.paired_comparison import compare

    comparison = compare(
        *open_both(before, after, function, field),
        by=by,
        reference=reference,
        measures=measure,
        fail_if=fail_if or (),
        fail_unless=fail_unless or (),
        margin=MARGIN if margin is None else margin,
        confidence_level=confidence_level,
        resamples=resamples,
    )
    _write(markdown, lambda: as_markdown(comparison, flips=flips))
    _write(junit, lambda: as_junit(comparison, file=study_file(after or before)))
    if as_json:
        print_json(comparison.document())
    else:
        show_comparison(comparison, flips)
    if not comparison.held:
        raise typer.Exit(1)


def _write(path: Path | None, text: Callable[[], str]) -> None:
    """Write a file about a comparison, if one is asked for."""
    if path is None:
        return
    try:
        path.write_text(text(), encoding="utf-8")
    except OSError as error:
        raise StoreError("the file cannot be written", where=str(path), found=str(error)) from None
