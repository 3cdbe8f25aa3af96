"""In which cells stated confidence was found."""

from __future__ import annotations

from functools import partial

from quaver.report.charts.figure import Figure, names, spoken
from quaver.report.charts.grid import Grid, Square, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import printed

__all__ = ["parse_rate_figure"]

_MEASURE = "verbal_calibration_parse_rate"
_MOST_ROWS = 60
_MOST_COLUMNS = 8


def parse_rate_figure(results: Results) -> Figure | None:
    """A matrix of the parse rates; None where there are none."""
    asked = results.of(_MEASURE)  # by the cells that the study names, else variant by variant
    found = asked or [one for one in results.audit if one.measure == _MEASURE]
    every = [one for one in results.in_order(found) if one.value is not None]
    if not every:
        return None
    columns = sorted(varying(every), key=lambda name: len({one.cell.get(name) for one in every}))
    across = columns[-2] if len(columns) > 1 else None
    if across and len({one.cell.get(across) for one in every}) > _MOST_COLUMNS:
        across = None
    down = [name for name in columns if name != across]
    squares, low = [], 0
    for one in every:
        below = (one.value or 0.0) < float(one.details.get("threshold", 0.8)) - 1e-12
        low += below
        row = " · ".join(names(one, down, results)) or "all answers"
        column = " · ".join(names(one, [across], results)) if across else "parse rate"
        squares.append(Square(row, column, one.value or 0.0, printed(one.value or 0.0, True), marked=below))
    rows = list(dict.fromkeys(square.row for square in squares))
    kept = set(rows[:_MOST_ROWS])
    threshold = float(every[0].details.get("threshold", 0.8))
    title = "In how many answers the stated confidence was found"
    cut = f" The first {_MOST_ROWS} of {len(rows)} rows are drawn." if len(rows) > _MOST_ROWS else ""
    return Figure(
        "parse-rates",
        _MEASURE,
        "answers",
        title,
        f"Framed: below {printed(threshold, True)}, where calibration is not reported, since what was read "
        f"is no picture of the rest.{cut}",
        partial(draw, Grid([square for square in squares if square.row in kept])),
        every,
        f"{title}: {low} of {len(every)} cells are below {printed(threshold, True)}. "
        f"{spoken(every, results)}",
    )
