"""Accuracy against entropy and stability of repeated answers: does what repeats itself tend to be right?"""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.figure import MOST_SERIES, Figure, cell_name, names
from quaver.report.charts.plane import Plane, Spot, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import number, printed
from quaver.report.plain_text import slug
from quaver.report.table_rows import Table

__all__ = ["against_accuracy_figures"]

_LEAST = 3
_MOST = 1500
_AXES = {
    "answer_entropy": ("the entropy of repeated answers", "entropy of repeated answers, in bits"),
    "strict_stability": ("strict stability", "share of items always answered alike"),
    "intra_pss": ("stability over repeats", "Krippendorff’s α over repeats"),
}


def against_accuracy_figures(results: Results) -> list[Figure]:
    """A figure for each measure of repeated answers that was taken in the cells of accuracy."""
    right = {frozenset(one.cell.items()): one for one in results.main("accuracy") if one.value is not None}
    made = [_figure(measure, right, results) for measure in _AXES]
    return [figure for figure in made if figure is not None]


def _figure(
    measure: str, right: dict[frozenset[tuple[str, str]], Estimate], results: Results
) -> Figure | None:
    pairs = [
        (one, right[frozenset(one.cell.items())])
        for one in results.in_order(results.main(measure))
        if one.value is not None and frozenset(one.cell.items()) in right
    ]
    if len(pairs) < _LEAST or len({one.value for one, _ in pairs}) < 2:
        return None
    told, axis = _AXES[measure]
    columns = varying([one for one, _ in pairs])
    levels = {name: list(dict.fromkeys(one.cell.get(name, "") for one, _ in pairs)) for name in columns}
    by = next((name for name in columns if 1 < len(levels[name]) <= MOST_SERIES), None)
    spots = [
        Spot(
            one.value or 0.0,
            other.value or 0.0,
            other.low,
            other.high,
            series=" ".join(names(one, [by], results)) if by else "",
        )
        for one, other in pairs[:_MOST]
    ]
    up = (0.0, 1.0)
    plane = Plane(spots, axis, "share of right answers", y_ends=up, percent="y", x_ends=(0.0, 1.0))
    title = f"Accuracy against {told}"
    cut = f" {_MOST} of {len(pairs)} cells are drawn." if len(pairs) > _MOST else ""
    ends = sorted(pairs, key=lambda pair: pair[0].value or 0.0)
    spoken = " and ".join(
        f"{printed(other.value or 0.0, True)} right where it is {printed(one.value or 0.0)}"
        for one, other in (ends[0], ends[-1])
    )
    return Figure(
        slug(f"accuracy-against-{measure}"),
        "",
        "accuracy",
        title,
        f"A point a cell of the study. Stable is not valid: a cell may be at the same time stable and wrong. "
        f"Lines are 95% intervals of accuracy.{cut}",
        partial(draw, plane),
        [one for pair in pairs for one in pair],
        f"{title}: {len(pairs)} cells, {spoken}.",
        table=_table(pairs, columns, measure, results),
    )


def _table(
    pairs: list[tuple[Estimate, Estimate]], columns: list[str], measure: str, results: Results
) -> Table:
    rows: list[tuple[str | Markup, ...]] = []
    for one, other in pairs[:400]:
        cells = (cell_name(one, columns, results), number(one.value or 0.0))
        rows.append((*cells, number(other.value or 0.0, percent=True)))
    left = len(pairs) - 400
    note = f"{left} more rows are in estimates.csv." if left > 0 else ""
    return Table(("of", measure.replace("_", " "), "accuracy"), tuple(rows), frozenset({1, 2}), note)
