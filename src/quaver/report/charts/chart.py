"""How a chart is declared: everything that the report knows of it stands in one place.

A chart is a function that yields a `Figure` for each picture that a study's estimates allow, under a
declaration of the rest::

    @chart(
        title="How far the labels wobble",
        section="stability",
        kinds=("stability",),
        measures=("wobble",),
    )
    def wobble(results: Results) -> Iterator[Figure]:
        if some := results.known("wobble"):
            marks = [
                Mark(one.value, one.low, one.high, row=one.cell["model"], about=about(one, results))
                for one in some
            ]
            yield Figure(estimates=some, draw=partial(draw, Forest(marks, "wobble")), subtitle=BARS)

One line among the entry points puts it into every report that has such estimates::

    [project.entry-points."quaver.charts"]
    wobble = "my_package.wobble:wobble"

``about`` (`quaver.report.charts.mark_words`) says the estimate in words to whoever points at its mark, and
leads to its prompt; a mark without it says its names and its number.

The name is the function's. The report calls it where there are estimates of its measures. A measure needs no
chart of its own to be seen: what no declared chart covers gets a plain one. If the function fails, the page
names the chart as not drawn, with the error, and shows everything else.

`forest` (values in rows), `plane` (values over values), `stacks` (shares of a whole) and `grid` (numbers by
row and column) draw what most charts need, in the report's colours and at every width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal, get_args

from quaver.core.presentation import SECTIONS, Section
from quaver.errors import QuaverError
from quaver.report.charts.figure import Figure, intervals_hold_for
from quaver.report.estimate_index import Results
from quaver.report.plain_text import slug

Kind = Literal["stability", "sensitivity", "audit", "mcq", "factorial", "judge"]
"""A kind of study, as ``quaver init`` writes it."""

KINDS: tuple[Kind, ...] = get_args(Kind)

Drawing = Callable[[Results], Iterable[Figure]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A declared chart.

    Attributes:
        name: Its name, which is its function's and its entry point's.
        function: Yields its figures; none where there is nothing to draw.
        title: What it shows.
        section: The part of the report that it belongs to.
        kinds: The kinds of study that it is made for; it is drawn in any study that has its estimates.
        measures: The estimates that it takes, by name; ``"readiness_*"`` stands for all that begin so.
        covers: Of these, the ones whose plain charts it replaces; all of them by default.
        place: Where it stands in its section: charts with lower numbers come first.
        trends: Whether its measures are charted over a column of numbers as well, where there is one.
    """

    name: str
    function: Drawing
    title: str
    section: Section
    kinds: tuple[Kind, ...]
    measures: tuple[str, ...]
    covers: tuple[str, ...]
    place: int
    trends: bool

    def figures(self, results: Results) -> Iterator[Figure]:
        """Its figures of a study, with nothing left out."""
        if not any(matches(one.measure, self.measures) for one in (*results.estimates, *results.audit)):
            return
        for one in self.function(results):
            yield replace(
                one,
                name=one.name or slug(self.name),
                title=one.title or self.title,
                section=one.section or self.section,
                measure=self.measures[0] if one.measure is None else one.measure,
                covers=self.covers if one.covers is None else one.covers,
                subtitle=one.subtitle + intervals_hold_for(one.estimates),
            )


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a measure is one of these, of which some may end in ``*``."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def chart(
    *,
    title: str,
    section: Section,
    measures: tuple[str, ...],
    kinds: tuple[Kind, ...] = KINDS,
    covers: tuple[str, ...] | None = None,
    place: int = 80,
    trends: bool = True,
) -> Callable[[Drawing], Chart]:
    """Declare a chart; the module's docstring says how.

    Args:
        title: See `Chart`, as for all others.
        section: The part of the report that it belongs to.
        measures: The estimates that it takes.
        kinds: The kinds of study that it is made for.
        covers: The measures whose plain charts it replaces.
        place: Where it stands in its section. Quaver's own stand at 10 to 70, plain charts at 20 and 90.
        trends: Whether its measures are charted over a column of numbers as well.

    Raises:
        QuaverError: There is no such section or kind of study, or it takes no measure.
    """
    if section not in SECTIONS:
        raise QuaverError("not a section of the report", expected=", ".join(SECTIONS), found=section)
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise QuaverError("not a kind of study", expected=", ".join(KINDS), found=", ".join(unknown))
    if not measures:
        raise QuaverError("a chart without measures", expected="at least one name of estimates")

    def declared(function: Drawing) -> Chart:
        return Chart(
            name=function.__name__,
            function=function,
            title=title,
            section=section,
            kinds=kinds,
            measures=measures,
            covers=measures if covers is None else covers,
            place=place,
            trends=trends,
        )

    return declared
