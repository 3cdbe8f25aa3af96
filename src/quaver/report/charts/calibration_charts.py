"""Charts of calibration: confidence against accuracy, and how often a confidence was stated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from quaver.core.records import Estimate
from quaver.core.rows import defined, of_measures
from quaver.report.charts.chart import (
    BARS,
    MOST_SERIES,
    Figure,
    cell_name,
    chart,
    cut,
    largest,
    names,
    naming,
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
    estimates = [
        estimate
        for estimate in results.known("ece_shift")
        if all(isinstance(estimate.details.get(key), float) for key in _SERIES)
    ]
    if not estimates:
        return
    some = largest(estimates, _MOST)
    of = naming(estimates, results)
    marks = [
        Mark(estimate.details[key], row=of.cell(estimate), series=name)
        for estimate in some
        for key, name in _SERIES.items()
    ]
    marks += [
        Mark(estimate.number, estimate.low, estimate.high, row=of.cell(estimate), series=_SHIFT)
        for estimate in some
    ]
    top = rounded_up(end for mark in marks for end in (mark.value, mark.high or 0.0))
    table = (
        of,
        plain("ECE, raw", "ece_raw"),
        plain("ECE, normalized", "ece_normalised"),
        plain("shift", "value"),
        *ENDS,
    )
    yield Figure(
        draw=partial(draw_forest, Forest(marks, "expected calibration error", domain=(0.0, top))),
        estimates=estimates,
        subtitle=f"The expected calibration error by each, and the difference. {BARS}"
        + cut(len(some), len(estimates), "shifts", "largest"),
        alternative=f"Shifts: {spoken(estimates, results)}",
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
    estimates = _curves(results, results.of("ece"))
    if len(estimates) > _DIAGRAM_MOST:  # each model and evaluator over everything else
        estimates = _curves(results, of_measures(results.audit, "ece")) or estimates
    if not estimates:
        return
    columns = varying(estimates)
    some = estimates[:_DIAGRAM_MOST]
    spots = [
        Spot(
            bin_["confidence"],
            bin_["right"],
            bin_.get("right_low"),
            bin_.get("right_high"),
            panel=str(index),
            size=_size(bin_["n"], estimate),
        )
        for index, estimate in enumerate(some)
        for bin_ in estimate.details["curve"]
    ]
    plane = Plane(
        spots,
        "confidence",
        "share correct",
        x_ends=(0.0, 1.0),
        y_ends=(0.0, 1.0),
        percent="xy",
        guides=[Guide("dashed: perfect calibration")],
        names={str(index): _heading(estimate, columns, results) for index, estimate in enumerate(some)},
    )
    yield Figure(
        draw=partial(draw_plane, plane),
        estimates=estimates,
        measure="reliability",
        subtitle=f"A point for each bin of confidence, the larger the more answers it holds. {BARS} Below "
        "the dashed line the model is overconfident. ECE: the expected calibration error, which chance "
        "alone keeps above 0; its interval, in the table of estimates, is of the true error."
        + cut(len(some), len(estimates), "cells"),
        alternative=f"Expected calibration error: {spoken(estimates, results)}",
        table=_table(estimates, results),
    )


def _curves(results: Results, estimates: Iterable[Estimate]) -> list[Estimate]:
    return [estimate for estimate in defined(results.in_order(estimates)) if estimate.details.get("curve")]


def _heading(estimate: Estimate, columns: list[str], results: Results) -> str:
    name = cell_name(estimate, columns, results, "")
    return f"{name} · ECE {printed(estimate.number)}".removeprefix(" · ")


def _size(n: float, estimate: Estimate) -> float:
    most = max(float(bin_["n"]) for bin_ in estimate.details["curve"])
    return round(14 + 70 * float(n) / most, 1)


def _table(estimates: list[Estimate], results: Results) -> Table:
    of = naming(estimates, results)
    bins = [{"of": of.cell(estimate), **bin_} for estimate in estimates for bin_ in estimate.details["curve"]]
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
    known = {estimate.place: estimate for estimate in defined(results.main("accuracy"))}
    for measure in _AXES:
        some = [(estimate, known.get(estimate.place)) for estimate in results.known(measure)]
        pairs = [(estimate, accuracy) for estimate, accuracy in some if accuracy is not None]
        if len(pairs) >= _LEAST and len({estimate.value for estimate, _ in pairs}) > 1:
            yield _figure(measure, pairs, results)


def _figure(measure: str, pairs: Sequence[tuple[Estimate, Estimate]], results: Results) -> Figure:
    other, axis = _AXES[measure]
    columns = varying([estimate for estimate, _ in pairs])
    levels = {
        name: list(dict.fromkeys(estimate.cell.get(name, "") for estimate, _ in pairs)) for name in columns
    }
    by = next((name for name in columns if 1 < len(levels[name]) <= MOST_SERIES), None)
    spots = [
        Spot(
            estimate.number,
            accuracy.number,
            accuracy.low,
            accuracy.high,
            series=" ".join(names(estimate, [by], results)) if by else "",
            about=f"{about(accuracy, results)}; {value_in_words(estimate, results)}",
        )
        for estimate, accuracy in pairs[:_ACCURACY_MOST]
    ]
    ends = (0.0, 1.0)
    plane = Plane(spots, axis, "share of correct answers", y_ends=ends, percent="y", x_ends=ends)
    ranked = sorted(pairs, key=lambda pair: pair[0].number)
    values = " and ".join(
        f"{printed(accuracy.number, True)} correct where it is {printed(estimate.number)}"
        for estimate, accuracy in (ranked[0], ranked[-1])
    )
    table = (
        text("of", lambda pair: cell_name(pair[0], columns, results)),
        plain(measure.replace("_", " "), lambda pair: pair[0].value),
        share("accuracy", lambda pair: pair[1].value),
    )
    return Figure(
        draw=partial(draw_plane, plane),
        estimates=[estimate for pair in pairs for estimate in pair],
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
    estimates = results.of(_MEASURE)  # by the cells that the study names, else variant by variant
    found = estimates or of_measures(results.audit, _MEASURE)
    every = defined(results.in_order(found))
    if not every:
        return
    columns = sorted(varying(every), key=lambda name: len({estimate.cell.get(name) for estimate in every}))
    across = columns[-2] if len(columns) > 1 else None
    if across and len({estimate.cell.get(across) for estimate in every}) > _MOST_COLUMNS:
        across = None
    down = [name for name in columns if name != across]
    squares = []
    for estimate in every:
        below = (estimate.number) < float(estimate.details.get("threshold", 0.8)) - 1e-12
        row = " · ".join(names(estimate, down, results)) or "all answers"
        column = " · ".join(names(estimate, [across], results)) if across else "parse rate"
        squares.append(Square(row, column, estimate.number, printed(estimate.number, True), marked=below))
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
