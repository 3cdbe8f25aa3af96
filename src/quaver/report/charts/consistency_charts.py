"""Sensitivity of items and consistency of their pairs: as quantiles, as matrices, as histograms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import altair as alt

from quaver.core.number_format import with_interval
from quaver.core.records import Estimate
from quaver.core.rows import ranked
from quaver.report.charts.chart import BARS, Figure, cell_name, chart, cut, names, naming
from quaver.report.charts.forest import Forest, Mark, draw_forest
from quaver.report.charts.grid import Grid, Square, draw_grid
from quaver.report.charts.plane import Plane, Spot, draw_plane
from quaver.report.charts.theme import (
    DATA,
    INK,
    PAPER,
    Layer,
    fixed,
    in_rows,
    inline,
    options,
    panel_heading,
    scale,
)
from quaver.report.estimate_index import Results, varying
from quaver.report.page_words import printed
from quaver.report.table_rows import Column, Table, listed, plain, tally, text

_MOST_ROWS = 90
_KINDS = {
    "sensitivity": (
        "sensitivity_distribution",
        "The distribution of sensitivity over the items",
        "single items",
    ),
    "consistency": (
        "consistency_distribution",
        "The distribution of consistency over pairs of items",
        "single pairs",
    ),
}


def spread_out(results: Results, measure: str) -> list[Estimate]:
    """The distributions of a measure that there are, from the first evaluator's labels."""
    first = results.evaluators[0] if results.evaluators else ""
    return [
        estimate
        for estimate in results.in_order(results.anywhere(measure))
        if estimate.value is not None
        and estimate.cell.get("evaluator", first) == first
        and {"0.05", "0.25", "0.75", "0.95"} <= set(estimate.details.get("quantiles", ()))
    ]


@chart(
    title="The distributions of sensitivity and consistency",
    section="sensitivity",
    kinds=("sensitivity",),
    measures=("sensitivity_distribution", "consistency_distribution"),
    place=30,
)
def sensitivity_distributions(results: Results) -> Iterator[Figure]:
    """A figure for sensitivity and one for consistency, where there are distributions of these."""
    for kind in _KINDS:
        yield from _quantiles(kind, results)


def _quantiles(kind: str, results: Results) -> Iterator[Figure]:
    measure, title, of = _KINDS[kind]
    estimates = spread_out(results, measure)
    # One item has no distribution.
    some = [estimate for estimate in estimates if int(estimate.details.get("values", 0)) > 1]
    if not some:
        return
    shown = (
        some
        if len(some) <= _MOST_ROWS
        else [estimate for estimate in some if "class" not in estimate.cell][:_MOST_ROWS]
    )
    shown = shown or some[:_MOST_ROWS]
    columns = [name for name in varying(some) if name not in ("class", "model", "evaluator")]
    several = len({estimate.cell.get("model") for estimate in some}) > 1
    marks = [_quantile_mark(estimate, columns, results, several) for estimate in shown]
    forest = Forest(marks, kind, domain=(0.0, 1.0))
    title += ", by class" if any("class" in estimate.cell for estimate in shown) else ""
    middle = ranked(some)
    medians = [
        f"{printed(estimate.number)} ({cell_name(estimate, [*columns, 'model', 'class'], results)})"
        for estimate in (middle[0], middle[-1])
    ]
    yield Figure(
        draw=partial(draw_forest, forest),
        estimates=some,
        name=f"{kind}-distribution",
        measure=measure,
        title=title,
        subtitle="The dot is the median, the thick line the middle half, the thin line runs from the 5th to "
        f"the 95th percentile. These are values of {of}, not intervals of an estimate."
        + cut(len(shown), len(some), "distributions"),
        alternative=f"Medians from {medians[0]} to {medians[1]}.",
        table=_quantiles_table(some, results),
        covers=(measure,),
    )


def _quantile_mark(estimate: Estimate, columns: Sequence[str], results: Results, several: bool) -> Mark:
    at = estimate.details["quantiles"]
    group = cell_name(estimate, columns, results, "")
    name = results.label_name(estimate.cell["class"]) if "class" in estimate.cell else "all items"
    return Mark(
        estimate.number,
        at["0.25"],
        at["0.75"],
        row=name,
        group=group,
        panel=estimate.cell.get("model", "") if several else "",
        far=(at["0.05"], at["0.95"]),
    )


def _quantiles_table(estimates: Sequence[Estimate], results: Results) -> Table:
    def at(quantile: str) -> Column:
        return plain(f"{100 * float(quantile):g}%", lambda one: one.details["quantiles"][quantile])

    def named(column: str) -> Column:
        return text(column, lambda one: " ".join(names(one, [column], results)) or "all")

    quantiles = map(at, estimates[0].details["quantiles"])
    columns = (
        *map(named, varying(estimates)),
        *quantiles,
        tally("values", lambda one: one.details.get("values", 0)),
    )
    return listed(estimates, columns)


_MOST_MATRICES = 6


@chart(
    title="How alike the answers to each two items of a class are",
    section="sensitivity",
    kinds=("sensitivity",),
    measures=("consistency_distribution",),
    place=50,
)
def consistency_matrices(results: Results) -> Iterator[Figure]:
    """The matrices of the first six classes and cells."""
    estimates = [
        estimate
        for estimate in spread_out(results, "consistency_distribution")
        if len(estimate.details.get("matrix", ())) > 1
    ]
    some = estimates[:_MOST_MATRICES]
    if not some:
        return
    of = naming(estimates, results)
    panels = {str(index): of.cell(estimate) for index, estimate in enumerate(some)}
    medians = {str(index): f"median {printed(estimate.number)}" for index, estimate in enumerate(some)}
    squares = [
        Square(str(row), str(column), value, panel=str(index))
        for index, estimate in enumerate(some)
        for row, values in enumerate(estimate.details["matrix"])
        for column, value in enumerate(values)
    ]
    shown = max(len(estimate.details["matrix"]) for estimate in some)
    values = "; ".join(f"{panels[at]}: {text}" for at, text in medians.items())
    yield Figure(
        draw=partial(draw_grid, Grid(squares, named=False, names=panels, headings=medians)),
        estimates=some,
        subtitle=f"A row and a column for each item (up to {shown} a class, ordered by their most frequent "
        "label); the darker, the more alike. Blocks are groups of items with labels of their own."
        + cut(len(some), len(estimates), "matrices"),
        alternative=f"{values}.",
        table=_matrix_table(some, list(panels.values())),
        closer=True,
    )


def _matrix_table(estimates: Sequence[Estimate], panels: Sequence[str]) -> Table:
    """For each item the ends of its consistency with the others."""
    rows = []
    for estimate, name in zip(estimates, panels, strict=True):
        for index, values in enumerate(estimate.details["matrix"]):
            others = [value for column, value in enumerate(values) if column != index]
            rows.append({"of": name, "item": index + 1, "least": min(others), "most": max(others)})
    table = (
        text("of", "of"),
        tally("item, in the matrix’s order", "item"),
        plain("least alike to another", "least"),
        plain("most alike", "most"),
    )
    note = "The whole matrices are in estimates.csv, among the details of consistency_distribution."
    return replace(listed(rows, table, most=len(rows)), note=note)


_MOST_HISTOGRAMS = 12
_HEIGHT = 90
_NARROWEST = 110


@chart(
    title="How alike the answers to pairs of items of one class are",
    section="sensitivity",
    kinds=("sensitivity",),
    measures=("consistency_distribution",),
    place=60,
)
def consistency_histograms(results: Results) -> Iterator[Figure]:
    """Histograms of the first twelve classes and cells."""
    estimates = [
        estimate
        for estimate in spread_out(results, "consistency_distribution")
        if estimate.details.get("counts")
    ]
    some = estimates[:_MOST_HISTOGRAMS]
    if not some:
        return
    of = naming(estimates, results)
    medians = [f"{of.cell(estimate)}: median {printed(estimate.number)}" for estimate in some]
    yield Figure(
        draw=partial(_histograms, some, of),
        estimates=some,
        subtitle="Pairs of items by their consistency, from 0 (never the same label) to 1 (the same shares "
        f"of labels); the line is the median.{cut(len(some), len(estimates), 'histograms')}",
        alternative=f"{'; '.join(medians)}.",
        table=_histogram_table(estimates, results),
        closer=True,
    )


def _histograms(estimates: Sequence[Estimate], of: Column, *, width: int = 720) -> Any:
    fit = max(1, min(len(estimates), (width - 10) // (_NARROWEST + 50)))
    each = min(320, (width - 10) / fit - 54)
    panels = [_histogram(estimate, of.cell(estimate), each) for estimate in estimates]
    return alt.vconcat(*in_rows(panels, fit, 14), spacing=10)


def _histogram(estimate: Estimate, name: str, width: float) -> Any:
    counts = estimate.details["counts"]
    bars = [
        {"low": index / len(counts), "high": (index + 1) / len(counts), "count": count, "zero": 0}
        for index, count in enumerate(counts)
        if count
    ]
    x = alt.X(
        "low:Q",
        scale=scale(0, 1),
        axis=options(title=None, values=[0, 0.5, 1], labelFlush=True),
    )
    y = alt.Y("zero:Q", scale=scale(0, max(1, *counts)), axis=options(title=None, tickCount=2))
    drawn = Layer(inline(bars)).mark_rect(fill=DATA[0], stroke=PAPER, strokeWidth=0.5, opacity=1)
    middle = Layer(inline([{"low": estimate.value}])).mark_rule(color=INK, strokeWidth=1.2)
    return alt.layer(
        drawn.encode(x=x, x2=alt.X2("high:Q"), y=y, y2=alt.Y2("count:Q")),
        middle.encode(x=x, y=fixed("Y", 0), y2=fixed("Y2", _HEIGHT)),
    ).properties(
        width=width,
        height=_HEIGHT,
        title=panel_heading(name, f"{estimate.details.get('values', 0):,} pairs", width),
    )


def _histogram_table(estimates: Sequence[Estimate], results: Results) -> Table:
    bins, of = len(estimates[0].details["counts"]), naming(estimates, results)
    rows = []
    for estimate in estimates:
        for index, count in enumerate(estimate.details["counts"]):
            edges = f"{index / bins:g} to {(index + 1) / bins:g}"
            rows += [{"of": of.cell(estimate), "edges": edges, "pairs": count}] if count else []
    return listed(rows, (text("of", "of"), text("consistency", "edges"), tally("pairs", "pairs")), most=600)


_MOST = 900
_SERIES = {
    "": "the study’s answers",
    "left out": "the study’s, left out of the correlation",
    "noisy": "half of the answers swapped",
    "random": "answers drawn at random",
}
_Point = tuple[str, Mapping[str, str], str, float, float]


@chart(
    title="Sensitivity against consistency, a point for each class",
    section="sensitivity",
    kinds=("sensitivity",),
    measures=("sensitivity_with_consistency",),
    place=40,
)
def sensitivity_consistency(results: Results) -> Iterator[Figure]:
    """Each class of each cell as a point, where it has both numbers."""
    estimates = results.anywhere("sensitivity_with_consistency")
    own = list(_own(estimates[0])) if estimates else []
    if not own:
        return
    points = [*own, *_baselines(results)]
    between = _intervals(results)
    spots = [_spot(point, between) for point in points[:_MOST]]
    plane = Plane(
        spots,
        "sensitivity (0: never changes)",
        "consistency (1: alike within a class)",
        x_ends=(0.0, 1.0),
        y_ends=(0.0, 1.0),
        order=[name for name in _SERIES.values() if any(spot.series == name for spot in spots)],
    )
    correlation = _correlation(estimates[0])
    bars = f" {BARS}" if any(spot.low is not None for spot in spots) else ""
    yield Figure(
        draw=partial(draw_plane, plane),
        estimates=estimates,
        subtitle=f"{correlation} A good prompt is at the upper left: its labels do not move, and the items "
        f"of a class get the same.{bars}{cut(len(spots), len(points), 'points')}",
        alternative=correlation,
        table=_table(points, results),
    )


def _intervals(results: Results) -> dict[tuple[str, frozenset[tuple[str, str]]], Estimate]:
    """The study's own estimates of each class, by measure and cell."""
    return {
        (measure, estimate.place): estimate
        for measure in ("sensitivity", "consistency")
        for estimate in results.anywhere(measure)
        if "class" in estimate.cell and estimate.low is not None
    }


def _spot(point: _Point, between: Mapping[tuple[str, frozenset[tuple[str, str]]], Estimate]) -> Spot:
    kind, cell, name, x, y = point
    if kind in ("noisy", "random"):
        return Spot(x, y, series=_SERIES[kind], size=22)
    where = frozenset({**cell, "class": name}.items())
    across, up = (between.get((measure, where)) for measure in ("sensitivity", "consistency"))
    return Spot(
        x,
        y,
        up.low if up else None,
        up.high if up else None,
        series=_SERIES[kind],
        size=34,
        left=across.low if across else None,
        right=across.high if across else None,
    )


def _correlation(estimate: Estimate) -> str:
    floor = estimate.details.get("floor", 0.05)
    if estimate.value is None:
        return (
            f"Without the classes whose sensitivity is under {floor:g} there is no correlation: "
            f"{estimate.reason}."
        )
    return (
        f"Their correlation is {with_interval(estimate, printed)} over {estimate.n} classes; those whose "
        f"sensitivity is under {floor:g} are left out of it."
    )


def _own(estimate: Estimate) -> Iterator[_Point]:
    for point in estimate.details.get("classes", ()):
        kind = "" if point["counted"] else "left out"
        yield kind, point["cell"], point["class"], point["sensitivity"], point["consistency"]


def _baselines(results: Results) -> Iterator[_Point]:
    alike = {
        estimate.place: estimate.details.get("by_class", {})
        for estimate in results.anywhere("consistency_baseline")
    }
    for estimate in results.anywhere("sensitivity_baseline"):
        kind, cell = estimate.cell.get("predictor", ""), dict(estimate.cell)
        other = alike.get(frozenset(cell.items()), {})
        for name, value in estimate.details.get("by_class", {}).items():
            if name in other and kind in _SERIES:
                yield kind, {k: v for k, v in cell.items() if k != "predictor"}, name, value, other[name]


def _table(points: list[_Point], results: Results) -> Table:
    columns = dict.fromkeys(column for _, cell, *_ in points for column in cell)
    several = [column for column in columns if len({cell.get(column) for _, cell, *_ in points}) > 1]

    def named(column: str) -> Column:
        def of(point: _Point) -> str:
            value = point[1].get(column)
            return "all" if value is None else results.variant_name(value) if column == "variant" else value

        return text(column, of)

    table = (
        *map(named, several),
        text("class", lambda point: results.label_name(point[2])),
        text("whose", lambda point: _SERIES[point[0]]),
        plain("sensitivity", lambda point: point[3]),
        plain("consistency", lambda point: point[4]),
    )
    return listed(points, table)
