"""Any measure's estimates, cell by cell, with what they are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from statistics import median
from typing import Any

from quaver.core.records import Estimate
from quaver.core.rows import Presentation, cell_columns, defined, ranked
from quaver.report.charts.chart import BARS, MOST_SERIES, Figure, cell_name, cut, first_and_last, names
from quaver.report.charts.forms import Reference, forest, mark, plane, spot
from quaver.report.charts.specification import Row
from quaver.report.decoding_words import temperature_sent
from quaver.report.estimate_index import Results, varying
from quaver.report.page_words import ALL, capital, in_words, presentation_of, printed, section_of, slug

_COLUMNS = {"share": "share of the items"}
"""Columns whose names say too little."""
_NEVER = frozenset({"variant", "item", "repeat", "repeats", "label", "class", "level", "model", "evaluator"})
_LEAST = 3


def numeric_column(
    estimates: Sequence[Estimate], results: Results
) -> tuple[str, dict[frozenset[tuple[str, str]], float]]:
    """The column of numbers that estimates run over, and each cell's number; an empty name where none is.

    A decoding counts by its temperature, where no two of the decodings share one.
    """
    for column in varying(estimates):
        if column in _NEVER:
            continue
        levels = {estimate.cell[column] for estimate in estimates if column in estimate.cell}
        values = {level: _number(level) for level in levels}
        if column == "decoding":
            column, values = "temperature", {level: temperature_sent(results.lock, level) for level in levels}
            if any("temperature" in estimate.cell for estimate in estimates):
                continue
        known = [value for value in values.values() if value is not None]
        if len(known) < len(levels) or len(set(known)) < max(_LEAST, len(levels)):
            continue
        of = "decoding" if column not in estimates[0].cell and column == "temperature" else column
        found = {
            estimate.place: values[estimate.cell[of]] or 0.0 for estimate in estimates if of in estimate.cell
        }
        return column, found
    return "", {}


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def trend_figure(measure: str, results: Results) -> Figure | None:
    """A measure over the numbers of a column, should it have been taken at several."""
    estimates = results.known(measure)
    column, at = numeric_column(estimates, results)
    if not column:
        return None
    estimates = [estimate for estimate in estimates if estimate.place in at]
    over = [
        name
        for name in varying(estimates)
        if name not in (column, "decoding" if column == "temperature" else "")
    ]
    panel = "model" if "model" in over and len(over) > 1 else None
    rest = [name for name in over if name != panel]
    default = next((ALL[name] for name in rest if name in ALL), "all answers") if rest else ""
    named = {estimate.place: cell_name(estimate, rest, results, default) for estimate in estimates}
    series = list(dict.fromkeys(named.values()))
    drawn = series[:MOST_SERIES]
    rows = []
    for estimate in sorted(estimates, key=lambda estimate: at[estimate.place]):
        place = estimate.place
        if named[place] in drawn:
            of = estimate.cell.get("model", "") if panel else ""
            rows.append(spot(at[place], estimate, results, panel=of, series=named[place]))
    if len({row["x"] for row in rows}) < _LEAST:
        return None
    shown = presentation_of(measure)
    look: dict[str, Any] = {
        "joined": True,
        "y_ends": (0.0, 1.0) if shown.bar is not None or shown.in_percent else None,
        "percent": "y" if shown.in_percent else "",
        "references": [] if shown.bar is None else [Reference(shown.bar, f"dashed: {shown.bar:g}")],
        "order": drawn,
    }
    # A chart of subsamples says so itself.
    title = shown.title if column == "share" else f"{shown.short} by {in_words(column)}"
    return Figure(
        draw=partial(plane, rows, _COLUMNS.get(column, in_words(column)), shown.axis, **look),
        estimates=estimates,
        name=slug(f"{measure}-by-{column}"),
        measure=measure,
        section=section_of(measure),
        title=title,
        subtitle=f"{capital(shown.axis)}. Bands are 95% intervals." + cut(len(drawn), len(series), "lines"),
    )


MOST_ROWS = 120
"""Of more cells than these, the lowest and highest are drawn; the table and the CSV hold all."""


def score_chart(
    estimates: Sequence[Estimate],
    results: Results,
    *,
    factor: str | None = None,
    panel: str | None = None,
    references: Sequence[Reference] = (),
    domain: tuple[float, float] | None = None,
    width: int = 720,
) -> Any:
    """One measure's estimates in rows, with intervals.

    Returns:
        A Vega-Lite specification, or None where no estimate has a value.
    """
    known = defined(estimates)
    if not known:
        return None
    columns = varying(known)
    series = "decoding" if "decoding" in columns and len(columns) > 1 else None
    if panel is None and "model" in columns:
        panel = "model"
    shown = presentation_of(known[0].measure)
    domain = domain or _ends(shown, known)
    rows = _Rows(
        results, [c for c in columns if c not in (series, panel)], factor, series, panel, _kinds(known)
    )
    return forest(
        [rows.mark(estimate) for estimate in _drawn(known, results, factor)],
        shown.axis,
        percent=shown.in_percent,
        domain=domain,
        references=references or _references(shown),
        order=results.order(panel) if panel else (),
        width=width,
    )


def _ends(shown: Presentation, estimates: Sequence[Estimate]) -> tuple[float, float] | None:
    """The ends of the axis. A score with a bar is shown down to its lowest value."""
    if shown.ends or shown.bar is None:
        return shown.ends
    return min(0.0, *(estimate.number for estimate in estimates)), 1.0


def _references(shown: Presentation) -> list[Reference]:
    """The lines that a measure declares: what is good enough, and what says that there is nothing."""
    bar = [] if shown.bar is None else [Reference(shown.bar, f"dashed: {shown.bar:g}")]
    return bar + ([] if shown.null is None else [Reference(shown.null, "")])


def _kinds(estimates: Sequence[Estimate]) -> dict[frozenset[str], str]:
    """Headings for estimates whose cells have different columns: what each kind holds fixed."""
    kinds = list(dict.fromkeys(frozenset(estimate.cell) - set(ALL) for estimate in estimates))
    if len(kinds) < 2:
        return {}
    common = frozenset.intersection(*kinds)
    order = cell_columns(estimates)
    headings = {}
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
        cell = (
            (places[c].get(v, len(places[c])), _amount(v), v)
            for c, v in sorted(estimate.cell.items(), reverse=True)
        )
        return (len(estimate.cell), sorted(estimate.cell), levels.get(level, 0), *cell)

    return sorted(chosen, key=order)


def _amount(level: str) -> float:
    """A level as a number, to stand after a lower one; those that are none, in their own order, last."""
    try:
        return float(level)
    except ValueError:
        return inf


@dataclass(frozen=True, slots=True)
class _Rows:
    """How estimates become rows: which columns name them, group them and stand side by side."""

    results: Results
    columns: Sequence[str]
    factor: str | None
    series: str | None
    panel: str | None
    kinds: Mapping[frozenset[str], str]

    def mark(self, estimate: Estimate) -> Row:
        """An estimate in its row."""
        level = self.results.factor_levels.get(estimate.cell.get("variant", ""), {}).get(self.factor or "")
        grouped = level is not None and len(self.results.factors) > 1
        found = names(estimate, self.columns, self.results, without=self.factor if grouped else None)
        kind = self.kinds.get(frozenset(estimate.cell) - set(ALL), "")
        return mark(
            estimate,
            self.results,
            row=" · ".join(found) or "all answers",
            group=f"{in_words(self.factor or '')}: {level}" if grouped else kind,
            panel=estimate.cell.get(self.panel, "") if self.panel else "",
            series=estimate.cell.get(self.series, "") if self.series else "",
        )


def accuracy_chart(estimates: Sequence[Estimate], results: Results, **options: Any) -> Any:
    """Accuracy beside guessing and the most frequent label. Options are those of `score_chart`."""
    references = []
    for key, text in (("chance", "dashed: guessing"), ("majority", "the most frequent label")):
        found = [
            estimate.details[key] for estimate in estimates if isinstance(estimate.details.get(key), float)
        ]
        if found:
            middle = median(found)
            references.append(Reference(middle, f"{text} {printed(middle, percent=True)}"))
    return score_chart(estimates, results, references=references, domain=(0.0, 1.0), **options)


def score_figures(measure: str, results: Results, draw: Callable[..., Any] = score_chart) -> Iterator[Figure]:
    """A measure's plain chart, by its own title, axis and unit; without what is charted over numbers."""
    trend = trend_figure(measure, results)
    along = {id(estimate) for estimate in trend.estimates} if trend else set()
    estimates = [estimate for estimate in results.main(measure) if id(estimate) not in along]
    known = sum(estimate.value is not None for estimate in estimates)
    if not known:
        return
    shown = presentation_of(measure)
    zero = "" if shown.null is None else f" Dashed: {shown.null:g}."
    ends = (
        f" The {MOST_ROWS // 2} lowest and {MOST_ROWS // 2} highest are drawn." if known > MOST_ROWS else ""
    )
    factor = results.grouping_factor if any("variant" in estimate.cell for estimate in estimates) else None
    yield Figure(
        draw=partial(draw, estimates, results, factor=factor),
        estimates=estimates,
        name=slug(measure),
        measure=measure,
        section=section_of(measure),
        title=shown.title,
        subtitle=f"{capital(shown.axis)}. {BARS}{zero}{ends}",
        closer=shown.drawn == "closer",
        covers=(measure,),
    )
