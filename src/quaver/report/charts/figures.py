"""Which figures a study gets: those of the declared charts, and a plain one for each other measure."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from quaver.core import registry
from quaver.core.records import Estimate
from quaver.core.rows import SECTIONS
from quaver.errors import QuaverError
from quaver.report.charts.chart import Chart, Figure, matches, spoken
from quaver.report.charts.plain_charts import plain_figures
from quaver.report.charts.svg import as_altair
from quaver.report.estimate_index import Results

_PLAIN = 50
"""Where plain charts stand in their section."""

_FIRST = ("intra_pss", "inter_pss", "sensitivity", "consistency", "accuracy", "compliance")
"""Plain charts of these measures come before those of others."""


def figures(results: Results) -> list[Figure]:
    """The figures of a study in the report's order."""
    return gallery(results)[0]


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
    shown, broken = gallery(Results(lock, annotations, estimates, audit=further))
    result = {}
    for figure in shown:
        try:
            result[figure.name] = as_altair(figure.chart(width, titled=True))
        except Exception as error:  # whatever another package's chart raises
            broken[figure.name] = in_words(error)
    for name, reason in broken.items():
        warnings.warn(f"the chart {name!r} is not drawn: {reason}", stacklevel=2)
    return result


def gallery(results: Results) -> tuple[list[Figure], dict[str, str]]:
    """The figures of a study in order, and the charts that could not be drawn, each with its error.

    A broken plug-in loses its own chart alone.
    """
    broken: dict[str, str] = {}
    declared = declared_charts(broken)
    placed: list[tuple[int, Figure]] = []
    for chart in declared:
        try:
            placed += [(chart.place, figure) for figure in chart.figures(results)]
        except Exception as error:  # whatever another package's chart raises
            broken[chart.name] = in_words(error)
    covered = {name for _, figure in placed for name in figure.covers or ()}
    of_charts = [name for chart in declared for name in chart.covers]
    for measure in results.measures:
        if not matches(measure, covered):
            plain = plain_figures(measure, results, trends=not matches(measure, of_charts))
            placed += [(_PLAIN, figure) for figure in plain]
    placed.sort(key=lambda pair: _order(*pair))
    shown = [_spoken(figure, results) for figure in _named_apart(figure for _, figure in placed)]
    return shown, broken


def declared_charts(broken: dict[str, str] | None = None) -> list[Chart]:
    """The registered charts."""
    found = []
    for name in registry.names("charts"):
        try:
            chart = registry.load("charts", name)
            if not isinstance(chart, Chart):
                raise TypeError(f"expected a function under @chart, found {type(chart).__name__}")
            found.append(chart)
        except Exception as error:
            if broken is None:
                raise
            broken[name] = in_words(error)
    return found


def in_words(error: Exception) -> str:
    """An error as the page shows it."""
    return f"{type(error).__name__}: {error}"


def _order(place: int, figure: Figure) -> tuple[int, int, int]:
    """Sections in their order, and in each the charts by their places."""
    measure, last = figure.measure or "", len(_FIRST)
    first = next((index for index, name in enumerate(_FIRST) if measure.startswith(name)), last)
    return SECTIONS.index(figure.section or "more"), place, first if place == _PLAIN else last


def _spoken(figure: Figure, results: Results) -> Figure:
    values = figure.alternative or spoken(figure.estimates, results)
    return replace(figure, alternative=f"{figure.title}. {values}")


def _named_apart(some: Iterator[Figure]) -> Iterator[Figure]:
    seen: dict[str, int] = {}
    for figure in some:
        seen[figure.name] = seen.get(figure.name, 0) + 1
        yield figure if seen[figure.name] == 1 else replace(figure, name=f"{figure.name}-{seen[figure.name]}")
