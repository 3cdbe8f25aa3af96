"""How a chart is declared: everything that the report knows of it stands in one place.

A chart is a function that yields a `Figure` for each picture that a study's estimates allow, under a
declaration of the rest::

    @chart(
        title="How far the labels wobble",
        section="stability",
        measures=("wobble",),
    )
    def wobble(results: Results) -> Iterator[Figure]:
        if some := results.known("wobble"):
            rows = [mark(one, results, row=one.cell["model"]) for one in some]
            yield Figure(estimates=some, draw=partial(forest, rows, "wobble"), subtitle=BARS)

One line among the entry points puts it into every report that has such estimates::

    [project.entry-points."quaver.charts"]
    wobble = "my_package.wobble:wobble"

``mark`` and the forms stand in `quaver.report.charts.forms`. A row's ``about`` says the estimate in words to
whoever points at its mark; a mark without it says its names and its number.

The name is the function's. The report calls it where there are estimates of its measures. A measure needs no
chart of its own to be seen: what no declared chart covers gets a plain one. If the function fails, the page
names the chart as not drawn, with the error, and shows everything else.

`forest` (values in rows), `plane` (values over values), `columns` (histograms), `grid` (numbers by row and
column) and `curve` (values from the least to the largest) draw what most charts need, in the report's colours
and at every width; an Altair chart of your own is drawn too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from quaver.core.records import Estimate
from quaver.core.rows import SECTIONS, Section, ranked
from quaver.errors import QuaverError
from quaver.report.charts.specification import finished
from quaver.report.estimate_index import Results, varying
from quaver.report.page_words import in_words, percent_measure, printed, slug
from quaver.report.tables.table import Table

Thing = TypeVar("Thing")
BARS = "Lines are 95% intervals."
MOST_SERIES = 7
"""As many as there are colours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What the function of a chart yields (`quaver.report.charts.chart`).

    Only ``draw`` and ``estimates`` are required. What you leave out comes from the chart's declaration.

    Attributes:
        draw: Makes the picture, a Vega-Lite specification or an Altair chart, given its ``width`` in pixels.
        estimates: The data behind it.
        subtitle: What the marks mean.
        title: What it shows.
        name: The name of its files, without an ending.
        section: The part of the report that it belongs to.
        measure: The measure that it shows.
        alternative: What it shows in words, for readers who cannot see it; the lowest and the highest value
            by default.
        table: The numbers behind it, where these are in the estimates' details.
        closer: Whether it is folded in, for a closer look.
        covers: The measures whose plain charts it replaces.
    """

    draw: Callable[..., Any]
    estimates: Sequence[Estimate]
    subtitle: str = ""
    title: str = ""
    name: str = ""
    section: Section | None = None
    measure: str | None = None
    alternative: str = ""
    table: Table | None = None
    closer: bool = False
    covers: tuple[str, ...] | None = None

    def chart(self, width: int, *, titled: bool = False) -> Any:
        """The picture in the report's type and colours.

        Args:
            width: In pixels.
            titled: Whether it has its title and subtitle, which the page shows beside it.
        """
        title, subtitle = (self.title, self.subtitle) if titled else ("", "")
        return finished(self.draw(width=width), width=width, title=title, subtitle=subtitle)


def spoken(estimates: Sequence[Estimate], results: Results) -> str:
    """The lowest and highest value in words."""
    known = ranked(estimates)
    if not known:
        return "No estimate has a value."
    percent = percent_measure(known[0].measure)
    columns = varying(known)

    def said(estimate: Estimate) -> str:
        cell = {column: estimate.cell.get(column, "all") for column in columns}
        if "variant" in cell:
            cell["variant"] = results.variant_name(cell["variant"])
        if "factor" in cell:
            cell["factor"] = in_words(cell["factor"])
        return printed(estimate.number, percent) + (f" ({', '.join(cell.values())})" if cell else "")

    if len(known) == 1:
        return f"The value is {said(known[0])}."
    return f"{len(known)} values, from {said(known[0])} to {said(known[-1])}. The table has them all."


def intervals_hold_for(estimates: Sequence[Estimate]) -> str:
    """What the intervals of a figure hold for, as a sentence with a space before it.

    Nothing where no prompts were counted, or where each interval is of one prompt that the chart names.

    >>> intervals_hold_for([Estimate("accuracy", 0.8, 0.7, 0.9, details={"prompts": 5})])
    ' Intervals hold for these 5 prompts.'
    """
    scopes = {estimate.scope for estimate in estimates if estimate.low is not None} - {"", "for this prompt"}
    if not scopes:
        return ""
    return (
        f" Intervals hold {scopes.pop()}."
        if len(scopes) == 1
        else " The table says which prompts each interval holds for."
    )


def names(
    estimate: Estimate, columns: Sequence[str], results: Results, without: str | None = None
) -> list[str]:
    """What an estimate's cell holds in some columns, as printed; columns that it lacks are left out."""
    result = []
    for column in columns:
        value = estimate.cell.get(column)
        if value is None:
            continue
        if column == "variant":
            value = results.variant_name(value, without)
        elif column in ("label", "class"):
            value = results.label_name(value)
        elif column == "factor":
            value = in_words(value)
        result.append(value)
    return result


def cell_name(
    estimate: Estimate, columns: Sequence[str], results: Results, default: str = "all answers"
) -> str:
    """The same as one name."""
    return " · ".join(names(estimate, columns, results)) or default


def first_and_last(things: list[Thing], most: int) -> list[Thing]:
    """All of them; of too many, as many of the first as of the last."""
    return things if len(things) <= most else things[: most // 2] + things[-(most // 2) :]


def cut(shown: int, total: int, noun: str, which: str = "first") -> str:
    """What a chart leaves out, as a sentence with a space before it; nothing where it draws all.

    >>> cut(40, 65, "cells", "largest"), cut(3, 3, "cells")
    (' The largest 40 of 65 cells are drawn.', '')
    """
    return f" The {which} {shown} of {total} {noun} are drawn." if shown < total else ""


Drawing = Callable[[Results], Iterable[Figure]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A declared chart.

    Attributes:
        name: Its name, which is its function's and its entry point's.
        function: Yields its figures; none where there is nothing to draw.
        title: What it shows.
        section: The part of the report that it belongs to.
        measures: The estimates that it takes, by name; ``"readiness_*"`` stands for all that begin so.
        covers: Of these, the ones whose plain charts it replaces; all of them by default.
        place: Where it stands in its section: charts with lower numbers come first.
    """

    name: str
    function: Drawing
    title: str
    section: Section
    measures: tuple[str, ...]
    covers: tuple[str, ...]
    place: int

    def figures(self, results: Results) -> Iterator[Figure]:
        """Its figures of a study, with nothing left out."""
        if not any(
            matches(estimate.measure, self.measures) for estimate in (*results.estimates, *results.audit)
        ):
            return
        for figure in self.function(results):
            yield replace(
                figure,
                name=figure.name or slug(self.name),
                title=figure.title or self.title,
                section=figure.section or self.section,
                measure=self.measures[0] if figure.measure is None else figure.measure,
                covers=self.covers if figure.covers is None else figure.covers,
                subtitle=figure.subtitle + intervals_hold_for(figure.estimates),
            )


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a measure is one of these, of which some may end in ``*``."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def chart(
    *,
    title: str,
    section: Section,
    measures: tuple[str, ...],
    covers: tuple[str, ...] | None = None,
    place: int = 80,
) -> Callable[[Drawing], Chart]:
    """Declare a chart; the module's docstring says how.

    Args:
        title: See `Chart`, as for all others.
        section: The part of the report that it belongs to.
        measures: The estimates that it takes.
        covers: The measures whose plain charts it replaces.
        place: Where it stands in its section. Quaver's own stand at 5 to 60, plain charts at 50.

    Raises:
        QuaverError: There is no such section, or it takes no measure.
    """
    if section not in SECTIONS:
        raise QuaverError("not a section of the report", expected=", ".join(SECTIONS), found=section)
    if not measures:
        raise QuaverError("a chart without measures", expected="at least one name of estimates")

    def declared(function: Drawing) -> Chart:
        return Chart(
            name=function.__name__,
            function=function,
            title=title,
            section=section,
            measures=measures,
            covers=measures if covers is None else covers,
            place=place,
        )

    return declared
