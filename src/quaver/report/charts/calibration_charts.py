"""Charts of calibration: confidence against accuracy, and how often a confidence was stated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.chart import (
    BARS,
    MOST_SERIES,
    Figure,
    cell_name,
    chart,
    cut,
    largest,
    names,
    spoken,
)
from quaver.report.charts.forest import Forest, Mark, draw_forest, rounded_up
from quaver.report.charts.grid import Grid, Square, draw_grid
from quaver.report.charts.plane import Guide, Plane, Spot, draw_plane
from quaver.report.charts.theme import about
from quaver.report.estimate_index import Results, varying
from quaver.report.page_words import printed, slug, value_in_words
from quaver.report.table_rows import ENDS, Table, listed, plain, share, tally, text

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
    table = (
        text("of", lambda one: rows[id(one)]),
        plain("ECE, raw", "ece_raw"),
        plain("ECE, normalized", "ece_normalised"),
        plain("shift", "value"),
        *ENDS,
    )
    yield Figure(
        draw=partial(draw_forest, Forest(marks, "expected calibration error", domain=(0.0, top))),
        estimates=every,
        subtitle=f"The expected calibration error by each, and the difference. {BARS}"
        + cut(len(some), len(every), "shifts", "largest"),
        alternative=f"Shifts: {spoken(every, results)}",
        table=listed(some, table),
    )


_DIAGRAM_MOST = 9


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
    if len(every) > _DIAGRAM_MOST:  # each model and evaluator over everything else
        every = _curves(results, (one for one in results.audit if one.measure == "ece")) or every
    if not every:
        return
    columns = varying(every)
    some = every[:_DIAGRAM_MOST]
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
        draw=partial(draw_plane, plane),
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
    bins = [{"of": cell_name(one, columns, results), **bin_} for one in some for bin_ in one.details["curve"]]
    table = (
        text("of", "of"),
        text("bin", lambda one: f"{printed(one['low'])} to {printed(one['high'])}"),
        plain("mean confidence", "confidence"),
        share("correct", "right"),
        share("from", "right_low"),
        share("to", "right_high"),
        tally("answers", lambda one: int(one["n"])),
    )
    return listed(bins, table, most=600)


_LEAST = 3
_ACCURACY_MOST = 1500
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
        for one, accuracy in pairs[:_ACCURACY_MOST]
    ]
    ends = (0.0, 1.0)
    plane = Plane(spots, axis, "share of correct answers", y_ends=ends, percent="y", x_ends=ends)
    ranked = sorted(pairs, key=lambda pair: pair[0].value or 0.0)
    values = " and ".join(
        f"{printed(accuracy.value or 0.0, True)} correct where it is {printed(one.value or 0.0)}"
        for one, accuracy in (ranked[0], ranked[-1])
    )
    table = (
        text("of", lambda pair: cell_name(pair[0], columns, results)),
        plain(measure.replace("_", " "), lambda pair: pair[0].value),
        share("accuracy", lambda pair: pair[1].value),
    )
    return Figure(
        draw=partial(draw_plane, plane),
        estimates=[one for pair in pairs for one in pair],
        name=slug(f"accuracy-against-{measure}"),
        measure="",
        title=f"Accuracy against {other}",
        subtitle="A point for each cell of the study. Stable is not valid: a cell can be stable and wrong. "
        f"Lines are 95% intervals of accuracy.{cut(len(spots), len(pairs), 'cells')}",
        alternative=f"{len(pairs)} cells, {values}.",
        table=listed(pairs, table),
    )


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
        draw=partial(draw_grid, Grid([square for square in squares if square.row in kept])),
        estimates=every,
        subtitle=f"Framed: below {threshold}, where calibration is not reported, because the answers whose "
        f"confidence was found need not be like the others.{cut(len(kept), len(rows), 'rows')}",
        alternative=f"{low} of {len(every)} cells are below {threshold}. {spoken(every, results)}",
    )
