"""Reliability diagrams: how often answers of each confidence are correct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import BARS, Figure, cell_name, cut, spoken
from quaver.report.charts.plane import Guide, Plane, Spot, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import cell, number, printed
from quaver.report.table_rows import Table, shortened_table

_MOST = 9
_ENDS = ("right_low", "right_high")


@chart(
    title="How often answers are correct, by their confidence",
    section="accuracy",
    kinds=("audit",),
    measures=("ece",),
    covers=(),
    place=30,
)
def reliability(results: Results) -> Iterator[Figure]:
    """A panel for each cell of the calibration error whose bins are known."""
    every = _curves(results, results.of("ece"))
    if len(every) > _MOST:  # each model and evaluator over everything else
        every = _curves(results, (one for one in results.audit if one.measure == "ece")) or every
    if not every:
        return
    columns = varying(every)
    some = every[:_MOST]
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
        "share correct",
        x_ends=(0.0, 1.0),
        y_ends=(0.0, 1.0),
        percent="xy",
        guides=[Guide("dashed: perfect calibration")],
        names={str(at): _heading(one, columns, results) for at, one in enumerate(some)},
    )
    yield Figure(
        draw=partial(draw, plane),
        estimates=every,
        measure="reliability",
        subtitle=f"A point for each bin of confidence, the larger the more answers it holds. {BARS} Below "
        "the dashed line the model is overconfident. ECE: the expected calibration error, which chance "
        "alone keeps above 0; its interval, in the table of estimates, is of the true error."
        + cut(len(some), len(every), "cells"),
        alternative=f"Expected calibration error: {spoken(every, results)}",
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
    for one in some:
        for bin_ in one.details["curve"]:
            rows.append(
                (
                    cell_name(one, columns, results),
                    f"{printed(bin_['low'])} to {printed(bin_['high'])}",
                    number(bin_["confidence"]),
                    number(bin_["right"], percent=True),
                    *(cell(bin_.get(end), percent=True) for end in _ENDS),
                    f"{int(bin_['n']):,}",
                )
            )
    heads = ("of", "bin", "mean confidence", "correct", "from", "to", "answers")
    return shortened_table(heads, rows, range(2, 7), most=600)
