"""Stability as repeats add up, and of each repeat with the next."""

from __future__ import annotations

from quaver.core.records import Estimate
from quaver.report.charts.figure import MOST_SERIES, Figure, cell_name, spoken
from quaver.report.charts.plane import Guide, Plane, Spot, draw
from quaver.report.estimate_index import Results, varying

__all__ = ["repeats_figure"]

_KINDS = {
    "intra_pss_cumulative": "the first k repeats",
    "intra_pss_adjacent": "repeat k and the next",
}


def repeats_figure(results: Results) -> Figure | None:
    """The curves of both kinds side by side; None where neither has two points."""
    some = [one for kind in _KINDS for one in results.in_order(results.main(kind)) if one.value is not None]
    columns = [name for name in varying(some) if name != "repeats"]
    places = {kind: _places([one for one in some if one.measure == kind]) for kind in _KINDS}
    if max((len(of) for of in places.values()), default=0) < 2:
        return None
    series = list(dict.fromkeys(cell_name(one, columns, results, "") for one in some))
    shown = series[:MOST_SERIES]
    spots = []
    for one in sorted(some, key=lambda one: places[one.measure][one.cell["repeats"]]):
        name = cell_name(one, columns, results, "")
        if name in shown:
            x = places[one.measure][one.cell["repeats"]]
            spots.append(Spot(x, one.value or 0.0, one.low, one.high, one.measure, name, size=22))
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
    title = "Stability of the same prompt as repeats add up, and from one repeat to the next"
    cut = f" The first {len(shown)} of {len(series)} lines are drawn." if len(series) > len(shown) else ""
    return Figure(
        "intra-pss-repeats",
        "intra_pss_cumulative",
        "stability",
        title,
        "Left, a curve that has settled says that more repeats change nothing; right, a trend says that the "
        f"model drifts. Bands are 95% intervals.{cut}",
        lambda **how: draw(plane, **how),
        some,
        f"{title}. {spoken(some, results)}",
        also=("intra_pss_adjacent",),
    )


def _places(some: list[Estimate]) -> dict[str, int]:
    """Where each set of repeats stands: at its number, or, where it is none, at its turn."""
    names = list(dict.fromkeys(one.cell["repeats"] for one in some))
    first = [name.split(" and ")[0] for name in names]
    if all(one.isdecimal() for one in first) and len(set(first)) == len(first):
        return {name: int(one) for name, one in zip(names, first, strict=True)}
    return {name: at for at, name in enumerate(names)}
