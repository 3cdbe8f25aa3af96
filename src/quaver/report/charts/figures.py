"""Which figures a study gets: those of the declared charts, and a plain one for each other measure."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from quaver.core import registry
from quaver.core.records import Estimate
from quaver.core.rows import SECTIONS
from quaver.errors import QuaverError
from quaver.report.charts.chart import Chart, Figure, matches, spoken
from quaver.report.charts.scores import score_figures, trend_figure
from quaver.report.estimate_index import Results
from quaver.report.page_words import presentation_of

_TREND, _PLAIN = 20, 90
"""Where plain charts stand in their section: over a column of numbers, and value by value."""


@dataclass(slots=True)
class Gallery:
    """The figures of a study.

    Attributes:
        figures: In the report's order.
        broken: The charts that could not be drawn, each with its error.
    """

    figures: list[Figure] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)


def figures(results: Results) -> list[Figure]:
    """The figures of a study in the report's order."""
    return gallery(results).figures


def charts(
    *,
    lock: Mapping[str, Any],
    annotations: pl.DataFrame,
    estimates: Sequence[Estimate],
    further: Sequence[Estimate] = (),
    width: int = 720,
) -> dict[str, Any]:
    """The report's charts by name.

    Returns:
        ``altair`` charts, each with its title; they can be changed, saved and combined.
    """
    if width < 1:
        raise QuaverError(
            "not a width of a chart", where="width", expected="1 pixel or more", found=str(width)
        )
    shown = gallery(Results(lock, annotations, estimates, audit=further))
    made = {}
    for one in shown.figures:
        try:
            made[one.name] = one.chart(width, titled=True)
        except Exception as error:  # whatever another package's chart raises
            shown.broken[one.name] = in_words(error)
    for name, reason in shown.broken.items():
        warnings.warn(f"the chart {name!r} is not drawn: {reason}", stacklevel=2)
    return made


def gallery(results: Results) -> Gallery:
    """The figures of a study, and what could not be drawn: a broken plug-in loses its own chart alone."""
    made = Gallery()
    declared = declared_charts(made.broken)
    placed: list[tuple[int, Figure]] = []
    for one in declared:
        try:
            placed += [(one.place, figure) for figure in one.figures(results)]
        except Exception as error:  # whatever another package's chart raises
            made.broken[one.name] = in_words(error)
    untrended = [name for one in declared if not one.trends for name in one.covers]
    for measure in results.measures:
        trend = None if matches(measure, untrended) else trend_figure(measure, results)
        placed += [] if trend is None else [(_TREND, trend)]
    covered = {name for _, figure in placed for name in figure.covers or ()}
    for measure in results.measures:
        if not matches(measure, covered) and presentation_of(measure).drawn != "table":
            placed += [(_PLAIN, figure) for figure in score_figures(measure, results)]
    placed.sort(key=lambda one: _order(*one))
    made.figures = [_spoken(one, results) for one in _named_apart(figure for _, figure in placed)]
    return made


def declared_charts(broken: dict[str, str] | None = None) -> list[Chart]:
    """The registered charts."""
    found = []
    for name in registry.names("charts"):
        try:
            one = registry.load("charts", name)
            if not isinstance(one, Chart):
                raise TypeError(f"expected a function under @chart, found {type(one).__name__}")
            found.append(one)
        except Exception as error:
            if broken is None:
                raise
            broken[name] = in_words(error)
    return found


def in_words(error: Exception) -> str:
    """An error as the page shows it."""
    return f"{type(error).__name__}: {error}"


def _order(place: int, figure: Figure) -> tuple[int, int, int]:
    """Sections in their order; stability over repeats before stability over prompts before all other."""
    section = figure.section or "more"
    families = ("intra_pss", "inter_pss") if section == "stability" else ()
    known = (at for at, family in enumerate(families) if (figure.measure or "").startswith(family))
    return SECTIONS.index(section), next(known, len(families)), place


def _spoken(figure: Figure, results: Results) -> Figure:
    values = figure.alternative or spoken(figure.estimates, results)
    return replace(figure, alternative=f"{figure.title}. {values}")


def _named_apart(some: Iterator[Figure]) -> Iterator[Figure]:
    seen: dict[str, int] = {}
    for one in some:
        seen[one.name] = seen.get(one.name, 0) + 1
        yield one if seen[one.name] == 1 else replace(one, name=f"{one.name}-{seen[one.name]}")
