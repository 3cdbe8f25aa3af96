"""The terms of a mixed logistic model, with the spread of its items and the test of its interactions."""

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
    deviations = "; ".join(_of(one, items, results) + printed(one.value or 0.0) for one in items)
    tests = "; ".join(_of(one, together, results) + _test(one) for one in together)
    beside = f" Standard deviation over items, in log odds: {deviations}." if items else ""
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
    name = cell_name(one, varying(some), results, "")
    return f"{name} " if name else ""


def _test(one: Estimate) -> str:
    p = one.details.get("p")
    found = f"χ² = {printed(one.value or 0.0)} with {one.details.get('df', '?')} df"
    return found + (f", p = {printed(p)}" if isinstance(p, float) else "")
