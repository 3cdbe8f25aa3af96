"""Accuracy against entropy and stability of repeated answers: are stable answers more often correct?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import MOST_SERIES, Figure, cell_name, cut, names
from quaver.report.charts.mark_words import about
from quaver.report.charts.plane import Plane, Spot, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.estimate_words import value_in_words
from quaver.report.page_numbers import cell, printed
from quaver.report.plain_text import slug
from quaver.report.table_rows import Table, shortened_table

_LEAST = 3
_MOST = 1500
_AXES = {
    "answer_entropy": ("the entropy of repeated answers", "entropy of repeated answers, in bits"),
    "strict_stability": ("strict stability", "share of items with the same answer every time"),
    "intra_pss": ("stability over repeats", "Krippendorff’s α over repeats"),
}


@chart(
    title="Accuracy against the stability of repeated answers",
    section="accuracy",
    kinds=("stability", "mcq"),
    measures=("accuracy", *_AXES),
    covers=(),
    place=60,
)
def stable_and_correct(results: Results) -> Iterator[Figure]:
    """A figure for each measure of repeated answers that was taken in the cells of accuracy."""
    known = {frozenset(one.cell.items()): one for one in results.main("accuracy") if one.value is not None}
    for measure in _AXES:
        some = [(one, known.get(frozenset(one.cell.items()))) for one in results.known(measure)]
        pairs = [(one, accuracy) for one, accuracy in some if accuracy is not None]
        if len(pairs) >= _LEAST and len({one.value for one, _ in pairs}) > 1:
            yield _figure(measure, pairs, results)


def _figure(measure: str, pairs: Sequence[tuple[Estimate, Estimate]], results: Results) -> Figure:
    other, axis = _AXES[measure]
    columns = varying([one for one, _ in pairs])
    levels = {name: list(dict.fromkeys(one.cell.get(name, "") for one, _ in pairs)) for name in columns}
    by = next((name for name in columns if 1 < len(levels[name]) <= MOST_SERIES), None)
    spots = [
        Spot(
            one.value or 0.0,
            accuracy.value or 0.0,
            accuracy.low,
            accuracy.high,
            series=" ".join(names(one, [by], results)) if by else "",
            about=f"{about(accuracy, results)}; {value_in_words(one, results)}",
        )
        for one, accuracy in pairs[:_MOST]
    ]
    ends = (0.0, 1.0)
    plane = Plane(spots, axis, "share of correct answers", y_ends=ends, percent="y", x_ends=ends)
    ranked = sorted(pairs, key=lambda pair: pair[0].value or 0.0)
    values = " and ".join(
        f"{printed(accuracy.value or 0.0, True)} correct where it is {printed(one.value or 0.0)}"
        for one, accuracy in (ranked[0], ranked[-1])
    )
    return Figure(
        draw=partial(draw, plane),
        estimates=[one for pair in pairs for one in pair],
        name=slug(f"accuracy-against-{measure}"),
        measure="",
        title=f"Accuracy against {other}",
        subtitle="A point for each cell of the study. Stable is not valid: a cell can be stable and wrong. "
        f"Lines are 95% intervals of accuracy.{cut(len(spots), len(pairs), 'cells')}",
        alternative=f"{len(pairs)} cells, {values}.",
        table=_table(pairs, columns, measure, results),
    )


def _table(
    pairs: Sequence[tuple[Estimate, Estimate]], columns: list[str], measure: str, results: Results
) -> Table:
    rows = [
        (cell_name(one, columns, results), cell(one.value), cell(accuracy.value, percent=True))
        for one, accuracy in pairs
    ]
    return shortened_table(("of", measure.replace("_", " "), "accuracy"), rows, {1, 2})
