"""The terms of a mixed logistic model, with what its items and interactions come to."""

from __future__ import annotations

from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.figure import BARS, Figure, cell_name, spoken
from quaver.report.charts.scores import score_chart
from quaver.report.estimate_index import Results, varying
from quaver.report.measure_words import presentation_of
from quaver.report.page_numbers import printed

__all__ = ["mixed_figure"]

_MEASURE = "mixed_effects"
_SD, _TOGETHER = f"{_MEASURE}_sd", f"{_MEASURE}_interactions"


def mixed_figure(results: Results) -> Figure | None:
    """A row a term, a panel a model; None where no model could be fitted."""
    some = [one for one in results.of(_MEASURE) if one.value is not None]
    if not some:
        return None
    items = [one for one in results.of(_SD) if one.value is not None]
    together = [one for one in results.of(_TOGETHER) if one.value is not None]
    title = presentation_of(_MEASURE).title
    told = [f"{_named(one, items, results)}{printed(one.value or 0.0)}" for one in items]
    said = f" Standard deviation over items, in log odds: {'; '.join(told)}." if told else ""
    told = [f"{_named(one, together, results)}{_test(one)}" for one in together]
    said += f" Test of the interactions together: {'; '.join(told)}." if told else ""
    return Figure(
        "mixed-effects",
        _MEASURE,
        "accuracy",
        title,
        f"Log odds against the first level of each factor; right of the dashed line, right more often. {BARS}"
        f"{said}",
        partial(score_chart, some, results),
        [*some, *items, *together],
        f"{title}.{said} {spoken(some, results)}",
        also=(_SD, _TOGETHER),
    )


def _named(one: Estimate, some: list[Estimate], results: Results) -> str:
    name = cell_name(one, varying(some), results, "")
    return f"{name} " if name else ""


def _test(one: Estimate) -> str:
    p = one.details.get("p")
    told = f"χ² = {printed(one.value or 0.0)} with {one.details.get('df', '?')} df"
    return told + (f", p = {printed(p)}" if isinstance(p, float) else "")
