"""Charts of accuracy: its spread among prompts, by model size, and labels that may be accepted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from quaver.core.number_format import percent, promised
from quaver.core.records import Estimate
from quaver.core.rows import defined
from quaver.report.charts.chart import BARS, Figure, chart, cut, largest, naming, spoken
from quaver.report.charts.forest import Forest, Mark, draw_forest, rounded_up
from quaver.report.charts.plane import Plane, Spot, draw_plane
from quaver.report.charts.scores import accuracy_chart, score_chart, score_figures
from quaver.report.estimate_index import Results
from quaver.report.page_words import presentation_of
from quaver.report.table_rows import SHARE_ENDS, Column, Table, listed, plain, share, text

_MOST = 40
_MEASURED, _CORRECTED, _NOISE = "as measured", "corrected for noise", "noise alone: mean and 95% of draws"


@chart(
    title="How far accuracy varies between the prompts, and how far noise alone would make it vary",
    section="accuracy",
    kinds=("sensitivity", "audit", "factorial"),
    measures=("spread",),
    place=50,
    trends=False,
)
def spread(results: Results) -> Iterator[Figure]:
    """Spread, corrected spread and noise floor in a row for each cell."""
    estimates = results.known("spread")
    if not estimates:
        return
    some = largest(estimates, _MOST)
    of = naming(estimates, results)
    marks = [mark for estimate in some for mark in _marks(estimate, of.cell(estimate))]
    top = rounded_up(end for mark in marks for end in (mark.value, mark.high or 0.0))
    floors = sum(estimate.details.get("floor_high", -1.0) >= (estimate.number) for estimate in estimates)
    yield Figure(
        draw=partial(
            draw_forest, Forest(marks, "highest minus lowest accuracy", percent=True, domain=(0.0, top))
        ),
        estimates=estimates,
        subtitle="The highest minus the lowest accuracy. Noise alone: the same, where prompts differ "
        f"on each item in a random direction. {BARS}{cut(len(some), len(estimates), 'spreads', 'largest')}",
        alternative=(
            f"{spoken(estimates, results)} In {floors} of {len(estimates)} cells noise alone gives as much."
        ),
        table=_table(estimates, of, results),
    )


def _marks(estimate: Estimate, row: str) -> list[Mark]:
    marks = [Mark(estimate.number, estimate.low, estimate.high, row=row, series=_MEASURED)]
    if isinstance(corrected := estimate.details.get("corrected"), float):
        low, high = estimate.details.get("corrected_interval") or (None, None)
        marks.append(Mark(corrected, low, high, row=row, series=_CORRECTED))
    if isinstance(floor := estimate.details.get("floor"), float):
        marks.append(Mark(floor, floor, estimate.details.get("floor_high"), row=row, series=_NOISE))
    return marks


def _table(estimates: list[Estimate], of: Column, results: Results) -> Table:
    def prompt(key: str) -> Column:
        return text(key, lambda one: results.variant_name(str(one.details.get(key, ""))))

    columns = (
        of,
        share("spread", "value"),
        *SHARE_ENDS,
        share("corrected", "corrected"),
        share("noise", "floor"),
        share("95% of noise", "floor_high"),
        plain("p", "p"),
        prompt("lowest"),
        prompt("highest"),
    )
    return listed(estimates, columns)


_STABILITY = ("intra_pss", "inter_pss", "inter_model")
_SENSITIVITY = ("sensitivity", "consistency")


@chart(
    title="How stable the labels are",
    section="stability",
    kinds=("stability", "audit", "factorial"),
    measures=_STABILITY,
    place=10,
)
def stability(results: Results) -> Iterator[Figure]:
    """A chart for each score of stability."""
    for measure in _STABILITY:
        yield from score_figures(measure, results)


@chart(
    title="How the labels change with the prompt",
    section="sensitivity",
    kinds=("sensitivity", "audit"),
    measures=_SENSITIVITY,
    place=10,
)
def sensitivity(results: Results) -> Iterator[Figure]:
    """A chart of sensitivity and one of consistency."""
    for measure in _SENSITIVITY:
        yield from score_figures(measure, results)


@chart(title="Accuracy", section="accuracy", measures=("accuracy",), place=10)
def accuracy(results: Results) -> Iterator[Figure]:
    """Accuracy beside what guessing and the most frequent label give."""
    yield from score_figures("accuracy", results, accuracy_chart)


@chart(
    title="How many answers have a label, by each evaluator",
    section="answers",
    measures=("compliance",),
    place=40,
)
def valid_rate(results: Results) -> Iterator[Figure]:
    """The share of valid answers, a panel an evaluator."""
    estimates = results.of("compliance")
    if not defined(estimates):
        return
    panel = "evaluator" if len({estimate.cell.get("evaluator") for estimate in estimates}) > 1 else None
    factor = results.grouping_factor
    yield Figure(
        draw=partial(score_chart, estimates, results, factor=factor, panel=panel, domain=(0.0, 1.0)),
        estimates=estimates,
        title="" if panel else presentation_of("compliance").title,
        subtitle=f"Share of valid answers. {BARS}",
    )


@chart(
    title="How many labels can be accepted for each promise",
    section="accuracy",
    measures=("accepted_share",),
    place=90,
    trends=False,
)
def accepted_curve(results: Results) -> Iterator[Figure]:
    """The share of accepted labels over the share of wrong ones that is promised at most."""
    estimates = results.anywhere("accepted_share")
    known = [estimate for estimate in defined(estimates) if "promise" in estimate.cell]
    known.sort(key=lambda estimate: float(estimate.cell["promise"]))
    if len(known) < 2:
        return
    spots = [_spot(float(estimate.cell["promise"]), estimate.number) for estimate in known]
    plane = Plane(
        spots, "promised: at most so many wrong (%)", "labels accepted (%)", joined=True, y_ends=(0.0, 100.0)
    )
    yield Figure(
        draw=partial(draw_plane, plane),
        estimates=known,
        subtitle="Each point is a promise by itself, kept in 95% of gold samples at the default level.",
    )


def _spot(promise: float, share: float) -> Spot:
    said = f"{percent(share)} accepted for at most {promised(promise)} wrong"
    return Spot(100 * promise, 100 * share, about=said)
