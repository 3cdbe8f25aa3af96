"""Two numbers against each other: stability and repeats, sensitivity and consistency."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from quaver.core.records import Estimate
from quaver.core.rows import of_measures
from quaver.report.charts.chart import MOST_SERIES, Figure, cell_name, cut
from quaver.report.charts.forms import Reference, plane, spot
from quaver.report.estimate_index import Results, varying

Words = Mapping[str, Any]
_UNIT = (0.0, 1.0)
_BAR = [Reference(0.8, "dashed: 0.8")]


def intra_pss_repeats(words: Words, results: Results) -> Iterator[Figure]:
    """The curves of both kinds side by side, where one of them has two points."""
    kinds = {"intra_pss_cumulative": "the first k repeats", "intra_pss_adjacent": "repeat k and the next"}
    estimates = [one for kind in kinds for one in results.known(kind) if "repeats" in one.cell]
    columns = [name for name in varying(estimates) if name != "repeats"]
    places = {kind: _turns(of_measures(estimates, kind)) for kind in kinds}
    if max(map(len, places.values())) < 2:
        return
    named = {id(one): cell_name(one, columns, results, "") for one in estimates}
    series = list(dict.fromkeys(named.values()))
    shown = series[:MOST_SERIES]
    rows = [
        spot(
            places[one.measure][one.cell["repeats"]],
            one,
            results,
            panel=one.measure,
            series=named[id(one)],
            size=22,
        )
        for one in estimates
        if named[id(one)] in shown
    ]
    rows.sort(key=lambda row: (list(kinds).index(row["panel"]), row["x"]))
    look: dict[str, Any] = {
        "joined": True,
        "y_ends": _UNIT,
        "references": _BAR,
        "order": shown,
        "names": kinds,
    }
    yield Figure(
        draw=partial(plane, rows, "k", "Krippendorff’s α", **look),
        estimates=estimates,
        subtitle=words["subtitle"] + cut(len(shown), len(series), "lines"),
    )


def _turns(estimates: list[Estimate]) -> dict[str, int]:
    """The place of each set of repeats: its number, or its turn where it has none."""
    every = list(dict.fromkeys(estimate.cell["repeats"] for estimate in estimates))
    first = [name.split(" and ")[0] for name in every]
    if all(one.isdecimal() for one in first) and len(set(first)) == len(first):
        return {name: int(one) for name, one in zip(every, first, strict=True)}
    return {name: index for index, name in enumerate(every)}
