"""Tables: plain rows whose numbers keep their full value, and the table that any estimates make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup, escape

from quaver.core.number_format import p_heading
from quaver.core.records import Estimate
from quaver.core.rows import cell_columns
from quaver.report.page_words import cell, in_words, interval, number, percent_measure

_MOST_ROWS = 600
_LONG = 45


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


Key = str | Callable[[Any], Any]
"""What a cell holds: a field of what its row is about, a detail of an estimate, or a function of it."""

Column = tuple[str, Callable[[Any], str | Markup], bool]
"""A column of a table of things: its heading, its cell of a thing, and whether it holds numbers."""


def listed(
    things: Iterable[Any], columns: Sequence[Column], *, most: int = _MOST_ROWS, name: str = ""
) -> Table:
    """A table with a row for each thing; of too many the first, with a note of how many more there are."""
    things = list(things)
    rows = tuple(tuple(written(thing) for _, written, _ in columns) for thing in things[:most])
    left = len(things) - most
    return Table(
        tuple(heading for heading, _, _ in columns),
        rows,
        frozenset(index for index, (_, _, numeric) in enumerate(columns) if numeric),
        f"{left:,} more rows are in estimates.csv." if left > 0 else "",
        name,
    )


def text(heading: str, key: Key) -> Column:
    """A column of text."""

    def written(thing: Any) -> str | Markup:
        value = _held(thing, key)
        return value if isinstance(value, Markup) else "" if value is None else str(value)

    return heading, written, False


def plain(heading: str, key: Key) -> Column:
    """A column of numbers."""
    return heading, lambda thing: cell(_held(thing, key)), True


def share(heading: str, key: Key) -> Column:
    """A column of shares, in percent."""
    return heading, lambda thing: cell(_held(thing, key), percent=True), True


def tally(heading: str, key: Key) -> Column:
    """A column of counts."""

    def counted(thing: Any) -> str:
        held = _held(thing, key)
        return "" if held is None else f"{held:,.0f}"

    return heading, counted, True


_FIELDS = frozenset({"value", "low", "high", "n", "measure"})


def _held(thing: Any, key: Key) -> Any:
    if callable(key):
        return key(thing)
    if isinstance(thing, Estimate):
        return getattr(thing, key) if key in _FIELDS else thing.details.get(key)
    return thing.get(key)


def estimates_table(estimates: Sequence[Estimate], more: Sequence[Column] = (), name: str = "") -> Table:
    """Estimates with their cells, intervals, what else is asked for, and what there is to note about them."""
    names = cell_columns(estimates)
    measures = [text("measure", "measure")] if len({one.measure for one in estimates}) > 1 else []
    tested = [estimate for estimate in estimates if "p_holm" in estimate.details]
    scoped = any(estimate.estimand != "fixed" for estimate in estimates)
    levels = {estimate.confidence_level for estimate in estimates}
    interval_heading = f"{100 * levels.pop():g}% interval" if len(levels) == 1 else "interval"
    columns: list[Column] = [
        *measures,
        *(text(column, partial(_part, column=column)) for column in names),
        ("value", _value, True),
        (interval_heading, interval, True),
        *([text("holds for", lambda one: one.scope.removeprefix("for "))] if scoped else []),
        *([plain(p_heading(tested), "p_holm")] if tested else []),
        *more,
        ("n", lambda one: str(one.n), True),
        text("notes", _noted),
    ]
    return listed(estimates, columns, name=name)


def _value(estimate: Estimate) -> Markup:
    if estimate.value is None:
        return escape("—")
    return number(estimate.value, percent_measure(estimate.measure))


def _part(estimate: Estimate, column: str) -> str:
    """What an estimate's cell has in a column, a factor by its study's name."""
    value = estimate.cell.get(column, "all")
    return in_words(value) if column == "factor" and column in estimate.cell else value


def _noted(estimate: Estimate) -> str:
    """An estimate's verdict, why it has no value, and its warnings."""
    noted = [str(words) for words in (estimate.details.get("verdict"), estimate.reason) if words]
    noted += dict.fromkeys(estimate.warnings)
    if untried := estimate.details.get("untried_at_most"):
        noted.append(f"up to {untried:.0%} of prompts may be of kinds not tried, and do not count")
    return "; ".join(noted)
