"""A comparison on the terminal: its tables, verdicts, flipped items and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quaver.cli.console import say, screen, table
from quaver.core.number_format import short_name

if TYPE_CHECKING:
    from quaver.comparison.comparison_result import Comparison
    from quaver.comparison.difference_verdict import Verdict
    from quaver.core.records import Estimate


def show_comparison(found: Comparison, most: int) -> None:
    """Show a comparison, with so many of its flipped items."""
    from quaver.comparison.comparison_result import FIXED  # loads polars

    say(f"{found.items:,} items in both: {found.before}, then {found.after}.")
    for line in found.left_out:
        say(f"Left out: {line}.")
    for line in found.notes:
        say(line)
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
    _say_losses(found)
    if found.look is not None:
        say(found.look.sentence)
    if found.round is not None:
        say(found.round.sentence)
    screen.print()
    _show_flips(found, most)
    _show_bounds(found)


def _say_losses(found: Comparison) -> None:
    """Classes and groups that lose, and how many do not."""
    parts = [one for one in found.losses if one.of_part]
    lost = [one for one in parts if one.kind == "loss" or one in found.lost]
    for one in lost:
        say(f"{one.sentence[:1].upper()}{one.sentence[1:]}.")
    if rest := len(parts) - len(lost):
        say(f"No loss is shown in {rest:,}{' other' * bool(lost)} classes and groups (--json has them all).")


def _seen(verdict: Verdict) -> str:
    """The smallest loss that the run could have seen."""
    if not verdict.seen:
        return ""
    return f" The smallest {verdict.noun} that this run could see: {verdict.seen}."


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
    items = found.flipped
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
