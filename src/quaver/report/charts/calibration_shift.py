"""Calibration error of raw and of normalized token confidence, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from quaver.report.charts.chart import chart
from quaver.report.charts.figure import BARS, Figure, cell_name, cut, largest, spoken
from quaver.report.charts.forest import Forest, Mark, draw, rounded_up
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import ends, number
from quaver.report.table_rows import shortened_table

_MOST = 60
_SERIES = {
    "ece_raw": "raw: probability in the whole vocabulary",
    "ece_normalised": "normalized over the labels",
}
_SHIFT = "the difference"


@chart(
    title="How much normalizing token confidence changes the calibration error",
    section="accuracy",
    kinds=("audit",),
    measures=("ece_shift",),
    place=40,
)
def calibration_shift(results: Results) -> Iterator[Figure]:
    """Both errors in a row for each cell."""
    every = [
        one
        for one in results.known("ece_shift")
        if all(isinstance(one.details.get(key), float) for key in _SERIES)
    ]
    if not every:
        return
    some = largest(every, _MOST)
    columns = varying(every)
    rows = {id(one): cell_name(one, columns, results) for one in some}
    marks = [
        Mark(one.details[key], row=rows[id(one)], series=name)
        for one in some
        for key, name in _SERIES.items()
    ]
    marks += [Mark(one.value or 0.0, one.low, one.high, row=rows[id(one)], series=_SHIFT) for one in some]
    top = rounded_up(end for mark in marks for end in (mark.value, mark.high or 0.0))
    cells = [
        (rows[id(one)], *(number(one.details[key]) for key in _SERIES), number(one.value or 0.0), *ends(one))
        for one in some
    ]
    heads = ("of", "ECE, raw", "ECE, normalized", "shift", "from", "to")
    yield Figure(
        draw=partial(draw, Forest(marks, "expected calibration error", domain=(0.0, top))),
        estimates=every,
        subtitle=f"The expected calibration error by each, and the difference. {BARS}"
        + cut(len(some), len(every), "shifts", "largest"),
        alternative=f"Shifts: {spoken(every, results)}",
        table=shortened_table(heads, cells, range(1, 6)),
    )
