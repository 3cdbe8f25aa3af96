"""Which figures a study gets: those of the registered charts, and a plain one for each other measure."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from quaver.core import registry
from quaver.core.rows import SECTIONS, defined, ranked
from quaver.errors import QuaverError
from quaver.report.charts.chart import (
    BARS,
    MOST_ROWS,
    Figure,
    cut,
    first_and_last,
    intervals_hold_for,
    matches,
    spoken,
)
from quaver.report.charts.scores import score_chart
from quaver.report.charts.svg import as_altair
from quaver.report.estimate_index import Results
from quaver.report.page_words import capital, presentation_of, section_of, slug

_PLAIN = 50
"""Where plain charts stand in their section."""

_FEWEST = 3
"""How alike fewer items of a class are stands in the tables, and is no chart."""

_FIRST = ("intra_pss", "inter_pss", "sensitivity", "consistency", "accuracy", "compliance")
"""Plain charts of these measures come before those of others."""


def figures(results: Results) -> list[Figure]:
    """The figures of a study in the report's order."""
    return gallery(results)[0]


def charts(results: Results, width: int = 720) -> dict[str, Any]:
    """The report's charts by name.

    Returns:
        ``altair`` charts, each with its title; they can be changed, saved and combined.
    """
    if width < 1:
        raise QuaverError(
            "not a width of a chart", where="width", expected="1 pixel or more", found=str(width)
        )
    shown, broken = gallery(results)
    result = {}
    for figure in shown:
        try:
            result[figure.name] = as_altair(figure.chart(width, titled=True))
        except Exception as error:  # whatever another package's chart raises
            broken[figure.name] = error_in_words(error)
    for name, reason in broken.items():
        warnings.warn(f"the chart {name!r} is not drawn: {reason}", stacklevel=2)
    return result


def gallery(results: Results) -> tuple[list[Figure], dict[str, str]]:
    """The figures of a study in order, and the charts that could not be drawn, each with its error.

    A broken plug-in loses its own chart alone.
    """
    broken: dict[str, str] = {}
    shown: list[Figure] = []
    for name in registry.names("charts"):
        try:
            made: Iterable[Figure] = registry.load("charts", name)(results)
            shown += [replace(figure, name=figure.name or slug(name)) for figure in made]
        except Exception as error:  # whatever another package's chart raises
            broken[name] = error_in_words(error)
    covered = [measure for figure in shown for measure in figure.covers]
    for measure in results.measures:
        if not matches(measure, covered):
            shown += plain_figure(measure, results)
    shown.sort(key=_order)
    return [_spoken(figure, results) for figure in _named_apart(shown)], broken


def error_in_words(error: Exception) -> str:
    """An error as the page shows it."""
    return f"{type(error).__name__}: {error}"


def _order(figure: Figure) -> tuple[int, int, int]:
    """Sections in their order, and in each the charts by their places."""
    first = 0
    while first < len(_FIRST) and not (figure.place == _PLAIN and figure.measure.startswith(_FIRST[first])):
        first += 1
    return SECTIONS.index(figure.section), figure.place, first


def _spoken(figure: Figure, results: Results) -> Figure:
    """A figure that says its values in words, and what its intervals hold for."""
    values = figure.alternative or spoken(figure.estimates, results)
    subtitle = figure.subtitle + intervals_hold_for(figure.estimates)
    return replace(figure, alternative=f"{figure.title}. {values}", subtitle=subtitle)


def _named_apart(some: Iterable[Figure]) -> Iterator[Figure]:
    seen: dict[str, int] = {}
    for figure in some:
        seen[figure.name] = seen.get(figure.name, 0) + 1
        yield figure if seen[figure.name] == 1 else replace(figure, name=f"{figure.name}-{seen[figure.name]}")


def plain_figure(measure: str, results: Results) -> Iterator[Figure]:
    """A measure's chart, as it declares that it is shown."""
    estimates = results.of(measure) if measure == "compliance" else results.main(measure)  # by each evaluator
    few = _FEWEST if section_of(measure) == "sensitivity" else 1
    known = [estimate for estimate in defined(estimates) if not 0 < estimate.n < few]
    shown = presentation_of(measure)
    if not known or shown.drawn == "table":
        return
    drawn = known if len(known) <= MOST_ROWS else first_and_last(ranked(known), MOST_ROWS)
    zero = "" if shown.null is None else f" Dashed: {shown.null:g}."
    left_out = cut(len(drawn), len(known), "cells", "the lowest and the highest")
    yield Figure(
        draw=partial(score_chart, drawn, results),
        estimates=estimates,
        name=slug(measure),
        measure=measure,
        section=section_of(measure),
        title=shown.title,
        subtitle=f"{capital(shown.axis)}. {BARS}{zero}{left_out}",
        closer=shown.drawn == "closer",
        place=_PLAIN,
    )
