"""How often each prompt gives another label than the others: the chart of the first screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import Figure, cut
from quaver.report.charts.forest import Forest, Mark, draw
from quaver.report.charts.mark_words import about
from quaver.report.estimate_index import Results

_MEASURE = "deviation_share"
_MOST_ROWS = 20
"""Of more prompts, those stand in one row that share a level of a factor, or only the ends are drawn."""

_STEP, _HIGH = 23.0, 280.0
"""A row's least height, and the height that few rows fill, in pixels."""


@chart(
    title="How far the label depends on the prompt",
    section="finding",
    measures=(_MEASURE,),
    place=5,
    trends=False,
)
def prompts(results: Results) -> Iterator[Figure]:
    """A row a prompt; where there are too many, a row a level of a factor, with a dot a prompt."""
    every = prompts_drawn(results)
    if not every:
        return
    factor = _factor(results, len(every))
    shown = every
    if len(every) > _MOST_ROWS and factor is None:
        shown = every[: _MOST_ROWS // 2] + every[-_MOST_ROWS // 2 :]
    ends = f"the {_MOST_ROWS // 2} lowest and {_MOST_ROWS // 2} highest"
    models = " Over all models." if len(results.models) > 1 else ""
    lines = "Lines are 95% intervals." if factor is None else "Each dot is a prompt."
    yield Figure(
        draw=partial(draw, _forest(shown, results, factor)),
        estimates=every,
        subtitle="How often a prompt’s answer differs from the label that the same text gets most often, "
        f"or has no label. All on the left: the prompts agree. {lines}{models}"
        f"{cut(len(shown), len(every), 'prompts', ends)}",
    )


def prompts_drawn(results: Results) -> list[Estimate]:
    """The estimates of single prompts, the lowest first; none where there is nothing to compare."""
    some = [one for one in results.anywhere(_MEASURE) if "variant" in one.cell and one.value is not None]
    return sorted(some, key=lambda one: one.value or 0.0) if len(some) > 1 else []


def _factor(results: Results, count: int) -> str | None:
    """The factor whose levels are the rows, where there are too many prompts for a row each."""
    if count <= _MOST_ROWS:
        return None
    some = [name for name, levels in results.factors.items() if len(levels) <= _MOST_ROWS]
    return max(some, key=lambda name: len(results.factors[name]), default=None)


def _forest(shown: Sequence[Estimate], results: Results, factor: str | None) -> Forest:
    marks = []
    for one in shown:
        variant, value, described = one.cell["variant"], one.value or 0.0, about(one, results)
        if factor is None:
            row = results.variant_name(variant)
            marks.append(Mark(value, one.low, one.high, row=row, about=described))
        else:
            row = results.factor_levels.get(variant, {}).get(factor, "")
            marks.append(Mark(value, row=row, group=factor, about=described))
    if factor is not None:
        levels = results.factors[factor]
        marks.sort(key=lambda mark: levels.index(mark.row) if mark.row in levels else len(levels))
    step = max(_STEP, min(2 * _STEP, _HIGH / len({mark.row for mark in marks})))
    return Forest(marks, "answers with another label", percent=True, domain=(0.0, 1.0), step=step)
