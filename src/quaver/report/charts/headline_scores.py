"""The scores that open a section, and how many answers have a label."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from quaver.report.charts.chart import chart
from quaver.report.charts.figure import BARS, Figure
from quaver.report.charts.scores import accuracy_chart, score_chart, score_figures
from quaver.report.estimate_index import Results
from quaver.report.measure_words import presentation_of

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
    some = results.of("compliance")
    if not any(one.value is not None for one in some):
        return
    panel = "evaluator" if len({one.cell.get("evaluator") for one in some}) > 1 else None
    factor = results.grouping_factor
    yield Figure(
        draw=partial(score_chart, some, results, factor=factor, panel=panel, domain=(0.0, 1.0)),
        estimates=some,
        title="" if panel else presentation_of("compliance").title,
        subtitle=f"Share of valid answers. {BARS}",
    )
