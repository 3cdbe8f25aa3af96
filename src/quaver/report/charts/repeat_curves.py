"""Stability as repeats add up, and of each repeat with the next."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import MOST_SERIES, Figure, cell_name, cut
from quaver.report.charts.mark_words import about
from quaver.report.charts.plane import Guide, Plane, Spot, draw
from quaver.report.estimate_index import Results, varying

_KINDS = {"intra_pss_cumulative": "the first k repeats", "intra_pss_adjacent": "repeat k and the next"}


@chart(
    title="Stability of the same prompt as repeats add up, and from one repeat to the next",
    section="stability",
    kinds=("stability",),
    measures=("intra_pss_cumulative", "intra_pss_adjacent"),
    place=30,
)
def intra_pss_repeats(results: Results) -> Iterator[Figure]:
    """The curves of both kinds side by side, where one of them has two points."""
    some = [one for kind in _KINDS for one in results.known(kind) if "repeats" in one.cell]
    columns = [name for name in varying(some) if name != "repeats"]
    places = {kind: _places([one for one in some if one.measure == kind]) for kind in _KINDS}
    if max((len(of) for of in places.values()), default=0) < 2:
        return
    series = list(dict.fromkeys(cell_name(one, columns, results, "") for one in some))
    shown = series[:MOST_SERIES]
    spots = []
    for one in sorted(some, key=lambda one: places[one.measure][one.cell["repeats"]]):
        name = cell_name(one, columns, results, "")
        if name in shown:
            x = places[one.measure][one.cell["repeats"]]
            spots.append(
                Spot(
                    x,
                    one.value or 0.0,
                    one.low,
                    one.high,
                    one.measure,
                    name,
                    size=22,
                    about=about(one, results),
                )
            )
    spots.sort(key=lambda spot: list(_KINDS).index(spot.panel))
    plane = Plane(
        spots,
        "k",
        "Krippendorff’s α",
        joined=True,
        y_ends=(0.0, 1.0),
        guides=[Guide("dashed: 0.8", 0.8)],
        order=shown,
        names=_KINDS,
    )
    yield Figure(
        draw=partial(draw, plane),
        estimates=some,
        subtitle="Left: where the curve is flat, more repeats change nothing. Right: a trend shows that the "
        f"model drifts. Bands are 95% intervals.{cut(len(shown), len(series), 'lines')}",
    )


def _places(some: list[Estimate]) -> dict[str, int]:
    """The place of each set of repeats: its number, or its turn where it has none."""
    names = list(dict.fromkeys(one.cell["repeats"] for one in some))
    first = [name.split(" and ")[0] for name in names]
    if all(one.isdecimal() for one in first) and len(set(first)) == len(first):
        return {name: int(one) for name, one in zip(names, first, strict=True)}
    return {name: at for at, name in enumerate(names)}
