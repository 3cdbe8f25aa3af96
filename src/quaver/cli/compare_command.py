"""``quaver compare``: what differs between two studies, or between the conditions of one."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection as Names
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from quaver.cli.console import JsonOption, print_command, print_json, printer, say, screen, table
from quaver.cli.study_options import (
    FieldOption,
    FunctionOption,
    one_of_plugins,
    open_both,
    studies,
    study_file,
)
from quaver.core.number_format import short_name
from quaver.core.rows import cell_columns, defined, of_measures
from quaver.errors import StoreError

if TYPE_CHECKING:
    from quaver.comparison.comparison_result import Comparison
    from quaver.study.session import Study


class Studies(NamedTuple):
    """Two studies, or one."""

    before: Study
    after: Study | None

    def compare(self, **options: Any) -> Comparison:
        """Compare them (`quaver.compare`)."""
        from quaver.comparison.paired_comparison import compare

        return compare(self.before, self.after, **options)

    def texts(self, wanted: Names[str]) -> dict[str, str]:
        """The texts of some items, by id."""
        from quaver.comparison.flipped_items import item_texts

        return item_texts(self.after or self.before, wanted)


def show_comparison(comparison: Comparison, most: int) -> None:
    """Show a comparison, with so many of its flipped items."""
    from quaver.comparison.comparison_result import FIXED, difference_cells, headline  # loads polars

    tell = printer("compare", found=comparison, short_name=short_name)
    tell("head")
    screen.print()
    estimates = defined(comparison.differences)
    for measure in dict.fromkeys(estimate.measure for estimate in estimates):
        some = of_measures(estimates, measure)
        columns = cell_columns(some)
        varying = [c for c in columns if len({estimate.cell.get(c) for estimate in some}) > 1]
        fixed = [f"{c} {short_name(some[0].cell[c])}" for c in columns if c not in varying]
        level = f"{100 * some[0].confidence_level:.4g}% interval"
        heads = (*varying, "before", "after", "difference", level, "unpaired")
        rows = [
            (*(short_name(estimate.cell.get(c, "")) for c in varying), *difference_cells(estimate))
            for estimate in some
        ]
        screen.print(table(heads, rows, ", ".join([measure, *fixed])))
        screen.print()
    judged = [name for name, one in comparison.by_measure().items() if one.kind == "undefined"]
    for line in comparison.undefined:
        if not line.startswith(tuple(f"{name} is undefined:" for name in judged)):  # its verdict says so
            say(line)
    if estimates:
        say(FIXED)
        screen.print()
    tell("verdicts")
    screen.print()
    tell("flips", most)
    if most and not comparison.flips.is_empty():
        _show_flips(comparison, most)
    for judgement in comparison.judgements:
        screen.print()
        tell("bound", judgement)
    if comparison.outcome != "reported":  # a class that is lost fails it though every bound holds
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
    before: Annotated[Path, typer.Argument(autocompletion=studies)],
    after: Annotated[Path | None, typer.Argument(autocompletion=studies)] = None,
    by: str | None = None,
    reference: str | None = None,
    measure: Annotated[list[str] | None, typer.Option(autocompletion=one_of_plugins("measures"))] = None,
    fail_if: Annotated[list[str] | None, typer.Option(metavar="BOUND")] = None,
    fail_unless: Annotated[list[str] | None, typer.Option(metavar="BOUND")] = None,
    margin: Annotated[float | None, typer.Option(min=0)] = None,
    must_see: Annotated[float | None, typer.Option(min=0)] = None,
    anytime: bool = False,
    looks: Annotated[int | None, typer.Option(min=1)] = None,
    confidence_level: float = 0.95,
    resamples: Annotated[int, typer.Option(min=100)] = 2000,
    flips: Annotated[int, typer.Option(min=0)] = _MOST_FLIPS,
    texts: bool = False,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    annotations: bool = False,
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
      must_see: Exit with 1, too, if a loss of this size could have gone unseen: 0.05.
      anytime: Judge so that versions can be compared with this baseline at every commit.
      looks: With --anytime: how many comparisons you plan (100).
      confidence_level: Level of the intervals.
      resamples: Random draws, where a measure needs them.
      flips: How many flipped items to show.
      texts: Quote the texts of flipped items in the Markdown.
      markdown: Write Markdown for a pull request's comment to this file.
      junit: Write JUnit XML to this file.
      annotations: Also print annotations for GitHub Actions.

    Examples:
      quaver compare before.quaver.zip study.yaml
      quaver compare study.yaml --by model
      quaver compare old new --fail-unless 'accuracy > -0.03'
      quaver compare old new --anytime --fail-if loss --junit x.xml
    """
    from quaver.comparison.difference_verdict import MARGIN
    from quaver.comparison.kept_looks import PLANNED

    both = Studies(*open_both(before, after, function, field))
    comparison = both.compare(
        by=by,
        reference=reference,
        measures=measure,
        fail_if=fail_if or (),
        fail_unless=fail_unless or (),
        margin=MARGIN if margin is None else margin,
        confidence_level=confidence_level,
        resamples=resamples,
        looks=(looks or PLANNED) if anytime or looks else None,
        must_see=must_see,
    )
    _write(markdown, lambda: _comment(comparison, flips, both if texts else None))
    _write(junit, lambda: _junit(comparison, study_file(after or before)))
    if as_json:
        print_json(comparison.document())
    else:
        show_comparison(comparison, flips)
    if annotations:
        _annotate(comparison, study_file(after or before))
    if not comparison.held:
        raise typer.Exit(1)


def _comment(comparison: Comparison, flips: int, quoted: Studies | None) -> str:
    """Markdown for a pull request, with the texts of flipped items, where they may be quoted."""
    from quaver.comparison.pull_request_comment import markdown

    texts = None if quoted is None else quoted.texts(set(comparison.flips["item"].head(flips)))
    return markdown(comparison, flips=flips, texts=texts)


def _junit(comparison: Comparison, file: str) -> str:
    from quaver.comparison.pull_request_comment import junit

    return junit(comparison, file=file)


def _annotate(comparison: Comparison, file: str) -> None:
    from quaver.comparison.pull_request_comment import workflow_commands

    for line in workflow_commands(comparison, file=file):
        print_command(line)


def _write(path: Path | None, text: Callable[[], str]) -> None:
    """Write a file about a comparison, if one is asked for."""
    if path is None:
        return
    try:
        path.write_text(text(), encoding="utf-8")
    except OSError as error:
        raise StoreError("the file cannot be written", where=str(path), found=str(error)) from None
