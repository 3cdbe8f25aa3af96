"""Each wording's score against its distance from the original wording, as far as that was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from quaver.records import Estimate
from quaver.report.charts.theme import DATA, PAPER, SOFT, finished, inline
from quaver.report.results import Results

__all__ = ["distance_chart", "placed"]

_HEIGHT = 260
_MARGIN = 70


def distance_chart(
    estimates: Sequence[Estimate],
    results: Results,
    *,
    axis: str,
    width: int = 720,
    title: str = "",
    subtitle: str = "",
) -> Any:
    """A dot for each wording, hollow where it is flagged, with its interval.

    Args:
        estimates: Of one measure, for single variants.
        results: The study they are of.
        axis: What the measure is called on its axis.
        width: Of the whole, in pixels.
        title: Its title; none where the page says it.
        subtitle: What the marks mean.

    Returns:
        An ``altair`` chart, or None where no variant has a distance.
    """
    rows = [
        {
            "distance": distance,
            "value": one.value,
            "low": one.value if one.low is None else one.low,
            "high": one.value if one.high is None else one.high,
            "fill": PAPER if flagged else DATA[0],
        }
        for one, distance, flagged in placed(estimates, results)
    ]
    if not rows:
        return None
    x = alt.X(
        "distance:Q",
        scale=alt.Scale(domainMin=0, nice=True),
        axis=alt.Axis(title="distance from the original wording", titleAnchor="start", tickCount=6),
    )
    y = alt.Y(
        "value:Q", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(title=axis, tickCount=5, grid=True)
    )
    base = alt.Chart(inline(rows))
    lines = base.mark_rule(color=SOFT, strokeWidth=1.2, opacity=0.7).encode(
        x=x, y=alt.Y("low:Q"), y2="high:Q"
    )
    dots = base.mark_point(size=46, opacity=1, strokeWidth=1.4).encode(
        x=x, y=y, color=alt.value(DATA[0]), fill=alt.Fill("fill:N", scale=None)
    )
    chart = alt.layer(lines, dots).properties(width=width - _MARGIN, height=_HEIGHT)
    return finished(chart, width=width, title=title, subtitle=subtitle)


def placed(estimates: Sequence[Estimate], results: Results) -> list[tuple[Estimate, float, bool]]:
    """The estimates of variants whose distance was measured: with the distance, and whether it is flagged."""
    covariates = {str(one["id"]): one.get("covariates", {}) for one in results.variants}
    found = []
    for one in estimates:
        told = covariates.get(one.cell.get("variant", ""), {})
        if one.value is not None and isinstance(told.get("distance"), int | float):
            found.append((one, float(told["distance"]), bool(told.get("flagged"))))
    return found
