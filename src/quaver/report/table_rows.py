"""The tables of the page: plain rows whose numbers keep their full value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from markupsafe import Markup, escape

from quaver.core.number_format import count, p_heading, rounded, with_interval
from quaver.core.records import Estimate
from quaver.core.rows import cell_columns
from quaver.report.estimate_index import Results
from quaver.report.page_words import ALL, between, cell, in_words, interval, number, percent_measure, phrase

_MOST_ROWS = 600
_LONG = 45
_STATUSES = ("valid", "no_label", "ambiguous", "refused", "empty", "error")


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        columns: Headings.
        rows: Cells; text is escaped when it is printed, ``Markup`` is not.
        numeric: Which columns hold numbers.
        note: What is not in it.
        name: Of its files in ``tables/``; empty where it has none.
        groups: What spans each column in a line above the headings, if anything does.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str | Markup, ...], ...]
    numeric: frozenset[int] = frozenset()
    note: str = ""
    name: str = ""
    groups: tuple[str, ...] = ()

    def group(self, index: int) -> str:
        """What spans a column."""
        return self.groups[index] if self.groups else ""

    @property
    def headings(self) -> list[str]:
        """The headings, each after what spans its column."""
        named = [(self.group(index), name) for index, name in enumerate(self.columns)]
        return [f"{group}, {name}" if group else name for group, name in named]

    @property
    def wordy(self) -> bool:
        """Whether it has long texts; on a phone its rows are then lists."""
        return any(
            len(cell) > _LONG
            for row in self.rows
            for index, cell in enumerate(row)
            if index not in self.numeric
        )


def shortened_table(
    columns: Sequence[str], rows: Sequence[Sequence[str | Markup]], numeric: Iterable[int], most: int = 400
) -> Table:
    """The first rows as a table, with a note of how many more there are."""
    left = len(rows) - most
    note = f"{left:,} more rows are in estimates.csv." if left > 0 else ""
    return Table(tuple(columns), tuple(map(tuple, rows[:most])), frozenset(numeric), note)


Key = str | Callable[[Any], Any]
"""What a cell holds: a field of what its row is about, a detail of an estimate, or a function of it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of things, of which each has a row: its heading, and what it says of a thing."""

    heading: str
    cell: Callable[[Any], str | Markup]
    numeric: bool = True


def listed(things: Iterable[Any], columns: Sequence[Column], *, most: int = 400, name: str = "") -> Table:
    """A table with a row for each thing."""
    rows = [[column.cell(thing) for column in columns] for thing in things]
    numeric = [index for index, column in enumerate(columns) if column.numeric]
    return replace(shortened_table([column.heading for column in columns], rows, numeric, most), name=name)


def text(heading: str, key: Key) -> Column:
    """A column of text."""
    return Column(heading, lambda thing: _text(_held(thing, key)), numeric=False)


def plain(heading: str, key: Key) -> Column:
    """A column of numbers."""
    return Column(heading, lambda thing: cell(_held(thing, key)))


def share(heading: str, key: Key) -> Column:
    """A column of shares, in percent."""
    return Column(heading, lambda thing: cell(_held(thing, key), percent=True))


def tally(heading: str, key: Key) -> Column:
    """A column of counts."""

    def counted(thing: Any) -> str:
        held = _held(thing, key)
        return "" if held is None else f"{held:,.0f}"

    return Column(heading, counted)


ENDS = (plain("from", "low"), plain("to", "high"))
"""Two columns for the ends of intervals."""


def both_ends(percent: bool = False) -> Column:
    """A column of intervals."""
    return Column("interval", lambda estimate: between(estimate.low, estimate.high, percent))


def part_of_cell(name: str, results: Results) -> Column:
    """A column for what estimates' cells have under a name."""

    def part(estimate: Estimate) -> str:
        value = estimate.cell.get(name, "all")
        return results.variant_name(value) if name == "variant" and name in estimate.cell else value

    return Column(name, part, numeric=False)


_FIELDS = frozenset({"value", "low", "high", "n"})


def _held(thing: Any, key: Key) -> Any:
    if callable(key):
        return key(thing)
    if isinstance(thing, Estimate):
        return getattr(thing, key) if key in _FIELDS else thing.details.get(key)
    return thing.get(key)


def _text(value: Any) -> str | Markup:
    return value if isinstance(value, Markup) else str(value)


def cell_in_words(estimate: Estimate, column: str) -> str:
    """What an estimate's cell has in a column, a factor by its study's name."""
    value = estimate.cell.get(column, ALL.get(column, "all"))
    return in_words(value) if column == "factor" and column in estimate.cell else value


def estimates_table(estimates: Sequence[Estimate], mark: Callable[[str], str | Markup] = phrase) -> Table:
    """Estimates with their cells, intervals and what there is to note about them."""
    columns = cell_columns(estimates)
    if len({estimate.measure for estimate in estimates}) > 1:
        columns = ["measure", *columns]
    tested = [estimate for estimate in estimates if "p_holm" in estimate.details]
    scoped = any(estimate.estimand != "fixed" for estimate in estimates)
    rows = []
    for estimate in estimates[:_MOST_ROWS]:
        percent = percent_measure(estimate.measure)
        value = escape("—") if estimate.value is None else number(estimate.value, percent)
        verdict = estimate.details.get("verdict")
        noted = [escape(str(said)) for said in (verdict, estimate.reason) if said]
        noted += dict.fromkeys(escape(mark(warning)) for warning in estimate.warnings)
        if untried := estimate.details.get("untried_at_most"):
            noted.append(
                escape(f"up to {untried:.0%} of prompts may be of kinds not tried, and do not count")
            )
        cells = [estimate.measure if c == "measure" else cell_in_words(estimate, c) for c in columns]
        adjusted = [_p_value(estimate)] if tested else []
        holds = [estimate.scope.removeprefix("for ")] if scoped else []
        rows.append(
            (*cells, value, interval(estimate), *holds, *adjusted, str(estimate.n), Markup("; ").join(noted))
        )
    left = len(estimates) - _MOST_ROWS
    heads = (
        *("value", _level(estimates)),
        *(["holds for"] if scoped else []),
        *([p_heading(tested)] if tested else []),
        *("n", "notes"),
    )
    numeric = {index for index, head in enumerate(heads, len(columns)) if head not in ("holds for", "notes")}
    return Table(
        (*columns, *heads),
        tuple(rows),
        frozenset(numeric),
        f"{left:,} more rows are in estimates.csv." if left > 0 else "",
    )


def _p_value(estimate: Estimate) -> Markup | str:
    return number(estimate.details["p_holm"]) if "p_holm" in estimate.details else ""


def verdict(estimate: Estimate) -> list[str]:
    """The verdict on an estimate that is compared with a threshold; nothing for the others."""
    limit, found = (str(estimate.details.get(name, "")) for name in ("limit", "verdict"))
    return [f"{found}: {limit}" if limit else found] if found else []


def _level(estimates: Sequence[Estimate]) -> str:
    levels = {estimate.confidence_level for estimate in estimates}
    return f"{100 * levels.pop():g}% interval" if len(levels) == 1 else "interval"


def undefined_table(results: Results) -> Table:
    """What could not be measured and why, similar cells together."""
    grouped: dict[tuple[str, str], list[Estimate]] = {}
    for estimate in results.undefined:
        grouped.setdefault((estimate.measure, estimate.reason or "no reason given"), []).append(estimate)
    rows = []
    for (measure, reason), estimates in grouped.items():
        rows.append((measure, reason, str(len(estimates)), _where(estimates)))
    return Table(("measure", "reason", "estimates", "where"), tuple(rows), frozenset({2}))


def _where(estimates: Sequence[Estimate]) -> str:
    """What the cells of some estimates share, and how many values there are of the rest."""
    parts = []
    for column in cell_columns(estimates):
        values = list(dict.fromkeys(estimate.cell.get(column, "all") for estimate in estimates))
        parts.append(f"{column} {values[0]}" if len(values) == 1 else f"{len(values)} values of {column}")
    return ", ".join(parts) or "the whole study"


def left_out(results: Results) -> list[tuple[str, str, int, int]]:
    """What estimates exclude: measure, kind, in how many estimates, and how many in all of them."""
    total: Counter[tuple[str, str]] = Counter()
    times: Counter[tuple[str, str]] = Counter()
    for estimate in results.estimates:
        for kind, n in estimate.excluded.items():
            total[estimate.measure, str(kind)] += int(n)
            times[estimate.measure, str(kind)] += 1
    return [(measure, kind, times[measure, kind], total[measure, kind]) for measure, kind in total]


def statuses(results: Results) -> Table:
    """How many answers have which status, by evaluator."""
    frame = results.annotations
    if frame.is_empty() or not {"evaluator", "status"} <= set(frame.columns):
        return Table((), ())
    counted = frame.group_by(pl.col("evaluator", "status").cast(pl.String)).len()
    found = {(evaluator, status): count for evaluator, status, count in counted.iter_rows()}
    known = [s for s in _STATUSES if any(status == s for _, status in found)]
    rows = []
    for evaluator in results.evaluators:
        total = sum(count for (name, _), count in found.items() if name == evaluator)
        rows.append((evaluator, f"{total:,}", *(f"{found.get((evaluator, s), 0):,}" for s in known)))
    columns = ("evaluator", "answers", *(s.replace("_", " ") for s in known))
    return Table(columns, tuple(rows), frozenset(range(1, len(columns))))


_WAYS = {"again": "again, from its cache", "reordered": "in another order", "together": "several at a time"}


def noise_table(results: Results) -> Table:
    """How the engine's answers differ from those of a freshly started engine."""

    def counted(heading: str, key: str) -> Column:
        return Column(heading, lambda row: "—" if row.get(key) is None else str(row[key]))

    def largest(row: Mapping[str, Any]) -> str:
        return "—" if row.get("largest") is None else f"{row['largest']:.3g}"

    columns = (
        text("model", "model"),
        text("asked", lambda row: _WAYS.get(str(row.get("way")), str(row.get("way")))),
        counted("answers", "answers"),
        counted("another text", "other_text"),
        counted("another most likely token", "other_top"),
        counted("identical to the last bit", "identical"),
        Column("largest difference of a log-probability", largest),
    )
    return listed([{**row, "model": model} for model, rows in results.noise.items() for row in rows], columns)


def corrected_conclusions(estimates: Iterable[Estimate]) -> dict[str, Estimate]:
    """The estimate of each conclusion that is about the true labels, by the conclusion's name."""
    return {
        estimate.cell["conclusion"]: estimate
        for estimate in reversed(list(estimates))
        if estimate.measure == "conclusion_corrected" and "model" not in estimate.cell
    }


def in_true_labels(estimate: Estimate) -> str:
    """What a corrected conclusion says, after its name.

    >>> details = {"verdict": "holds", "effect": "educ > 0", "gold": 200, "effective_gold": 351.6}
    >>> in_true_labels(Estimate("conclusion_corrected", 0.07, 0.03, 0.11, details=details))
    'holds in the true labels: 0.07 [0.03 to 0.11], from 200 gold labels, corrected; as precise as 352 alone'
    """
    if estimate.value is None or estimate.interval is None:
        return f"cannot be judged in the true labels: {estimate.reason or 'no interval'}"
    found = estimate.details
    words = {"not distinguishable": "is not distinguishable from none"}.get(
        found["verdict"], found["verdict"]
    )
    return (
        f"{words} in the true labels: {with_interval(estimate, rounded)}, from "
        f"{count(found['gold'], 'gold label')}, corrected; "
        f"as precise as {round(found['effective_gold']):,} alone"
    )
