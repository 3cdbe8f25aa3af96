"""Which figures a study gets: those of the declared charts, and a plain one for each other measure."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import polars as pl

from quaver.core import registry
from quaver.core.records import Estimate
from quaver.core.rows import SECTIONS, Presentation, cell_columns, defined, ranked
from quaver.errors import QuaverError
from quaver.report.charts.chart import (
    BARS,
    MOST_SERIES,
    Chart,
    Figure,
    cell_name,
    cut,
    first_and_last,
    matches,
    names,
    spoken,
)
from quaver.report.charts.forms import Reference, forest, mark, plane
from quaver.report.charts.specification import Row
from quaver.report.charts.svg import as_altair
from quaver.report.decoding_words import temperature_sent
from quaver.report.estimate_index import Results, varying
from quaver.report.page_words import capital, in_words, presentation_of, printed, section_of, slug

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
            broken[figure.name] = error_in_words(error)
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
            broken[chart.name] = error_in_words(error)
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
            broken[name] = error_in_words(error)
    return found


def error_in_words(error: Exception) -> str:
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


_COLUMNS = {"share": "share of the items", "repeats": "the first k repeats"}
"""Columns whose names say too little."""
_NEVER = frozenset({"variant", "item", "repeat", "label", "class", "level", "model", "evaluator"})
_LEAST = 3
MOST_ROWS = 120
"""Of more cells than these, the lowest and highest are drawn; the table and the CSV hold all."""


def plain_figures(measure: str, results: Results, trends: bool = True) -> Iterator[Figure]:
    """A measure's charts: over a column of numbers, should it have been taken at several, and of the rest."""
    trend = trend_figure(measure, results) if trends else None
    if trend is not None:
        yield trend
    along = {id(estimate) for estimate in trend.estimates} if trend else set()
    every = results.of(measure) if measure == "compliance" else results.main(measure)  # by each evaluator
    estimates = [estimate for estimate in every if id(estimate) not in along]
    known = len(defined(estimates))
    shown = presentation_of(measure)
    if not known or shown.drawn == "table":
        return
    zero = "" if shown.null is None else f" Dashed: {shown.null:g}."
    ends = f"{MOST_ROWS // 2} lowest and {MOST_ROWS // 2} highest"
    yield Figure(
        draw=partial(score_chart, estimates, results),
        estimates=estimates,
        name=slug(measure),
        measure=measure,
        section=section_of(measure),
        title=shown.title,
        subtitle=f"{capital(shown.axis)}. {BARS}{zero}" + cut(min(known, MOST_ROWS), known, "cells", ends),
        closer=shown.drawn == "closer",
    )


def numeric_column(
    estimates: Sequence[Estimate], results: Results
) -> tuple[str, dict[frozenset[tuple[str, str]], float]]:
    """The column of numbers that estimates run over, and each cell's number; an empty name where none is.

    A decoding counts by its temperature, where no two of the decodings share one.
    """
    for column in varying(estimates):
        levels = {estimate.cell[column] for estimate in estimates if column in estimate.cell}
        values = {level: _number(level) for level in levels}
        if column == "decoding":
            values = {level: temperature_sent(results.lock, level) for level in levels}
        known = {level: value for level, value in values.items() if value is not None}
        least = max(_LEAST, len(levels))
        if column in _NEVER or len(set(known.values())) < least:
            continue
        places = {
            estimate.place: known[estimate.cell[column]] for estimate in estimates if column in estimate.cell
        }
        return column, places
    return "", {}


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def trend_figure(measure: str, results: Results) -> Figure | None:
    """A measure over the numbers of a column; None where it was not taken at several."""
    estimates = results.known(measure)
    column, places = numeric_column(estimates, results)
    if not column:
        return None
    estimates = [estimate for estimate in estimates if estimate.place in places]
    over = [name for name in varying(estimates) if name != column]
    panel = "model" if "model" in over and len(over) > 1 else None
    rest = [name for name in over if name != panel]
    default = "all answers" if rest else ""
    named = {estimate.place: cell_name(estimate, rest, results, default) for estimate in estimates}
    series = list(dict.fromkeys(named.values()))
    drawn = series[:MOST_SERIES]
    rows = [
        mark(
            estimate,
            results,
            x=places[estimate.place],
            y=estimate.value,
            panel=estimate.cell.get("model", "") if panel else "",
            series=named[estimate.place],
        )
        for estimate in sorted(estimates, key=lambda estimate: places[estimate.place])
        if named[estimate.place] in drawn
    ]
    if len({row["x"] for row in rows}) < _LEAST:
        return None
    shown, across = presentation_of(measure), "temperature" if column == "decoding" else column
    look: dict[str, Any] = {
        "joined": True,
        "y_ends": (0.0, 1.0) if shown.bar is not None or shown.in_percent else None,
        "percent": "y" if shown.in_percent else "",
        "references": [] if shown.bar is None else [(shown.bar, f"dashed: {shown.bar:g}", None)],
        "order": drawn,
    }
    words = _COLUMNS.get(across, in_words(across))
    return Figure(
        draw=partial(plane, rows, words, shown.axis, **look),
        estimates=estimates,
        name=slug(f"{measure}-by-{across}"),
        measure=measure,
        section=section_of(measure),
        # A chart of subsamples or of repeats says so itself.
        title=shown.title if column in _COLUMNS else f"{shown.short} by {words}",
        subtitle=f"{capital(shown.axis)}. Bands are 95% intervals." + cut(len(drawn), len(series), "lines"),
        covers=(),
    )


def score_chart(estimates: Sequence[Estimate], results: Results, *, width: int = 720) -> Any:
    """One measure's estimates in rows, with intervals; a panel for each of several models.

    Returns:
        A Vega-Lite specification, or None where no estimate has a value.
    """
    known = defined(estimates)
    if not known:
        return None
    columns = varying(known)
    series = "decoding" if "decoding" in columns and len(columns) > 1 else None
    panel = "model" if "model" in columns else None
    named = [column for column in columns if column not in (series, panel)]
    factor = results.grouping_factor if "variant" in named and len(results.factors) > 1 else None
    kinds, rows = _kinds(known), list[Row]()
    for estimate in _drawn(known, results, factor):
        level = results.factor_levels.get(estimate.cell.get("variant", ""), {}).get(factor or "")
        group = kinds.get(frozenset(estimate.cell), "")
        if level is not None:
            group = f"{in_words(factor or '')}: {level}"
        where = {
            "row": " · ".join(names(estimate, named, results, None if level is None else factor))
            or "all answers",
            "group": group,
            "panel": estimate.cell.get(panel or "", ""),
            "series": estimate.cell.get(series or "", ""),
        }
        rows.append(mark(estimate, results, **where))
    shown = presentation_of(known[0].measure)
    return forest(
        rows,
        shown.axis,
        percent=shown.in_percent,
        domain=_ends(shown, known),
        references=_references(shown, known),
        order=results.order(panel) if panel else (),
        width=width,
    )


def _ends(shown: Presentation, estimates: Sequence[Estimate]) -> tuple[float, float] | None:
    """The ends of the axis. A score with a bar is shown down to its lowest value."""
    if shown.ends or shown.bar is None:
        return shown.ends
    return min(0.0, *(estimate.number for estimate in estimates)), 1.0


def _references(shown: Presentation, estimates: Sequence[Estimate]) -> list[Reference]:
    """What is good enough, what says that there is nothing, and what guessing and one label alone give."""
    lines: list[Reference] = [] if shown.bar is None else [(shown.bar, f"dashed: {shown.bar:g}", None)]
    lines += [] if shown.null is None else [(shown.null, "", None)]
    for key, words in (("chance", "dashed: guessing"), ("majority", "the most frequent label")):
        values = [estimate.details.get(key) for estimate in estimates]
        if numbers := [value for value in values if isinstance(value, float)]:
            middle = median(numbers)
            lines.append((middle, f"{words} {printed(middle, percent=True)}", None))
    return lines


def _kinds(estimates: Sequence[Estimate]) -> dict[frozenset[str], str]:
    """Headings for estimates whose cells have different columns: what each kind holds fixed."""
    kinds = list(dict.fromkeys(frozenset(estimate.cell) for estimate in estimates))
    if len(kinds) < 2:
        return {}
    common, order, headings = frozenset.intersection(*kinds), cell_columns(estimates), {}
    for kind in kinds:
        fixed = [column for column in order if column in kind - common]
        headings[kind] = f"within one {' and '.join(map(in_words, fixed))}" if fixed else "over all"
    return headings


def _drawn(estimates: Sequence[Estimate], results: Results, factor: str | None) -> list[Estimate]:
    """In the design's order, grouped by the factor; of too many, the ends."""
    chosen = estimates if len(estimates) <= MOST_ROWS else first_and_last(ranked(estimates), MOST_ROWS)
    places = {
        column: {name: index for index, name in enumerate(results.order(column))}
        for column in cell_columns(chosen)
    }
    levels = {level: index for index, level in enumerate(results.factors.get(factor or "", ()))}

    def order(estimate: Estimate) -> tuple[Any, ...]:
        level = results.factor_levels.get(estimate.cell.get("variant", ""), {}).get(factor or "", "")
        cell = []
        for column, value in sorted(estimate.cell.items(), reverse=True):
            amount = _number(value)
            known = places[column].get(value, len(places[column]))
            cell.append((known, math.inf if amount is None else amount, value))
        return (len(estimate.cell), sorted(estimate.cell), levels.get(level, 0), *cell)

    return sorted(chosen, key=order)
