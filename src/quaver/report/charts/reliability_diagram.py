"""Reliability diagrams: how often answers of each confidence are right."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.figure import BARS, Figure, cell_name, spoken
from quaver.report.charts.plane import Guide, Plane, Spot, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import number, printed
from quaver.report.table_rows import Table

__all__ = ["reliability_figure"]

_MOST = 9
_ENDS = ("right_low", "right_high")


def reliability_figure(results: Results) -> Figure | None:
    """A panel a cell of the calibration error; None where no bins are known."""
    every = _curves(results, results.of("ece"))
    if len(every) > _MOST:  # each model and evaluator over all else
        every = _curves(results, (one for one in results.audit if one.measure == "ece")) or every
    if not every:
        return None
    columns = varying(every)
    some = every[:_MOST]
    panels = {str(at): _heading(one, columns, results) for at, one in enumerate(some)}
    spots = [
        Spot(
            bin_["confidence"],
            bin_["right"],
            bin_.get("right_low"),
            bin_.get("right_high"),
            panel=str(at),
            size=_size(bin_["n"], one),
        )
        for at, one in enumerate(some)
        for bin_ in one.details["curve"]
    ]
    plane = Plane(
        spots,
        "confidence",
        "share right",
        x_ends=(0.0, 1.0),
        y_ends=(0.0, 1.0),
        percent="xy",
        guides=[Guide("dashed: perfect calibration")],
        names=panels,
    )
    title = "How often answers are right, by the confidence that they were given with"
    cut = f" The first {_MOST} of {len(every)} cells are drawn." if len(every) > _MOST else ""
    return Figure(
        "reliability",
        "reliability",
        "accuracy",
        title,
        f"A point a bin of confidence, the larger the more answers are in it. {BARS} Below the dashed line "
        f"answers are surer than they are right. ECE: the expected calibration error.{cut}",
        partial(draw, plane),
        every,
        f"{title}. Expected calibration error: {spoken(every, results)}",
        table=_table(every, results),
    )


def _curves(results: Results, some: Iterable[Estimate]) -> list[Estimate]:
    return [one for one in results.in_order(some) if one.value is not None and one.details.get("curve")]


def _heading(one: Estimate, columns: list[str], results: Results) -> str:
    name = cell_name(one, columns, results, "")
    return f"{name} · ECE {printed(one.value or 0.0)}".removeprefix(" · ")


def _size(n: float, one: Estimate) -> float:
    most = max(float(bin_["n"]) for bin_ in one.details["curve"])
    return round(14 + 70 * float(n) / most, 1)


def _table(some: list[Estimate], results: Results) -> Table:
    columns = varying(some)
    rows: list[tuple[str | Markup, ...]] = []
    for one in some[:60]:
        for bin_ in one.details["curve"]:
            rows.append(
                (
                    cell_name(one, columns, results),
                    f"{printed(bin_['low'])} to {printed(bin_['high'])}",
                    number(bin_["confidence"]),
                    number(bin_["right"], percent=True),
                    *(number(bin_[end], percent=True) if end in bin_ else "" for end in _ENDS),
                    f"{int(bin_['n']):,}",
                )
            )
    left = len(some) - 60
    note = f"{left} more cells are in estimates.csv." if left > 0 else ""
    heads = ("of", "bin", "mean confidence", "right", "from", "to", "answers")
    return Table(heads, tuple(rows), frozenset(range(2, 7)), note)
