"""``quaver compare``: what differs between two studies, or between the conditions of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quaver.cli.completions import one_of_plugins, studies
from quaver.cli.console import print_json, say, screen, table
from quaver.cli.study_options import FunctionOption, open_both
from quaver.core.level_names import short_name

if TYPE_CHECKING:
    from quaver.comparison.comparison_result import Comparison
    from quaver.comparison.difference_verdict import Verdict
    from quaver.core.records import Estimate

_MOST_FLIPS = 20


def command(
    before: Annotated[
        Path, typer.Argument(help="A study: its file, folder or bundle.", autocompletion=studies)
    ],
    after: Annotated[
        Path | None,
        typer.Argument(
            help="Another study of the same items; without it, one study's prompts are compared.",
            autocompletion=studies,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Compare the levels of this column in one study: model, variant, a factor."),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(help="The level to compare the others with; by default the original or first."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="A measure; by default the studies' own. May be repeated.",
            autocompletion=one_of_plugins("measures"),
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with 1 if the whole interval is beyond this: 'accuracy < 0'.", metavar="BOUND"
        ),
    ] = None,
    fail_unless: Annotated[
        list[str] | None,
        typer.Option(help="Exit with 1 unless the whole interval is: 'accuracy > -0.02'.", metavar="BOUND"),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(min=0, help="The largest loss that you take for none; by default 0.03: three points."),
    ] = None,
    anytime: Annotated[
        bool,
        typer.Option(
            "--anytime", help="Judge so that versions can be compared with this baseline at every commit."
        ),
    ] = False,
    looks: Annotated[
        int | None, typer.Option(min=1, help="With --anytime: how many comparisons you plan (100).")
    ] = None,
    confidence_level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    resamples: Annotated[int, typer.Option(min=100, help="Random draws, where a measure needs them.")] = 2000,
    flips: Annotated[int, typer.Option(min=0, help="How many flipped items to show.")] = _MOST_FLIPS,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    function: FunctionOption = None,
) -> None:
    """Compare two studies, models or prompts on the same items.

    Differences are paired by item. Exits with 1 if a bound fails, so that it can guard a prompt in CI.

    Examples:
      quaver compare before.quaver.zip study.yaml
      quaver compare study.yaml
      quaver compare study.yaml --by model
      quaver compare old new --fail-unless 'accuracy > -0.02'
      quaver compare old new --anytime --fail-if 'accuracy < 0'
    """
    from quaver.comparison.difference_verdict import MARGIN
    from quaver.comparison.kept_looks import PLANNED
    from quaver.comparison.paired_comparison import compare

    found = compare(
        *open_both(before, after, function),
        by=by,
        reference=reference,
        measures=measure,
        fail_if=fail_if or (),
        fail_unless=fail_unless or (),
        margin=MARGIN if margin is None else margin,
        confidence_level=confidence_level,
        resamples=resamples,
        looks=(looks or PLANNED) if anytime or looks else None,
    )
    if as_json:
        print_json(found.document())
    else:
        _show(found, flips)
    if not found.held:
        raise typer.Exit(1)


def _show(found: Comparison, most: int) -> None:
    from quaver.comparison.comparison_result import FIXED  # loads polars

    say(f"{found.items:,} items in both: {found.before}, then {found.after}.")
    for line in found.left_out:
        say(f"Left out: {line}.")
    screen.print()
    known = [one for one in found.differences if one.value is not None]
    for measure in dict.fromkeys(one.measure for one in known):
        some = [one for one in known if one.measure == measure]
        columns = list(dict.fromkeys(column for one in some for column in one.cell))
        varying = [c for c in columns if len({one.cell.get(c) for one in some}) > 1]
        fixed = [f"{c} {short_name(some[0].cell[c])}" for c in columns if c not in varying]
        heads = (
            *varying,
            "before",
            "after",
            "difference",
            f"{100 * some[0].confidence_level:.4g}% interval",
            "unpaired",
        )
        rows = [(*(short_name(one.cell.get(c, "")) for c in varying), *_numbers(one)) for one in some]
        screen.print(table(heads, rows, ", ".join([measure, *fixed])))
        screen.print()
    for line in found.undefined:
        say(line)
    if known:
        say(FIXED)
        screen.print()
    for measure, verdict in found.by_measure().items():
        say(f"{measure}: {verdict.words}.{_seen(verdict)}")
    if found.look is not None:
        say(found.look.sentence)
    screen.print()
    _show_flips(found, most)
    _show_bounds(found)


def _seen(verdict: Verdict) -> str:
    """The smallest loss that the run could have seen, where the verdict does not say it."""
    if verdict.kind == "cannot tell" or verdict.smallest is None:
        return ""
    worse = "change" if verdict.better is None else "loss"
    return f" The smallest {worse} that this run could see: {verdict.seen}."


def _numbers(one: Estimate) -> tuple[str, ...]:
    return (
        f"{one.details['before']:.3f}",
        f"{one.details['after']:.3f}",
        f"{one.value:+.3f}",
        _interval((one.low, one.high)),
        _interval(one.details.get("unpaired")),
    )


def _interval(ends: Sequence[float | None] | None) -> str:
    if not ends or ends[0] is None or ends[1] is None:
        return ""
    return f"{ends[0]:+.3f} to {ends[1]:+.3f}"


def _show_flips(found: Comparison, most: int) -> None:
    flips = found.flips
    if flips.is_empty():
        screen.print("No item has another label.")
        return
    counts = dict(flips["change"].drop_nulls().value_counts().iter_rows())
    gold = f" ({counts.get('gain', 0)} to the true label, {counts.get('loss', 0)} from it)" if counts else ""
    items = flips["item"].n_unique()
    where = f" in {flips.height:,} cells" * (flips.height > items)
    screen.print(
        f"{items:,} item{'s have' if items > 1 else ' has'} another label{where}{gold}{':' * (most > 0)}"
    )
    if not most:
        return
    from quaver.core.records import NO_LABEL

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


def _show_bounds(found: Comparison) -> None:
    for one in found.judgements:
        screen.print()
        say(one.verdict)
        if one.seen:
            say(f"  {one.seen}")
        for judged in one.failed or [one.nearest][: len(one.judged) > 1]:
            about = ", ".join(f"{c} {short_name(v)}" for c, v in judged.cell.items())
            nearest = "" if one.failed else "nearest: "
            say(
                f"  {nearest}{judged.measure} ({about}): {judged.value:+.4f}, "
                f"{_interval((judged.low, judged.high))}"
            )
