"""How many labels can be accepted for each share of wrong ones that is promised."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from quaver.core.number_format import percent
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import Figure
from quaver.report.charts.plane import Plane, Spot, draw
from quaver.report.estimate_index import Results


@chart(
    title="How many labels can be accepted for each promise",
    section="accuracy",
    measures=("accepted_share",),
    place=90,
    trends=False,
)
def accepted_curve(results: Results) -> Iterator[Figure]:
    """The share of accepted labels over the share of wrong ones that is promised at most."""
    every = results.anywhere("accepted_share")
    known = [one for one in every if "promise" in one.cell and one.value is not None]
    known.sort(key=lambda one: float(one.cell["promise"]))
    if len(known) < 2:
        return
    spots = [_spot(float(one.cell["promise"]), one.value or 0.0) for one in known]
    plane = Plane(
        spots, "promised: at most so many wrong (%)", "labels accepted (%)", joined=True, y_ends=(0.0, 100.0)
    )
    yield Figure(
        draw=partial(draw, plane),
        estimates=known,
        subtitle="Each point is a promise by itself, kept in 95% of gold samples at the default level.",
    )


def _spot(promise: float, share: float) -> Spot:
    said = f"{percent(share)} accepted for at most {percent(promise)} wrong"
    return Spot(100 * promise, 100 * share, about=said)
