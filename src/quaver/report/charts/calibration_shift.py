"""Calibration error of raw and of normalised token confidence, side by side."""

from __future__ import annotations

from functools import partial

from quaver.report.charts.figure import BARS, Figure, cell_name, spoken
from quaver.report.charts.forest import Forest, Mark, draw, rounded_up
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import number
from quaver.report.table_rows import Table

__all__ = ["calibration_shift_figure"]

_MOST = 60
_SERIES = {
    "ece_raw": "raw: probability in the whole vocabulary",
    "ece_normalised": "normalised over the labels",
}
_SHIFT = "how far they lie apart"


def calibration_shift_figure(results: Results) -> Figure | None:
    """Both errors a row; None where there are none."""
    every = [
        one
        for one in results.in_order(results.main("ece_shift"))
        if one.value is not None and all(isinstance(one.details.get(key), float) for key in _SERIES)
    ]
    if not every:
        return None
    some = sorted(every, key=lambda one: -(one.value or 0.0))[:_MOST] if len(every) > _MOST else every
    columns = varying(every)
    marks = [
        Mark(one.details[key], row=cell_name(one, columns, results), series=name)
        for one in some
        for key, name in _SERIES.items()
    ]
    marks += [
        Mark(one.value or 0.0, one.low, one.high, row=cell_name(one, columns, results), series=_SHIFT)
        for one in some
    ]
    top = rounded_up(end for mark in marks for end in (mark.value, mark.high or 0.0))
    title = "How far normalising token confidence moves the calibration error"
    cut = f" The {_MOST} largest shifts of {len(every)} are drawn." if len(every) > _MOST else ""
    rows = tuple(
        (
            cell_name(one, columns, results),
            *(number(one.details[key]) for key in _SERIES),
            number(one.value or 0.0),
            *(number(end) if end is not None else "" for end in (one.low, one.high)),
        )
        for one in some
    )
    heads = ("of", "ECE, raw", "ECE, normalised", "shift", "from", "to")
    return Figure(
        "calibration-shift",
        "ece_shift",
        "accuracy",
        title,
        f"Expected calibration error by each, and how far they lie apart. {BARS}{cut}",
        partial(draw, Forest(marks, "expected calibration error", domain=(0.0, top))),
        every,
        f"{title}. Shifts: {spoken(every, results)}",
        table=Table(heads, rows, frozenset(range(1, 6))),
    )
