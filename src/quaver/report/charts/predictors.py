"""Sensitivity against consistency, class by class, beside a noisy and a random predictor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import BARS, Figure, cut
from quaver.report.charts.plane import Plane, Spot, draw
from quaver.report.estimate_index import Results
from quaver.report.page_numbers import number, printed
from quaver.report.table_rows import Table, shortened_table

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
    found = results.anywhere("sensitivity_with_consistency")
    own = list(_own(found[0])) if found else []
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
    correlation = _correlation(found[0])
    bars = f" {BARS}" if any(spot.low is not None for spot in spots) else ""
    yield Figure(
        draw=partial(draw, plane),
        estimates=found,
        subtitle=f"{correlation} A good prompt is at the upper left: its labels do not move, and the items "
        f"of a class get the same.{bars}{cut(len(spots), len(points), 'points')}",
        alternative=correlation,
        table=_table(points, results),
    )


def _intervals(results: Results) -> dict[tuple[str, frozenset[tuple[str, str]]], Estimate]:
    """The study's own estimates of each class, by measure and cell."""
    return {
        (measure, frozenset(one.cell.items())): one
        for measure in ("sensitivity", "consistency")
        for one in results.anywhere(measure)
        if "class" in one.cell and one.low is not None
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


def _correlation(one: Estimate) -> str:
    floor = one.details.get("floor", 0.05)
    if one.value is None:
        return (
            f"Without the classes whose sensitivity is under {floor:g} there is no correlation: {one.reason}."
        )
    ends = "" if one.low is None or one.high is None else f" [{printed(one.low)} to {printed(one.high)}]"
    return (
        f"Their correlation is {printed(one.value)}{ends} over {one.n} classes; those whose sensitivity is "
        f"under {floor:g} are left out of it."
    )


def _own(one: Estimate) -> Iterator[_Point]:
    for point in one.details.get("classes", ()):
        kind = "" if point["counted"] else "left out"
        yield kind, point["cell"], point["class"], point["sensitivity"], point["consistency"]


def _baselines(results: Results) -> Iterator[_Point]:
    alike = {
        frozenset(one.cell.items()): one.details.get("by_class", {})
        for one in results.anywhere("consistency_baseline")
    }
    for one in results.anywhere("sensitivity_baseline"):
        kind, cell = one.cell.get("predictor", ""), dict(one.cell)
        other = alike.get(frozenset(cell.items()), {})
        for name, value in one.details.get("by_class", {}).items():
            if name in other and kind in _SERIES:
                yield kind, {k: v for k, v in cell.items() if k != "predictor"}, name, value, other[name]


def _table(points: list[_Point], results: Results) -> Table:
    columns = [
        column
        for column in dict.fromkeys(column for _, cell, *_ in points for column in cell)
        if len({cell.get(column) for _, cell, *_ in points}) > 1
    ]
    rows: list[tuple[str | Markup, ...]] = []
    for kind, cell, name, x, y in points:
        cells: list[Any] = [
            results.variant_name(cell[c]) if c == "variant" and c in cell else cell.get(c, "all")
            for c in columns
        ]
        rows.append((*cells, results.label_name(name), _SERIES[kind], number(x), number(y)))
    at = len(columns)
    return shortened_table((*columns, "class", "whose", "sensitivity", "consistency"), rows, {at + 2, at + 3})
