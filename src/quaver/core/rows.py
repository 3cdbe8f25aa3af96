"""What every result that holds rows can do: become a Polars or a pandas frame, show itself in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_args

from quaver.core import registry
from quaver.core.number_format import decimals, span
from quaver.core.records import Estimate
from quaver.errors import QuaverError, UnknownName

if TYPE_CHECKING:
    import polars as pl

Thing = TypeVar("Thing")
Key = TypeVar("Key", bound=Hashable)

SHOWN = 10
"""The most rows that a short text shows."""

_MOST_ROWS = 200
"""The most rows that a notebook shows."""


class Rows:
    """The base of results that hold rows; each has ``rows``, or names in ``_rows_in`` where it holds them."""

    __slots__ = ()
    _rows_in: ClassVar[str] = "table"
    """The attribute that is a frame, or a sequence of mappings."""

    def rows(self) -> Sequence[dict[str, Any]]:
        """The rows, each by its columns."""
        held = getattr(self, self._rows_in)
        return list(map(dict, held)) if isinstance(held, Sequence) else held.to_dicts()

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        import polars as pl

        return pl.DataFrame(self.rows(), infer_schema_length=None)

    def to_pandas(self) -> Any:
        """The rows as a pandas frame.

        Raises:
            QuaverError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise QuaverError(
                "pandas is not installed",
                where="to_pandas",
                found=str(error),
                fix="pip install pandas, or use to_polars()",
            ) from None
        return pd.DataFrame(self.to_polars().to_dict(as_series=False))

    def _repr_html_(self) -> str:
        """Its first line and its rows, for a notebook."""
        rows = self.rows()
        heads = list(dict.fromkeys(name for row in rows for name in row))
        cells = [[_cell(row.get(name)) for name in heads] for row in rows[:_MOST_ROWS]]
        line = str(self).partition("\n")[0].strip("<>")
        left = len(rows) - _MOST_ROWS
        table = html_table(heads, cells, f"{left:,} more are not shown." if left > 0 else "") if rows else ""
        return f"<p>{escape(line)}</p>{table}"


def short_lines(lines: Sequence[str], noun: str) -> str:
    """The first of many lines, and how many are left out.

    >>> print(short_lines([str(n) for n in range(12)], "rows").splitlines()[-1])
    … and 2 more rows; to_polars() has all of them
    """
    left = len(lines) - SHOWN
    more = [f"… and {left:,} more {noun}; to_polars() has all of them"] if left > 0 else []
    return "\n".join([*lines[:SHOWN], *more])


class Estimates(list[Estimate], Rows):
    """A list of estimates: a table in a notebook, a few lines elsewhere, a frame on request."""

    def __repr__(self) -> str:
        lines = list(map(str, self))
        return short_lines(lines, "estimates") if lines else "no estimates"

    def rows(self) -> list[dict[str, Any]]:
        """The estimates, each by its columns."""
        return self.to_polars().to_dicts()

    def to_polars(self) -> pl.DataFrame:
        """A frame with a row for each estimate.

        The columns are those of its cells, then ``measure``, ``value``, ``low``, ``high``, ``n`` and so on.
        """
        from quaver.core.estimate_frame import estimates_frame

        return estimates_frame(self)

    def _repr_html_(self) -> str:
        columns = cell_columns(self)
        heads = ("measure", *columns, "value", "interval", "n", "unit", "remarks")
        rows = [
            (estimate.measure, *(estimate.cell.get(column, "") for column in columns), *_numbers(estimate))
            for estimate in self[:_MOST_ROWS]
        ]
        left = len(self) - _MOST_ROWS
        return html_table(heads, rows, f"{left:,} more are not shown." if left > 0 else "")


def defined(estimates: Iterable[Estimate]) -> list[Estimate]:
    """The estimates that have a value."""
    return [estimate for estimate in estimates if estimate.value is not None]


def of_measures(estimates: Iterable[Estimate], *measures: str) -> list[Estimate]:
    """The estimates of some measures, by name."""
    return [estimate for estimate in estimates if estimate.measure in measures]


def at_levels(estimates: Iterable[Estimate], **levels: str | Collection[str | None]) -> list[Estimate]:
    """The estimates whose cells have, in these columns, this level or one of these; None: no level.

    >>> estimates = [Estimate("accuracy", 0.9, cell={"model": name}) for name in "abc"]
    >>> [estimate.cell["model"] for estimate in at_levels(estimates, model="b", variant=(None, "plain"))]
    ['b']
    """
    kept = {column: [some] if isinstance(some, str) else some for column, some in levels.items()}
    return [
        estimate
        for estimate in estimates
        if all(estimate.cell.get(column) in some for column, some in kept.items())
    ]


def having(estimates: Iterable[Estimate], column: str) -> list[Estimate]:
    """The estimates whose cells have a column."""
    return [estimate for estimate in estimates if column in estimate.cell]


def levels_in(estimates: Iterable[Estimate], column: str) -> list[str]:
    """The levels that cells have in a column, in order of appearance."""
    return [*by_level(estimates, column)]


def by_level(estimates: Iterable[Estimate], column: str) -> dict[str, Estimate]:
    """Estimates by their cells' levels in a column; the last of several at one level."""
    return {estimate.cell[column]: estimate for estimate in having(estimates, column)}


def grouped(things: Iterable[Thing], key: Callable[[Thing], Key]) -> dict[Key, list[Thing]]:
    """Things by what a function says of each, in order of appearance.

    >>> grouped(["as", "b", "at"], len)
    {2: ['as', 'at'], 1: ['b']}
    """
    groups: dict[Key, list[Thing]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return groups


def ranked(estimates: Iterable[Estimate]) -> list[Estimate]:
    """Those with the lowest value first."""
    return sorted(defined(estimates), key=lambda estimate: estimate.number)


def cell_columns(estimates: Iterable[Estimate]) -> list[str]:
    """The columns of their cells, in order of appearance."""
    return list(dict.fromkeys(column for estimate in estimates for column in estimate.cell))


def _cell(value: object) -> object:
    return "" if value is None else decimals(value) if isinstance(value, float) else value


def _numbers(estimate: Estimate) -> tuple[str, ...]:
    value = "undefined" if estimate.value is None else decimals(estimate.value)
    ends = span(estimate.low, estimate.high, decimals)
    remarks = "; ".join([*([estimate.reason] if estimate.reason else []), *estimate.warnings])
    return value, ends, f"{estimate.n:,}", estimate.resampled, remarks


def html_table(heads: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> str:
    """A table as HTML, with a note below it.

    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(_td(str(cell)) for cell in row) + "</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return table + (f"<p>{escape(note)}</p>" if note else "")


def _td(text: str) -> str:
    lines = ' style="white-space: pre-wrap; text-align: left"' if "\n" in text else ""
    return f"<td{lines}>{escape(text)}</td>"


Unit = Literal["share", "difference", "coefficient", "number"]
"""``share``: of answers or items, from 0 to 1. ``difference``: of two shares. ``coefficient``: of agreement,
at most 1. ``number``: anything else. Shares and their differences are printed as percents."""

Better = Literal["higher", "lower"]

Drawn = Literal["chart", "closer", "table"]
"""``chart``: a chart of its own. ``closer``: one among the closer looks. ``table``: a table shows it
better."""

Section = Literal[
    "readiness",
    "factors",
    "conclusions",
    "stability",
    "sensitivity",
    "accuracy",
    "coders",
    "answers",
    "more",
]
SECTIONS: tuple[Section, ...] = get_args(Section)
"""The sections of a report, in the order of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """How estimates of one name are shown.

    Attributes:
        title: The title of their chart; the name in words if left out.
        axis: What the chart's axis shows; the name in words if left out.
        section: Where in the report the chart stands, one of ``SECTIONS``; if left out, of a part, where its
            measure's does.
        unit: What the number is.
        better: Which direction is better; None where neither is.
        null: The value that says that there is nothing to see, which charts mark; None where none does.
        ends: Between which values the chart's axis goes; those of the data if left out.
        bar: The value from which a result is commonly taken to be good enough, which charts mark.
        drawn: Whether a chart of its own is drawn.

    Raises:
        UnknownName: The report has no such section.
    """

    title: str = ""
    axis: str = ""
    section: str = ""
    unit: Unit = "number"
    better: Better | None = None
    null: float | None = None
    ends: tuple[float, float] | None = None
    bar: float | None = None
    drawn: Drawn = "chart"

    def __post_init__(self) -> None:
        """Refuse an unknown section, whose chart would silently move to the last one."""
        if self.section and self.section not in SECTIONS:
            raise UnknownName("section of the report", self.section, SECTIONS, where="section")

    @property
    def in_percent(self) -> bool:
        """Whether the numbers are printed as percents."""
        return self.unit in ("share", "difference")

    def named(self, name: str, section: str = "more") -> Presentation:
        """The names and values, with nothing left out.

        >>> Presentation().named("my_measure").title
        'My measure, with intervals'
        """
        words = " ".join("".join(c if c.isprintable() else " " for c in name.replace("_", " ")).split())
        title = self.title or f"{words.capitalize()}, with intervals"
        axis, section = self.axis or words, self.section or section
        return replace(self, title=title, axis=axis, section=section)


def measure_of(name: str) -> str | None:
    """The measure that gives estimates of a name: the longest whose name theirs is, or begins with.

    >>> measure_of("f1_label"), measure_of("something_else")
    ('f1', None)
    """
    own = [
        measure for measure in registry.names("measures") if name == measure or name.startswith(f"{measure}_")
    ]
    return max(own, key=len, default=None)


def presented(name: str) -> Presentation | None:
    """How estimates of a name are shown: as the measure declares whose name theirs is, or begins with.

    Returns:
        None where no measure declares it.

    >>> presented("accuracy").unit, presented("something_else")
    ('share', None)
    """
    own = measure_of(name)
    if own is None:
        return None
    try:
        measure = registry.load("measures", own)
    except QuaverError:  # of a package that lacks something: its stored estimates are shown all the same
        return None
    of: Callable[[str], Presentation] | None = getattr(measure, "presentation_of", None)
    return None if of is None else of(name)
