"""How often stated confidence was found, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from quaver.report.charts.chart import chart
from quaver.report.charts.figure import Figure, cut, names, spoken
from quaver.report.charts.grid import Grid, Square, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import printed

_MEASURE = "verbal_calibration_parse_rate"
_MOST_ROWS = 60
_MOST_COLUMNS = 8


@chart(
    title="How often stated confidence was found",
    section="answers",
    kinds=("audit",),
    measures=(_MEASURE,),
    place=30,
)
def parse_rates(results: Results) -> Iterator[Figure]:
    """A matrix of the parse rates."""
    asked = results.of(_MEASURE)  # by the cells that the study names, else variant by variant
    found = asked or [one for one in results.audit if one.measure == _MEASURE]
    every = [one for one in results.in_order(found) if one.value is not None]
    if not every:
        return
    columns = sorted(varying(every), key=lambda name: len({one.cell.get(name) for one in every}))
    across = columns[-2] if len(columns) > 1 else None
    if across and len({one.cell.get(across) for one in every}) > _MOST_COLUMNS:
        across = None
    down = [name for name in columns if name != across]
    squares = []
    for one in every:
        below = (one.value or 0.0) < float(one.details.get("threshold", 0.8)) - 1e-12
        row = " · ".join(names(one, down, results)) or "all answers"
        column = " · ".join(names(one, [across], results)) if across else "parse rate"
        squares.append(Square(row, column, one.value or 0.0, printed(one.value or 0.0, True), marked=below))
    rows = list(dict.fromkeys(square.row for square in squares))
    kept = set(rows[:_MOST_ROWS])
    low = sum(square.marked for square in squares)
    threshold = printed(float(every[0].details.get("threshold", 0.8)), True)
    yield Figure(
        draw=partial(draw, Grid([square for square in squares if square.row in kept])),
        estimates=every,
        subtitle=f"Framed: below {threshold}, where calibration is not reported, because the answers whose "
        f"confidence was found need not be like the others.{cut(len(kept), len(rows), 'rows')}",
        alternative=f"{low} of {len(every)} cells are below {threshold}. {spoken(every, results)}",
    )
