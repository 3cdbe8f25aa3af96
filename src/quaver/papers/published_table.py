"""A table as a paper prints it: its caption, its cells, its notes, in three formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, get_args

from markupsafe import Markup

from quaver.core.number_format import decimals
from quaver.core.records import Estimate
from quaver.core.rows import html_table
from quaver.errors import UnknownName
from quaver.report.table_rows import Table
from quaver.report.tables.written_tables import (
    csv_text,
    latex,
    latex_text,
    markdown,
    markdown_text,
    plain,
    tidy,
)

Format = Literal["markdown", "latex", "csv"]
FORMATS: tuple[Format, ...] = get_args(Format)

Cell = str | Markup
"""What stands in a table: text, or a number with its full value."""

_FITTING = 7
"""A table with more columns is rarely as narrow as a line."""
_SHRUNK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
NOTHING = "—"
"""A cell without a value."""


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

    @property
    def columns(self) -> tuple[str, ...]:
        """The headings, from left to right."""
        return self.table.columns

    def rows(self) -> list[dict[str, object]]:
        """The rows by column, numbers with their full value; an interval is two columns."""
        return tidy(self.table).to_dicts()

    def as_(self, form: Format = "markdown") -> str:
        r"""The table as text.

        Args:
            form: ``markdown``; ``latex``, a float for the package booktabs, with graphicx shrunk to the line
                where it has many columns; ``csv``, the cells alone, in which no text is a formula to a
                spreadsheet.

        Raises:
            UnknownName: There is no such format.

        >>> made = laid_out("pss", "PSS by data set", "data set | α", [("a_b", "1")], text=1, notes=["So."])
        >>> print(made.as_("latex"))
        % \usepackage{booktabs}
        \begin{table}
        \centering
        \caption{PSS by data set}
        \label{tab:pss}
        \begin{tabular}{lr}
        \toprule
        data set & $\alpha$ \\
        \midrule
        a\_b & 1 \\
        \bottomrule
        \end{tabular}
        \par\smallskip\footnotesize So.
        \end{table}
        <BLANKLINE>
        """
        if form not in FORMATS:
            raise UnknownName("format", form, FORMATS, where="format")
        if form == "csv":
            return csv_text(tidy(self.table))
        if form == "latex":
            return self._latex()
        notes = "".join(f"\n{markdown_text(note)}\n" for note in self.notes)
        return f"{markdown(self.table)}\nTable: {markdown_text(self.caption)}\n{notes}"

    def _latex(self) -> str:
        package, _, body = latex(self.table).partition("\n")
        head = [package, r"\begin{table}", r"\centering", rf"\caption{{{latex_text(self.caption)}}}"]
        notes = [rf"\par\smallskip\footnotesize {latex_text(note)}" for note in self.notes]
        shown = [body.rstrip("\n")]
        if len(self.columns) > _FITTING:
            head.insert(1, r"% \usepackage{graphicx}")
            shown = [_SHRUNK, *shown, "}"]
        lines = [*head, rf"\label{{tab:{self.name}}}", *shown, *notes, r"\end{table}"]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.as_()

    def _repr_html_(self) -> str:
        rows = [[plain(cell) for cell in row] for row in self.table.rows]
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<p>{escape(self.caption)}</p>{html_table(self.columns, rows)}{notes}"


def decimal(value: float | None, places: int = 3) -> Cell:
    """A cell for a number as papers print them: with as many decimals as its neighbours.

    >>> str(decimal(0.12345)), decimal(None)
    ('<data value="0.12345">0.123</data>', '—')
    """
    if value is None or value != value:
        return NOTHING
    return Markup('<data value="{}">{}</data>').format(repr(float(value)), decimals(value, places))


def percentage(value: float | None, places: int = 1) -> Cell:
    """A cell for a share in per cent; its full value is the share.

    >>> str(percentage(0.12345))
    '<data value="0.12345">12.3%</data>'
    """
    if value is None or value != value:
        return NOTHING
    return Markup('<data value="{}">{}%</data>').format(repr(float(value)), decimals(100 * value, places))


def ends(low: float | None, high: float | None, places: int = 3) -> Cell:
    """A cell for an interval.

    >>> ends(0.1, 0.25, 2).striptags()
    '0.10 to 0.25'
    """
    if low is None or high is None:
        return NOTHING
    return Markup("{} to {}").format(decimal(low, places), decimal(high, places))


def interval_of(one: Estimate | None, places: int = 3) -> Cell:
    """A cell for an estimate's interval."""
    return NOTHING if one is None else ends(one.low, one.high, places)


def with_interval(one: Estimate | None) -> tuple[Cell, Cell]:
    """Cells for an estimate's value and its interval."""
    return decimal(None if one is None else one.value), interval_of(one)


def laid_out(
    name: str,
    caption: str,
    columns: str | Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    text: int,
    notes: Sequence[str] = (),
    words: Iterable[int] = (),
) -> PublishedTable:
    """A table whose first columns are words and whose others are numbers.

    Args:
        name: Its name.
        caption: Its caption.
        columns: Headings; in one text, with `` | `` between them.
        rows: Cells.
        text: How many of the first columns hold words.
        notes: Below the table.
        words: Further columns that hold words.
    """
    columns = columns.split(" | ") if isinstance(columns, str) else columns
    numeric = frozenset(range(text, len(columns))) - frozenset(words)
    table = Table(tuple(columns), tuple(tuple(row) for row in rows), numeric, name=name)
    return PublishedTable(name, caption, table, tuple(dict.fromkeys(note for note in notes if note)))


def reasons(found: Iterable[tuple[str, Estimate]]) -> list[str]:
    """Why there is no value, a note for each reason, with the rows that it is about.

    >>> reasons([("a", Estimate("alpha", None, reason="no variation")), ("b", Estimate("alpha", 0.1))])
    ['No value (alpha): no variation: a.']
    """
    grouped: dict[tuple[str, str], list[str]] = {}
    for row, one in found:
        if one.value is None:
            grouped.setdefault((one.measure, one.reason or "no reason given"), []).append(row)
    return [
        f"No value ({measure}): {reason}: {', '.join(dict.fromkeys(rows))}."
        for (measure, reason), rows in grouped.items()
    ]


def by_cell(estimates: Iterable[Estimate], *names: str) -> Mapping[tuple[str, ...], Estimate]:
    """Estimates by some columns of their cells, in their order."""
    return {tuple(one.cell.get(name, "") for name in names): one for one in estimates}
