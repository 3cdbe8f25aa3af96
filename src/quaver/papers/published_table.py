"""A paper's table: its cells, the formats that it is written in, and how the paper lays it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, Literal, get_args

from markupsafe import Markup

from quaver.core.number_format import decimals, span
from quaver.core.records import Estimate
from quaver.core.rows import grouped
from quaver.errors import UnknownName
from quaver.papers.paper_answers import NOTHING, UNKNOWN
from quaver.report.tables.table import Table, as_text, plain
from quaver.report.tables.written_tables import csv_text, numbers_of, tidy

Format = Literal["markdown", "latex", "html", "csv"]
FORMATS: tuple[Format, ...] = get_args(Format)
Cell = str | Markup
"""What stands in a table: text, or a number with its full value."""
Single = str | float | Estimate | tuple[float | None, float | None] | None
Value = Single | Mapping[str, Single]
"""What a row holds before it is printed.

An estimate is its value and, where the next column is one of 95% intervals, its interval; a pair is the two
ends of another interval; a mapping has a value for each column that stands for a ``*``.
"""
NO_VALUE = "No value"
"""How a note begins that says why there is none."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One table of a paper, made from stored answers.

    It prints as Markdown; a notebook shows it as HTML.

    Attributes:
        name: Its name on the command line.
        caption: What it shows.
        table: Its columns and rows; every number has its full value.
        notes: How it was made: what the paper does, what Quaver does instead, and why there is no value.
    """

    name: str
    caption: str
    table: Table
    notes: tuple[str, ...] = ()

    def as_document(self) -> list[Any]:
        """As JSON keeps it: what is marked up in a cell is a list."""
        rows = [
            [[str(cell)] if isinstance(cell, Markup) else cell for cell in row] for row in self.table.rows
        ]
        return [self.name, self.caption, self.notes, self.columns, rows, sorted(self.table.numeric)]

    @classmethod
    def of_document(cls, kept: Sequence[Any]) -> PublishedTable:
        """The table that was kept so."""
        name, caption, notes, columns, rows, numeric = kept
        cells = (tuple(Markup(*each) if isinstance(each, list) else each for each in row) for row in rows)
        table = Table(tuple(columns), tuple(cells), frozenset(numeric), name=name)
        return cls(name, caption, table, tuple(notes))

    @property
    def columns(self) -> tuple[str, ...]:
        """The headings, from left to right."""
        return self.table.columns

    def rows(self) -> list[dict[str, object]]:
        """The rows by column, numbers with their full value; an interval is two columns."""
        return tidy(self.table).to_dicts()

    def as_(self, form: Format = "markdown") -> str:
        r"""The table as text.

        >>> table = Table(("data set", "α"), (("a_b", "1"),), frozenset({1}))
        >>> print(PublishedTable("pss", "PSS by data set", table, ("So.",)).as_("latex"))
        % \usepackage{booktabs, graphicx}
        \begin{table}
        \centering\footnotesize\setlength{\tabcolsep}{4pt}\setlength{\belowcaptionskip}{4pt}
        \caption{PSS by data set}
        \label{tab:pss}
        {%
        \begin{tabular}{lr}
        \toprule
        data set & $\alpha$ \\
        \midrule
        a\_b & 1 \\
        \bottomrule
        \end{tabular}
        }
        \par\smallskip\parbox{\linewidth}{\raggedright So.}
        \end{table}
        <BLANKLINE>
        """
        if form not in FORMATS:
            raise UnknownName("format", form, FORMATS, where="format")
        if form == "csv":
            return csv_text(tidy(self.table))
        return as_text(self.table, self.caption, form, self.name, self.notes)

    def __str__(self) -> str:
        return self.as_()

    def _repr_html_(self) -> str:
        return self.as_("html")


def number(value: float | None, form: str = "3") -> Cell:
    """A cell for a number, with its column's decimals; of a share in per cent, ``1%``.

    >>> str(number(0.12345)), number(0.12345, "1%").striptags(), number(None)
    ('<data value="0.12345">0.123</data>', '12.3%', '—')
    """
    if value is None or value != value:
        return NOTHING
    places, percent, _ = form.partition("%")
    text = decimals(100 * value if percent else value, int(places))
    return Markup('<data value="{}">{}{}</data>').format(repr(float(value)), text, percent)


def cell(value: Single, form: str = "3") -> Cell:
    """A value as it is printed, an estimate without its interval.

    >>> cell("a"), cell(7), cell((0.1, 0.9)).striptags(), cell(Estimate("α", 0.5)).striptags()
    ('a', '7', '0.100 to 0.900', '0.500')
    """
    if isinstance(value, Estimate):
        value = value.value
    if isinstance(value, tuple):
        low, high = (None if end is None or end != end else end for end in value)
        return span(low, high, partial(number, form=form)) or NOTHING
    if isinstance(value, str | int):
        return str(value) if isinstance(value, int) else value
    return number(value, form)


def table_of(declared: str, rows: Sequence[Sequence[Value]], name: str) -> Table:
    """The table of some rows, with its columns as ``papers.toml`` declares them.

    Args:
        declared: The columns of words, ``||``, those of numbers; ``{1%}`` after one is how it prints them.
            ``*`` stands for the columns that the rows' mappings name, one mapping for each ``*``.
        rows: The rows.
        name: The table's.
    """
    columns: list[tuple[str, str]] = []
    stars: list[Sequence[str]] = []
    first = 0
    for part in declared.split(" || "):
        first = len(columns)
        for column in part.split(" | "):
            head, _, form = column.removesuffix("}").partition(" {")
            names = [""]
            if "*" in head:
                names = _names_at(rows, len(stars))
                stars.append(names)
            columns += [(head.replace("*", name), form or "3") for name in names]
    numeric = range(first if " || " in declared else len(columns), len(columns))
    heads = tuple(head for head, _ in columns)
    made = tuple(_cells(row, columns, stars) for row in rows)
    return Table(heads, made, frozenset(numeric), name=name)


def _names_at(rows: Sequence[Sequence[Value]], star: int) -> list[str]:
    """The names that the rows' mappings have for one of the ``*``."""
    names: dict[str, Single] = {}
    for row in rows:
        names |= [value for value in row if isinstance(value, Mapping)][star]
    return list(names)


def _cells(
    row: Sequence[Value], columns: Sequence[tuple[str, str]], stars: Sequence[Sequence[str]]
) -> tuple[Cell, ...]:
    """A row's cells: of a mapping those at its names, of an estimate its interval where there is a column."""
    cells: list[Cell] = []
    names = iter(stars)
    for value in row:
        singles = list(map(value.get, next(names))) if isinstance(value, Mapping) else [value]
        for single in singles:
            cells.append(cell(single, columns[len(cells)][1]))
        head, form = columns[len(cells)] if len(cells) < len(columns) else ("", "")
        if isinstance(value, Estimate) and head.endswith("95% interval"):
            cells.append(cell((value.low, value.high), form))
    return tuple(cells)


def reasons(rows: Sequence[Sequence[Value]]) -> list[str]:
    """Why there is no value, a note for each reason, with the measures that it is about.

    >>> reasons([("a", Estimate("alpha", None, reason="no variation")), ("b", Estimate("alpha", 0.1))])
    ['No value (alpha): no variation.']
    """
    lacking: list[Estimate] = []
    for row in rows:
        for value in row:
            for single in value.values() if isinstance(value, Mapping) else [value]:
                if isinstance(single, Estimate) and single.value is None and single is not UNKNOWN:
                    lacking.append(single)
    notes = []
    for reason, some in grouped(lacking, lambda estimate: estimate.reason or "no reason given").items():
        measures = grouped(some, attrgetter("measure"))
        notes.append(f"{NO_VALUE} ({', '.join(measures)}): {reason}.")
    return notes


@dataclass(frozen=True, slots=True)
class Layout:
    """One printed table, made of the rows of a table that has an answer a row.

    Attributes:
        number: The paper's number of it: ``table 3``.
        caption: What it shows.
        rows: The columns whose values its rows are about.
        values: The columns whose numbers it prints, each with its head; ``accuracy by *`` for all of these.
        groups: The columns whose values span others.
        columns: The columns whose values are heads.
        first: The value of the last of these columns whose row comes first: the paper's yes before its no.
        mean: What the last row is called, if it has the mean of each column.
        best: The columns whose best number is bold, each with which that is: ``highest`` or ``lowest``.
        beside: The columns in which numbers agree that are compared for the best.
        least: How far the best must lie from the next.
        only: The values to which columns are limited.
        notes: What stands below it, beside what the table says of these answers.
    """

    number: str
    caption: str
    rows: Sequence[str]
    values: Mapping[str, str]
    groups: Sequence[str] = ()
    columns: Sequence[str] = ()
    first: str = ""
    mean: str = ""
    best: Mapping[str, str] = field(default_factory=dict)
    beside: Sequence[str] = ()
    least: float = 0.0
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def of(self, table: PublishedTable, label: str) -> PublishedTable:
        """The printed table of a table, whose notes are those that hold for these answers alone."""
        rows = self._kept(table)
        # The printed columns with their heads
        values: dict[str, str] = {}
        for name, head in self.values.items():
            start = name.removesuffix("*")
            for column in table.columns:
                if column == name or (start != name and column.startswith(start)):
                    values[column] = head + column.removeprefix(start)
        notes = [*self.notes, *table.notes]
        if not any(NOTHING in map(row.get, values) for row in rows):
            notes = [note for note in notes if not note.startswith(NO_VALUE)]
        grid = self._grid(rows, values)
        return replace(table, name=label, caption=self.caption, table=grid, notes=tuple(notes))

    def _kept(self, table: PublishedTable) -> list[dict[str, Cell]]:
        """The rows that are printed, the best numbers in bold."""
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.table.rows]
        for name, some in self.only.items():
            rows = [row for row in rows if plain(row[name]) in some]
        for name, which in self.best.items():
            compared = [row for row in rows if numbers_of(row[name])]
            for group in grouped(compared, partial(_named_by, columns=self.beside)).values():
                self._embolden(group, name, lowest=which == "lowest")
        return rows

    def _embolden(self, rows: Sequence[dict[str, Cell]], name: str, *, lowest: bool) -> None:
        """Print the best number of some rows in bold, if it is far enough from the next."""
        of_values = grouped(rows, lambda row: numbers_of(row[name])[0])
        values = sorted(of_values, reverse=not lowest)
        if len(values) > 1 and abs(values[0] - values[1]) > self.least:
            for row in of_values[values[0]]:
                row[name] = Markup("<b>{}</b>").format(row[name])

    def _grid(self, rows: Sequence[Mapping[str, Cell]], values: Mapping[str, str]) -> Table:
        """The numbers by what their row is about and by their place: what spans the column, and its head."""
        grid: dict[tuple[Cell, ...], dict[tuple[str, str], Cell]] = {}
        for row in rows:
            line = grid.setdefault(tuple(map(row.__getitem__, self.rows)), {})
            for name, head in values.items():
                line[self._place(row, head)] = row[name]
        places = list(dict.fromkeys(chain.from_iterable(grid.values())))
        lines = [(*key, *(line.get(place, NOTHING) for place in places)) for key, line in grid.items()]
        first = len(self.rows)
        heads = list(dict.fromkeys(key[:-1] for key in grid))
        lines.sort(key=lambda line: (heads.index(line[: first - 1]), line[first - 1] != self.first))
        if self.mean and len(lines) > 1:
            means = list(map(_mean, list(zip(*lines, strict=True))[first:]))
            lines.append((self.mean, *("",) * (first - 1), *means))
        spans, printed = zip(*places, strict=True) if places else ((), ())
        return Table(
            (*self.rows, *printed),
            tuple(lines),
            frozenset(range(first, first + len(places))),
            groups=("",) * first + spans if any(spans) else (),
        )

    def _place(self, row: Mapping[str, Cell], value: str) -> tuple[str, str]:
        """What spans a number's column, and its head."""
        group, head = _named_by(row, self.groups), _named_by(row, self.columns)
        if not head or len(self.values) > 1:
            head = f"{head} {value}".strip()
        return group, head


def _named_by(row: Mapping[str, Cell], columns: Sequence[str]) -> str:
    return ", ".join(plain(row[name]) for name in columns)


def _mean(column: Sequence[Cell]) -> Cell:
    """The mean of a column's numbers, printed as they are.

    >>> _mean([Markup('<data value="0.5">50.0%</data>'), Markup('<data value="0.25">25.0%</data>')])
    Markup('<data value="0.375">37.5%</data>')
    """
    total = 0.0
    for each in column:
        numbers = numbers_of(each)
        if len(numbers) != 1:
            return NOTHING
        total += numbers[0]
    shown = plain(column[0])
    places = len(shown.rstrip("%").partition(".")[2])
    return number(total / len(column), f"{places}{'%' * shown.endswith('%')}")


@dataclass(frozen=True, slots=True)
class FigureKind:
    """One of a paper's figures.

    Attributes:
        number: The paper's number of it; a name where it has none.
        title: What it shows.
        draw: The function of `paper_figures` that draws it.
        paper: Whose: ``barrie-2025``.
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
    paper: str = ""
    table: str = ""
    x: str = ""
    y: Sequence[str] = ()
    panel: Sequence[str] = ()
    series: Sequence[str] = ()
    name: Sequence[str] = ()
    ends: str = ""
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
