"""Tables: rows whose numbers keep their full value, the table that estimates make, and tables in print."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape, unescape
from itertools import compress, groupby
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from quaver.core.number_format import p_heading
from quaver.core.records import Estimate
from quaver.core.rows import cell_columns
from quaver.report.page_templates import template
from quaver.report.page_words import cell, in_words, interval, number, visible

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

    @property
    def headings(self) -> list[str]:
        """The headings, each after what spans its column."""
        named = zip(self.groups or [""] * len(self.columns), self.columns, strict=True)
        return [", ".join(filter(None, group_and_name)) for group_and_name in named]

    @property
    def spans(self) -> list[tuple[str, int]]:
        """What spans columns, and how many each."""
        return [(name, len(list(some))) for name, some in groupby(self.groups)]

    @property
    def wordy(self) -> bool:
        """Whether it has long texts; on a phone its rows are then lists."""
        texts = set(range(len(self.columns))) - self.numeric
        return any(len(row[index]) > _LONG for row in self.rows for index in texts)


Key = str | Callable[[Any], Any]
"""What a cell holds: a field of what its row is about, a detail of an estimate, or a function of it."""

Column = tuple[str, Callable[[Any], str | Markup], bool]
"""A column of a table of things: its heading, its cell of a thing, and whether it holds numbers."""


def listed(
    things: Iterable[Any], columns: Sequence[Column], *, most: int = _MOST_ROWS, name: str = ""
) -> Table:
    """A table with a row for each thing; of too many the first, with a note of how many more there are."""
    things, rows = list(things), []
    headings, written, numeric = zip(*columns, strict=True)
    for thing in things[:most]:
        rows.append(tuple(cell_of(thing) for cell_of in written))
    left = len(things) - most
    note = f"{left:,} more rows are in estimates.csv." if left > 0 else ""
    return Table(headings, tuple(rows), frozenset(compress(range(len(columns)), numeric)), note, name)


def text(heading: str, key: Key) -> Column:
    """A column of text."""

    def written(thing: Any) -> str | Markup:
        value = _held(thing, key)
        return value if isinstance(value, Markup) else "" if value is None else str(value)

    return heading, written, False


def amount(heading: str, key: Key) -> Column:
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
    columns: list[Column] = []
    if len({estimate.measure for estimate in estimates}) > 1:
        columns.append(text("measure", "measure"))
    for column in cell_columns(estimates):
        columns.append(text(column, partial(_part, column=column)))
    columns += [("value", _value, True), (level_heading(estimates), interval, True)]
    if any(estimate.estimand != "fixed" for estimate in estimates):
        columns.append(text("holds for", lambda estimate: estimate.scope.removeprefix("for ")))
    if tested := [estimate for estimate in estimates if "p_holm" in estimate.details]:
        columns.append(amount(p_heading(tested), "p_holm"))
    columns += [*more, ("n", lambda estimate: str(estimate.n), True), text("notes", _noted)]
    return listed(estimates, columns, name=name)


def level_heading(estimates: Iterable[Estimate]) -> str:
    """The heading of a column of intervals, with their level where they have one."""
    levels = {estimate.confidence_level for estimate in estimates}
    return f"{100 * levels.pop():g}% interval" if len(levels) == 1 else "interval"


def _value(estimate: Estimate) -> Markup:
    if estimate.value is None:
        return Markup("—")
    return number(estimate.value, of=estimate)


def _part(estimate: Estimate, column: str) -> str:
    """What an estimate's cell has in a column, a factor by its study's name."""
    value = estimate.cell.get(column, "all")
    return in_words(value) if column == "factor" and column in estimate.cell else value


def _noted(estimate: Estimate) -> str:
    """An estimate's verdict, why it has no value, and its warnings."""
    noted = [*map(str, filter(None, (estimate.details.get("verdict"), estimate.reason)))]
    noted += dict.fromkeys(estimate.warnings)
    if untried := estimate.details.get("untried_at_most"):
        noted.append(f"up to {untried:.0%} of prompts may be of kinds not tried, and do not count")
    return "; ".join(noted)


_TAG = re.compile(r"<sup>.*?</sup>|<[^>]*>")


def plain(cell: str | Markup) -> str:
    """A cell's text, with insertions and deletions marked as ``+…+`` and ``-…-``, without numbers of notes.

    >>> plain(Markup("a <ins>b &lt; c</ins>")), plain("<b>")
    ('a +b < c+', '<b>')
    """
    if not isinstance(cell, Markup):
        return visible(str(cell))
    marked = re.sub(r"</?ins>", "+", re.sub(r"</?del>", "-", cell))
    return visible(unescape(_TAG.sub("", marked)))


def _written(row: Sequence[str | Markup], text: Callable[[str], str], bold: str) -> list[str]:
    """A row's cells as a format writes them, what is bold in the format's bold."""
    written = []
    for value in row:
        is_bold = isinstance(value, Markup) and value.startswith("<b>")
        written.append(bold.format(text(value)) if is_bold else text(value))
    return written


_LATEX: Final[Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("latex_signs.toml").read_text(encoding="utf-8")
)
_MARKDOWN = str.maketrans(
    {sign: "\\" + sign for sign in "\\`*_[]|#~!$"} | {sign: f"&#{ord(sign)};" for sign in "<>{}"}
)
_REFERENCE = re.compile(r"&(?=#?\w+;)")
"""What Markdown would read as a sign: ``&lt;``."""


_SIGN, _BETWEEN = 4.4, 8.0
"""Points: of a sign in footnote size, and between two columns."""
_COLUMN, _PAGE = 215.0, 455.0
"""Points: how wide a column and a page of a journal are."""
_LONG = 40
"""A text of more signs is set in lines."""
_LINES = 50
"""What a page holds."""


def latex_float(table: Table, caption: str, label: str, notes: Sequence[str] = ()) -> str:
    """The table as floats: in a column where it is narrow, else across the page, smaller where it must be."""
    kinds, width = "", 0.0
    for index, heading in enumerate(table.columns):
        signs = max((len(plain(row[index])) for row in table.rows), default=0)
        long = f"p{{{_SIGN * _LONG:.0f}pt}}" if signs > _LONG else "l"
        kinds += "r" if index in table.numeric else long
        width += _SIGN * max(min(signs, _LONG), len(heading)) + _BETWEEN
    name = "table*" if width > _COLUMN else "table"
    opening, closing = (r"\resizebox{\linewidth}{!}{%", "}") if width > _PAGE else ("{%", "}")
    return template("latex_table.txt").render(
        name=name,
        kinds=kinds,
        caption=latex_text(caption),
        label=label,
        opening=opening,
        closing=closing,
        spanners=_spanners(table),
        heads=_latex_row(list(map(latex_text, table.columns))),
        pages=[
            [_latex_row(_written(row, latex_text, r"\textbf{{{}}}")) for row in rows]
            for rows in _pages(table)
        ],
        notes=list(map(latex_text, notes)),
    )


def _spanners(table: Table) -> list[str]:
    """The line of headings that span columns, and the rules below them."""
    cells, rules, first = [], "", 1
    for name, width in table.spans:
        cells += [rf"\multicolumn{{{width}}}{{c}}{{{latex_text(name)}}}"] if name else [""] * width
        rules += rf"\cmidrule(lr){{{first}-{first + width - 1}}}" if name else ""
        first += width
    return [_latex_row(cells), rules] if rules else []


def _latex_row(cells: Sequence[str]) -> str:
    guard = "{}" if cells and cells[0].startswith(("[", "*")) else ""  # an argument to the row above
    return guard + " & ".join(cells) + r" \\"


def _lines(row: Sequence[str]) -> int:
    """How many lines of a page a row takes."""
    return max((-(-len(plain(cell)) // _LONG) for cell in row), default=1) or 1


def _pages(table: Table) -> Iterator[list[Sequence[str]]]:
    """The rows that fit on a page."""
    page: list[Sequence[str]] = []
    for row in table.rows:
        if page and sum(map(_lines, [*page, row])) + 4 > _LINES:
            yield page
            page = []
        page.append(row)
    yield page


def latex_text(text: str) -> str:
    r"""A text on one line in which nothing is a command to LaTeX.

    >>> print(latex_text("50% of a_b: χ², ρ ≤ 1"))
    50\% of a\_b: $\chi$², $\rho$ $\le$ 1
    """
    return "".join(map(_latex_sign, _line(text)))


def _latex_sign(sign: str) -> str:
    r"""A sign as pdfLaTeX knows it: what is neither a letter nor punctuation goes by its number, in ASCII.

    >>> _latex_sign("␛"), _latex_sign("é")
    ('\\textless{}U+001B\\textgreater{}', 'é')
    """
    if sign in _LATEX or sign.isascii():
        return _LATEX.get(sign, sign)
    code = ord(sign)
    if unicodedata.category(sign)[0] not in "CS" and code < 0x10000:
        return sign
    stood_for = code - 0x2400 if 0x2400 <= code < 0x2420 else 0x7F if sign == "␡" else code
    return rf"\textless{{}}U+{stood_for:04X}\textgreater{{}}"


def markdown(table: Table) -> str:
    r"""The table for Markdown, as GitHub and Pandoc read it.

    >>> print(markdown(Table(("what", "n"), (("a | <b>", "1"),), frozenset({1}))))
    | what | n |
    | --- | ---: |
    | a \| &#60;b&#62; | 1 |
    <BLANKLINE>
    """
    rules = ["---:" if index in table.numeric else "---" for index in range(len(table.columns))]
    rows = [list(map(markdown_text, table.headings)), rules]
    rows += [_written(row, markdown_text, "**{}**") for row in table.rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def html(table: Table, caption: str, notes: Sequence[str] = ()) -> str:
    """The table as HTML without any style, its texts escaped."""
    rows = [map(Markup, _written(row, _escaped, "<b>{}</b>")) for row in table.rows]
    made = template("printed_table.html")
    return made.render(caption=caption, spans=table.spans, heads=table.columns, rows=rows, notes=notes)


def as_text(
    table: Table,
    caption: str,
    form: str,
    label: str = "quaver",
    notes: Sequence[str] = (),
    before: str = "Table: ",
) -> str:
    """The table with its caption and notes, in ``latex``, in ``html`` or, by default, in Markdown."""
    if form == "latex":
        return latex_float(table, caption, label, notes)
    if form == "html":
        return html(table, caption, notes)
    below = "".join(f"\n{markdown_text(note)}\n" for note in notes)
    return f"{markdown(table)}\n{before}{markdown_text(caption)}\n{below}"


def _escaped(cell: str) -> str:
    return escape(plain(cell))


def markdown_text(cell: str) -> str:
    r"""A text on one line in which nothing is a mark to Markdown.

    >>> print(markdown_text("A & B, a_b, &lt;"))
    A & B, a\_b, &#38;lt;
    """
    return "&#38;".join(part.translate(_MARKDOWN) for part in _REFERENCE.split(_line(cell)))


def _line(cell: str) -> str:
    return " ".join(plain(cell).split())
