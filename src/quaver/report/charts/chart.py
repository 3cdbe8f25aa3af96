"""What a chart is: a function that yields a `Figure` for each picture that a study's estimates allow.

    def wobble(results: Results) -> Iterator[Figure]:
        if some := results.known("wobble"):
            yield Figure(
                title="How far the labels wobble",
                section="stability",
                measure="wobble",
                draw=partial(score_chart, some, results),
                estimates=some,
                subtitle=BARS,
                covers=("wobble",),
            )

One line among the entry points puts it into every report that has such estimates::

    [project.entry-points."quaver.charts"]
    wobble = "my_package.wobble:wobble"

A measure needs no chart of its own to be seen: what no figure covers gets a plain one. If the function fails,
the page names the chart as not drawn, with the error, and shows everything else.

`quaver.report.charts.scores.score_chart` draws estimates in rows. The forms in `quaver.report.charts.forms`
draw rows of your own: `forest` (values in rows), `plane` (values over values), `columns` (histograms), `grid`
(numbers by row and column) and `curve` (values from the least to the largest), in the report's colours and at
every width; an Altair chart of your own is drawn too. A row's ``about`` says the estimate in words to whoever
points at its mark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from quaver.core.records import Estimate
from quaver.core.rows import Section, ranked
from quaver.report.charts.specification import finished
from quaver.report.estimate_index import Results, varying
from quaver.report.page_words import named, percent_measure, printed

Thing = TypeVar("Thing")
BARS = "Lines are 95% intervals."
MOST_ROWS = 120
"""Of more cells than these, the lowest and highest are drawn; the table and the CSV hold all."""
MOST_SERIES = 7
"""As many as there are colours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture of the report.

    Attributes:
        draw: Makes the picture, a Vega-Lite specification or an Altair chart, given its ``width`` in pixels.
        estimates: The data behind it.
        title: What it shows.
        section: The part of the report that it belongs to.
        subtitle: What the marks mean.
        name: The name of its files, without an ending; by default the entry point's.
        measure: The measure that it shows.
        alternative: What it shows in words, for readers who cannot see it; the lowest and the highest value
            by default.
        closer: Whether it is folded in, for a closer look.
        covers: The measures whose plain charts it replaces; ``"readiness_*"`` stands for all that begin so.
        place: Where it stands in its section: those with lower numbers come first. Quaver's own stand at 5 to
            60, plain ones at 50.
    """

    draw: Callable[..., Any]
    estimates: Sequence[Estimate]
    title: str
    section: Section
    subtitle: str = ""
    name: str = ""
    measure: str = ""
    alternative: str = ""
    closer: bool = False
    covers: tuple[str, ...] = ()
    place: int = 80

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
    columns = varying(known)

    def said(estimate: Estimate) -> str:
        value = printed(estimate.number, percent_measure(estimate.measure))
        cell = [named(estimate, column, results) for column in columns]
        return f"{value} ({', '.join(cell)})" if cell else value

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


def cell_name(
    estimate: Estimate,
    columns: Sequence[str],
    results: Results,
    default: str = "all answers",
    without: str | None = None,
) -> str:
    """What an estimate's cell holds in some columns, as one name; columns that it lacks are left out.

    Args:
        estimate: Any.
        columns: The columns.
        results: The study's.
        default: The name where the cell holds nothing in them.
        without: A factor that the names of prompts leave out.
    """
    names = [named(estimate, column, results, without) for column in columns if column in estimate.cell]
    return " · ".join(names) or default


def first_and_last(things: list[Thing], most: int) -> list[Thing]:
    """All of them; of too many, as many of the first as of the last."""
    return things if len(things) <= most else things[: most // 2] + things[-(most // 2) :]


def cut(shown: int, total: int, noun: str, which: str = "the first") -> str:
    """What a chart leaves out, as a sentence with a space before it; nothing where it draws all.

    >>> cut(40, 65, "cells", "the largest"), cut(3, 3, "cells")
    (' Only 40 of 65 cells are drawn: the largest.', '')
    """
    return f" Only {shown} of {total} {noun} are drawn: {which}." if shown < total else ""


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a measure is one of these, of which some may end in ``*``."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
