"""Each paraphrase's stability against how far it is from the original."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import polars as pl

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import BARS, MOST_SERIES, Figure, cell_name
from quaver.report.charts.mark_words import about
from quaver.report.charts.plane import Guide, Plane, Spot, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.plain_text import slug

_KINDS = {
    "paraphrase_stability": ("Stability of each paraphrase", "α over the paraphrase’s repeats"),
    "original_agreement": (
        "Agreement of each paraphrase with the original",
        "α with the original paraphrase",
    ),
}
_DOUBTED = "meaning in doubt"
_MOST = 1500


@chart(
    title="Each paraphrase against its distance from the original",
    section="stability",
    kinds=("stability",),
    measures=("paraphrase_stability", "original_agreement"),
    place=40,
)
def paraphrase_distances(results: Results) -> Iterator[Figure]:
    """A figure for each measure of single paraphrases, where their distances are known."""
    distances = _distances(results)
    if len(set(distances.values())) > 1:
        for measure in _KINDS:
            yield from _figure(measure, results, distances)


def _distances(results: Results) -> dict[str, float]:
    found = {str(one["id"]): one.get("covariates", {}).get("distance") for one in results.variants}
    frame = results.annotations
    if not any(value is not None for value in found.values()) and {"variant", "distance"} <= set(
        frame.columns
    ):
        if not frame["distance"].dtype.is_numeric():
            return {}
        pairs = frame.select(pl.col("variant").cast(pl.String), "distance").unique().drop_nulls()
        found = dict(pairs.iter_rows())
    return {name: float(value) for name, value in found.items() if isinstance(value, (int, float))}


def _figure(measure: str, results: Results, known: dict[str, float]) -> Iterator[Figure]:
    every = (one for one in results.main(measure) if one.value is not None)
    some = [one for one in every if one.cell.get("variant") in known][:_MOST]
    if len({known[one.cell["variant"]] for one in some}) < 2:
        return
    columns = [name for name in varying(some) if name != "variant"]
    flagged = {str(one["id"]) for one in results.variants if one.get("covariates", {}).get("flagged")}

    def series(one: Estimate) -> str:
        name = cell_name(one, columns, results, "")
        doubted = _DOUBTED if one.cell["variant"] in flagged else "meaning kept"
        return " · ".join(part for part in (name, doubted if flagged else "") if part)

    named = list(dict.fromkeys(series(one) for one in some))[:MOST_SERIES]
    name, axis = _KINDS[measure]
    spots = [
        Spot(
            known[one.cell["variant"]],
            one.value or 0.0,
            one.low,
            one.high,
            series=series(one),
            about=about(one, results),
        )
        for one in some
        if series(one) in named
    ]
    plane = Plane(
        spots,
        "distance from the original paraphrase",
        axis,
        x_ends=(0.0, max(0.1, *(spot.x for spot in spots))),
        y_ends=(0.0, 1.0),
        guides=[Guide("dashed: 0.8", 0.8)],
        order=named,
    )
    title = f"{name} against its distance from the original"
    yield Figure(
        draw=partial(draw, plane),
        estimates=some,
        name=f"{slug(measure)}-by-distance",
        measure=measure,
        title=title,
        subtitle=f"A dot for each paraphrase. {BARS} Distance: 1 minus similarity ({_measured(results)}).",
        covers=(measure,),
    )


def _measured(results: Results) -> str:
    """How the similarity of meaning was measured."""
    methods = {
        str(level["meaning"]["by"])
        for variant in results.variants
        for level in variant.get("origin", {}).values()
        if "meaning" in level
    }
    return " or ".join(sorted(methods)) or "of meaning"
