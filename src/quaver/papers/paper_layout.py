"""How a paper prints a table or draws a figure: which columns of Quaver's table are where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.papers.pivots import pivot
from quaver.papers.published_table import (
    NO_VALUE,
    NOTHING,
    Answers,
    Cell,
    PublishedTable,
    TableRows,
    Value,
    cells,
    number,
    reasons,
)
from quaver.report.tables.printed_tables import plain
from quaver.report.tables.table import Table
from quaver.report.tables.written_tables import numbers_of

Row = Mapping[str, Cell]
Place = tuple[str, str, str]
"""A printed column: what spans it, its head, and the column of the numbers."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One printed table, made of the rows of a table that has an answer a row.

    Attributes:
        number: The paper's number of it: ``table 3``.
        caption: What it shows.
        rows: The columns whose values its rows are about.
        values: The columns whose numbers it prints, each with its head.
        groups: The columns whose values span others.
        columns: The columns whose values are heads.
        joined: Whether the numbers of a place stand in one cell, with ``/`` between them.
        by_value: Whether the heads of the numbers span the others.
        mean: What the last row is called, if it has the mean of each column.
        best: The columns in which the best number is bold, each with whether more is better.
        beside: The columns in which numbers agree that are compared for the best.
        least: How far the best must lie from the next.
        only: The values to which columns are limited.
        note: What stands below it.
    """

    number: str
    caption: str
    rows: Sequence[str]
    values: Mapping[str, str]
    groups: Sequence[str] = ()
    columns: Sequence[str] = ()
    joined: bool = False
    by_value: bool = False
    mean: str = ""
    best: Mapping[str, bool] = field(default_factory=dict)
    beside: Sequence[str] = ()
    least: float = 0.0
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    note: str = ""

    def of(self, table: PublishedTable, label: str) -> PublishedTable:
        """The printed table of a table."""
        stars = {name[:-1]: head for name, head in self.values.items() if name.endswith("*")}
        values = {name: head for name, head in self.values.items() if not name.endswith("*")}
        ends = [full.removeprefix(start) for start in stars for full in columns_like(table, f"{start}*")]
        for end in dict.fromkeys(ends):  # what several columns say of one thing stands together
            for start, head in stars.items():
                if start + end in table.columns:
                    values[start + end] = head + end
        return replace(self, values=values)._laid_out(table, label)

    def _laid_out(self, table: PublishedTable, label: str) -> PublishedTable:
        rows = self._kept(table)
        grid: dict[tuple[Cell, ...], dict[Place, Cell]] = {}
        for row in rows:
            own = grid.setdefault(tuple(row[name] for name in self.rows), {})
            for name in self.values:
                own[self._place(row, name)] = row[name]
        places = list(dict.fromkeys(place for own in grid.values() for place in own))
        if self.by_value:
            places.sort(key=lambda place: list(self.values).index(place[2]))
        if self.mean and len(grid) > 1:
            averaged = {
                position: _mean([own.get(position, NOTHING) for own in grid.values()]) for position in places
            }
            grid[self.mean, *("",) * (len(self.rows) - 1)] = averaged
        data = self._table(grid, [[position] for position in places])
        lacking = any(NOTHING in (row[name] for name in self.values) for row in rows)
        kept = (note for note in table.notes if lacking or not note.startswith(NO_VALUE))
        notes = tuple(note for note in (self.note, *kept) if note)
        printed = replace(table, name=label, caption=self.caption, table=data, notes=notes)
        if not self.joined:
            return printed
        heads = list(dict.fromkeys(position[:2] for position in places))
        parts = [[position for position in places if position[:2] == head] for head in heads]
        return replace(printed, table=self._table(grid, parts), data=self._apart(data, places))

    def _kept(self, table: PublishedTable) -> Sequence[Row]:
        """The rows that are printed, the best numbers in bold."""
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.table.rows]
        kept = [row for row in rows if all(plain(row[name]) in some for name, some in self.only.items())]
        for name, more in self.best.items():
            compared: dict[tuple[str, ...], list[dict[str, Cell]]] = {}
            for row in kept:
                if numbers_of(row[name]):
                    compared.setdefault(tuple(plain(row[one]) for one in self.beside), []).append(row)
            for some in compared.values():
                values = sorted({numbers_of(row[name])[0] for row in some}, reverse=more)
                if len(values) > 1 and abs(values[0] - values[1]) > self.least:
                    for row in some:
                        if numbers_of(row[name])[0] == values[0]:
                            row[name] = Markup("<b>{}</b>").format(row[name])
        return kept

    def _place(self, row: Row, name: str) -> Place:
        group, head = (", ".join(plain(row[one]) for one in some) for some in (self.groups, self.columns))
        if self.by_value:
            return self.values[name], head, name
        if not head and not self.joined:
            head = self.values[name]
        elif len(self.values) > 1 and not self.joined:
            head = f"{head} {self.values[name]}"
        return group, head or "/".join(self.values.values()), name

    def _table(
        self, grid: Mapping[tuple[Cell, ...], Mapping[Place, Cell]], parts: Sequence[Sequence[Place]]
    ) -> Table:
        """The grid with a cell for each part of it."""
        heads = (*self.rows, *(part[0][1] for part in parts))
        groups = ("",) * len(self.rows) + tuple(part[0][0] for part in parts)
        rows = tuple(
            (*key, *(Markup("/").join(own.get(place, NOTHING) for place in part) for part in parts))
            for key, own in grid.items()
        )
        numeric = frozenset(range(len(self.rows), len(heads)))
        return Table(heads, rows, numeric, groups=groups if any(groups) else ())

    def _apart(self, data: Table, places: Sequence[Place]) -> Table:
        """The joined numbers' table with a column a number, each with its own head."""
        heads = (*self.rows, *(f"{head} {self.values[name]}" for _, head, name in places))
        return replace(data, columns=heads)


def columns_like(table: PublishedTable, name: str) -> list[str]:
    """The columns of a name; of one that ends in ``*``, all that begin so."""
    if not name.endswith("*"):
        return [name]
    return [column for column in table.columns if column.startswith(name[:-1])]


@dataclass(frozen=True, slots=True)
class TableKind:
    """One of a paper's tables.

    Attributes:
        name: What the command calls it.
        title: What it shows, in a line.
        caption: What stands above it.
        columns: Its columns: those of words, ``||``, those of numbers; ``*`` for those that the rows name.
            ``{1%}`` prints a column's numbers in per cent with one decimal; three decimals are the default.
        function: Makes its rows of stored answers: a module of this folder, and its function.
        pivot: Where it has none: which estimates its rows are (`pivots.pivot`).
        words: The places after ``||`` that hold words all the same.
        notes: What stands below it.
        empty: What stands below it where it has no rows.
        layouts: How the paper prints it, where that is otherwise: once for each of its tables.
        chooses_items: Whether it is about some items, which the function takes by id.
    """

    name: str
    title: str
    caption: str
    columns: str
    function: str = ""
    pivot: Mapping[str, Any] = field(default_factory=dict)
    words: Sequence[int] = ()
    notes: Sequence[str] = ()
    empty: str = ""
    layouts: Sequence[Layout] = ()
    chooses_items: bool = False

    def make(self, answers: Answers, *items: Sequence[str]) -> PublishedTable:
        """The table of stored answers, or of some items' answers."""
        module, _, name = self.function.partition(".")
        made: TableRows = (
            pivot(answers, self.pivot)
            if self.pivot
            else getattr(import_module(f"quaver.papers.{module}"), name)(answers, *items)
        )
        columns: list[str] = []
        forms: list[str] = []
        words = 0
        for part in self.columns.split(" || "):
            words = len(columns)
            for column in part.split(" | "):
                name, _, form = column.removesuffix("}").partition(" {")
                named = [*made.columns] if name == "*" else [name]
                columns += named
                forms += [form or "3"] * len(named)
        words = words or len(columns)
        numeric = frozenset(range(words, len(columns))) - frozenset(self.words)
        rows = tuple(tuple(cells(row, forms)) for row in made.rows)
        found = [*made.found, *_estimates(made.rows, words)]
        notes = [*self.notes, *made.notes, "" if rows else self.empty, *reasons(found)]
        return PublishedTable(
            self.name,
            self.caption.replace("*", made.subject),
            Table(tuple(columns), rows, numeric, name=self.name),
            tuple(dict.fromkeys(note for note in notes if note)),
        )


@dataclass(frozen=True, slots=True)
class FigureKind:
    """One of a paper's figures.

    Attributes:
        number: The paper's number of it; a name where it has none.
        title: What it shows.
        draw: The function of `paper_figures` that draws it.
        table: The table whose rows it draws; of one without, the function reads the answers.
        x: The column of the horizontal axis.
        y: The columns of the vertical one.
        panel: The columns whose values have a panel each.
        series: The columns whose values have a colour each; by default those of ``y``.
        name: The columns that name a point; ``*`` for the last that holds words, while the others colour it.
        ends: The column of the intervals.
        only: The values to which columns are limited.
    """

    number: str
    title: str
    draw: str
    table: str = ""
    x: str = ""
    y: Sequence[str] = ()
    panel: Sequence[str] = ()
    series: Sequence[str] = ()
    name: Sequence[str] = ()
    ends: str = ""
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)


def _estimates(rows: Sequence[Sequence[Value]], words: int) -> Iterator[tuple[str, Estimate]]:
    """The estimates in the rows, each with what its row is about."""
    for row in rows:
        about = ", ".join(str(cell) for cell in row[:words] if cell != NOTHING)
        for value in row:
            if isinstance(value, Estimate):
                yield about, value


def _mean(column: Sequence[Cell]) -> Cell:
    """The mean of a column's numbers, printed as they are.

    >>> _mean([Markup('<data value="0.5">50.0%</data>'), Markup('<data value="0.25">25.0%</data>')])
    Markup('<data value="0.375">37.5%</data>')
    """
    numbers = [numbers_of(cell) for cell in column]
    if not all(len(each) == 1 for each in numbers):
        return NOTHING
    value = sum(each[0] for each in numbers) / len(numbers)
    shown = plain(column[0])
    places = len(shown.rstrip("%").partition(".")[2])
    return number(value, f"{places}{'%' * shown.endswith('%')}")
