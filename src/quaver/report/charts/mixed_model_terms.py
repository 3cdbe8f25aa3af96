"""The terms of a mixed logistic model, with its random effects and the test of its interactions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import BARS, Figure, cell_name, spoken
from quaver.report.charts.scores import score_chart
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import printed

_MEASURE = "mixed_effects"
_SD, _TOGETHER = f"{_MEASURE}_sd", f"{_MEASURE}_interactions"


@chart(
    title="What each term does to the odds of a correct answer: mixed logistic model",
    section="accuracy",
    kinds=("mcq",),
    measures=(_MEASURE, _SD, _TOGETHER),
    place=70,
    trends=False,
)
def mixed_effects(results: Results) -> Iterator[Figure]:
    """A row for each term, a panel for each model, where a model could be fitted."""
    some, items, together = (
        [one for one in results.of(measure) if one.value is not None]
        for measure in (_MEASURE, _SD, _TOGETHER)
    )
    if not some:
        return
    left_out = [one for one in results.of(_SD) if one.value is None]
    deviations = "; ".join(_of(one, items, results) + printed(one.value or 0.0) for one in items)
    reasons = "; ".join(f"{_of(one, left_out, results)}({_why(one)})" for one in left_out)
    tests = "; ".join(_of(one, together, results) + _test(one) for one in together)
    beside = f" Random effects, standard deviation in log odds: {deviations}." if items else ""
    beside += f" Random effects left out: {reasons}." if reasons else ""
    beside += f" Test of all interactions: {tests}." if together else ""
    yield Figure(
        draw=partial(score_chart, some, results),
        estimates=[*some, *items, *together],
        subtitle="Log odds against the first level of each factor; to the right of the dashed line, answers "
        f"are more often correct. {BARS}{beside}",
        alternative=f"{beside} {spoken(some, results)}".strip(),
    )


def _of(one: Estimate, some: list[Estimate], results: Results) -> str:
    """The name of an estimate among several."""
    columns = [column for column in one.cell if column == "term" or column in varying(some)]
    name = cell_name(one, columns, results, "")
    return f"{name} " if name else ""


def _why(one: Estimate) -> str:
    return (one.reason or "").removeprefix("left out of the model: ")


def _test(one: Estimate) -> str:
    p, draws = one.details.get("p"), one.details.get("draws")
    found = f"χ² = {printed(one.value or 0.0)} with {one.details.get('df', '?')} df"
    found += f", p = {printed(p)}" if isinstance(p, float) else ""
    return found + (f" from {draws} simulated sets of answers" if draws else "")
