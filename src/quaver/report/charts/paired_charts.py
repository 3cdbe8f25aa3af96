"""Two numbers against each other: stability and repeats, sensitivity and consistency."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from quaver.core.number_format import with_interval
from quaver.core.records import Estimate
from quaver.core.rows import of_measures
from quaver.report.charts.chart import BARS, MOST_SERIES, Figure, cell_name, cut
from quaver.report.charts.forms import Reference, plane, spot
from quaver.report.charts.specification import Row
from quaver.report.estimate_index import Results, varying
from quaver.report.page_words import printed
from quaver.report.table_rows import Column, Table, listed, plain, text

Words = Mapping[str, Any]
_UNIT = (0.0, 1.0)
_BAR = [Reference(0.8, "dashed: 0.8")]


def intra_pss_repeats(words: Words, results: Results) -> Iterator[Figure]:
    """The curves of both kinds side by side, where one of them has two points."""
    kinds = {"intra_pss_cumulative": "the first k repeats", "intra_pss_adjacent": "repeat k and the next"}
    estimates = [one for kind in kinds for one in results.known(kind) if "repeats" in one.cell]
    columns = [name for name in varying(estimates) if name != "repeats"]
    places = {kind: _turns(of_measures(estimates, kind)) for kind in kinds}
    if max(map(len, places.values())) < 2:
        return
    named = {id(one): cell_name(one, columns, results, "") for one in estimates}
    series = list(dict.fromkeys(named.values()))
    shown = series[:MOST_SERIES]
    rows = [
        spot(
            places[one.measure][one.cell["repeats"]],
            one,
            results,
            panel=one.measure,
            series=named[id(one)],
            size=22,
        )
        for one in estimates
        if named[id(one)] in shown
    ]
    rows.sort(key=lambda row: (list(kinds).index(row["panel"]), row["x"]))
    look: dict[str, Any] = {
        "joined": True,
        "y_ends": _UNIT,
        "references": _BAR,
        "order": shown,
        "names": kinds,
    }
    yield Figure(
        draw=partial(plane, rows, "k", "Krippendorff’s α", **look),
        estimates=estimates,
        subtitle=words["subtitle"] + cut(len(shown), len(series), "lines"),
    )


def _turns(estimates: list[Estimate]) -> dict[str, int]:
    """The place of each set of repeats: its number, or its turn where it has none."""
    every = list(dict.fromkeys(estimate.cell["repeats"] for estimate in estimates))
    first = [name.split(" and ")[0] for name in every]
    if all(one.isdecimal() for one in first) and len(set(first)) == len(first):
        return {name: int(one) for name, one in zip(every, first, strict=True)}
    return {name: index for index, name in enumerate(every)}


_MOST_POINTS = 900


def sensitivity_consistency(words: Words, results: Results) -> Iterator[Figure]:
    """Each class of each cell as a point, where it has both numbers."""
    estimates = results.anywhere("sensitivity_with_consistency")
    points = [*_own_points(estimates[0], results), *_baseline_points(results)] if estimates else []
    if not points or points[0]["kind"] not in ("own", "left out"):
        return
    series = words["series"]
    for point in points:
        point["series"] = series[point["kind"]]
    shown = points[:_MOST_POINTS]
    order = [name for name in series.values() if any(point["series"] == name for point in shown)]
    axes = ("sensitivity (0: never changes)", "consistency (1: alike within a class)")
    correlation = _correlation(estimates[0])
    bars = f" {BARS}" if any(point.get("low") is not None for point in shown) else ""
    yield Figure(
        draw=partial(plane, shown, *axes, x_ends=_UNIT, y_ends=_UNIT, order=order),
        estimates=estimates,
        subtitle=f"{correlation} A good prompt is at the upper left: its labels do not move, and the items "
        f"of a class get the same.{bars}{cut(len(shown), len(points), 'points')}",
        alternative=correlation,
        table=_points_table(points, results),
    )


def _own_points(estimate: Estimate, results: Results) -> Iterator[Row]:
    """The study's own classes, each with the intervals of both numbers."""
    known = {
        (measure, one.place): one
        for measure in ("sensitivity", "consistency")
        for one in results.anywhere(measure)
        if "class" in one.cell and one.low is not None
    }
    for point in estimate.details.get("classes", ()):
        where = frozenset({**point["cell"], "class": point["class"]}.items())
        across, up = (known.get((measure, where)) for measure in ("sensitivity", "consistency"))
        yield {
            "kind": "own" if point["counted"] else "left out",
            "cell": point["cell"],
            "class": point["class"],
            "x": point["sensitivity"],
            "y": point["consistency"],
            "size": 34,
            **({"low": up.low, "high": up.high} if up else {}),
            **({"left": across.low, "right": across.high} if across else {}),
        }


def _baseline_points(results: Results) -> Iterator[Row]:
    """The classes of noisy and of random answers."""
    baselines = results.anywhere("consistency_baseline")
    alike = {estimate.place: estimate.details.get("by_class", {}) for estimate in baselines}
    for estimate in results.anywhere("sensitivity_baseline"):
        kind, other = estimate.cell.get("predictor", ""), alike.get(estimate.place, {})
        cell = {name: value for name, value in estimate.cell.items() if name != "predictor"}
        for name, value in estimate.details.get("by_class", {}).items():
            if name in other and kind in ("noisy", "random"):
                yield {"kind": kind, "cell": cell, "class": name, "x": value, "y": other[name], "size": 22}


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


def _points_table(points: Sequence[Row], results: Results) -> Table:
    columns = dict.fromkeys(column for point in points for column in point["cell"])
    several = [column for column in columns if len({point["cell"].get(column) for point in points}) > 1]

    def named(column: str) -> Column:
        def of(point: Row) -> str:
            value = point["cell"].get(column)
            return "all" if value is None else results.variant_name(value) if column == "variant" else value

        return text(column, of)

    heads = (
        *map(named, several),
        text("class", lambda point: results.label_name(point["class"])),
        text("whose", "series"),
        plain("sensitivity", "x"),
        plain("consistency", "y"),
    )
    return listed(points, heads)
