"""Charts of stability: over repeats and paraphrases, by source of variance, prompt by prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl

from quaver.core.records import Estimate
from quaver.core.rows import defined, of_measures, ranked
from quaver.report.charts.chart import (
    BARS,
    MOST_SERIES,
    Figure,
    cell_name,
    chart,
    cut,
    first_and_last,
)
from quaver.report.charts.forest import Forest, Mark, draw_forest
from quaver.report.charts.plane import Guide, Plane, Spot, draw_plane
from quaver.report.charts.theme import about
from quaver.report.estimate_index import Results, varying
from quaver.report.page_words import in_words, slug

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
    estimates = [
        estimate for kind in _KINDS for estimate in results.known(kind) if "repeats" in estimate.cell
    ]
    columns = [name for name in varying(estimates) if name != "repeats"]
    places = {kind: _places(of_measures(estimates, kind)) for kind in _KINDS}
    if max((len(of) for of in places.values()), default=0) < 2:
        return
    series = list(dict.fromkeys(cell_name(estimate, columns, results, "") for estimate in estimates))
    shown = series[:MOST_SERIES]
    spots = []
    for estimate in sorted(
        estimates, key=lambda estimate: places[estimate.measure][estimate.cell["repeats"]]
    ):
        name = cell_name(estimate, columns, results, "")
        if name in shown:
            x = places[estimate.measure][estimate.cell["repeats"]]
            spots.append(Spot.of(x, estimate, results, panel=estimate.measure, series=name, size=22))
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
        draw=partial(draw_plane, plane),
        estimates=estimates,
        subtitle="Left: where the curve is flat, more repeats change nothing. Right: a trend shows that the "
        f"model drifts. Bands are 95% intervals.{cut(len(shown), len(series), 'lines')}",
    )


def _places(estimates: list[Estimate]) -> dict[str, int]:
    """The place of each set of repeats: its number, or its turn where it has none."""
    names = list(dict.fromkeys(estimate.cell["repeats"] for estimate in estimates))
    first = [name.split(" and ")[0] for name in names]
    if all(one.isdecimal() for one in first) and len(set(first)) == len(first):
        return {name: int(one) for name, one in zip(names, first, strict=True)}
    return {name: index for index, name in enumerate(names)}


_DISTANCES_KINDS = {
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
        for measure in _DISTANCES_KINDS:
            yield from _figure(measure, results, distances)


def _distances(results: Results) -> dict[str, float]:
    found = {
        str(variant["id"]): variant.get("covariates", {}).get("distance") for variant in results.variants
    }
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
    every = defined(results.main(measure))
    estimates = [estimate for estimate in every if estimate.cell.get("variant") in known][:_MOST]
    if len({known[estimate.cell["variant"]] for estimate in estimates}) < 2:
        return
    columns = [name for name in varying(estimates) if name != "variant"]
    flagged = {
        str(variant["id"]) for variant in results.variants if variant.get("covariates", {}).get("flagged")
    }

    def series(estimate: Estimate) -> str:
        name = cell_name(estimate, columns, results, "")
        doubted = _DOUBTED if estimate.cell["variant"] in flagged else "meaning kept"
        return " · ".join(part for part in (name, doubted if flagged else "") if part)

    named = list(dict.fromkeys(series(estimate) for estimate in estimates))[:MOST_SERIES]
    name, axis = _DISTANCES_KINDS[measure]
    spots = [
        Spot.of(known[estimate.cell["variant"]], estimate, results, series=series(estimate))
        for estimate in estimates
        if series(estimate) in named
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
        draw=partial(draw_plane, plane),
        estimates=estimates,
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


_MOVEMENT_MEASURE = "deviation_share"
_MOST_ROWS = 20
"""Of more prompts, those stand in one row that share a level of a factor, or only the ends are drawn."""

_STEP, _HIGH = 23.0, 280.0
"""A row's least height, and the height that few rows fill, in pixels."""


@chart(
    title="How far the label depends on the prompt",
    section="finding",
    measures=(_MOVEMENT_MEASURE,),
    place=5,
    trends=False,
)
def prompts(results: Results) -> Iterator[Figure]:
    """A row a prompt; where there are too many, a row a level of a factor, with a dot a prompt."""
    estimates = prompts_drawn(results)
    if not estimates:
        return
    names = list(dict.fromkeys(estimate.cell["variant"] for estimate in estimates))
    factor = _factor(results, len(names))
    kept = first_and_last(names, _MOST_ROWS) if factor is None else names
    shown = [estimate for estimate in estimates if estimate.cell["variant"] in kept]
    ends = f"the {_MOST_ROWS // 2} lowest and {_MOST_ROWS // 2} highest"
    lines = "Lines are 95% intervals." if factor is None else "Each dot is a prompt."
    yield Figure(
        draw=partial(draw_forest, _forest(shown, results, factor)),
        estimates=estimates,
        subtitle="How often a prompt’s answer differs from the label that the same text gets most often, "
        f"or has no label. All on the left: the prompts agree. {lines}"
        f"{cut(len(kept), len(names), 'prompts', ends)}",
    )


def prompts_drawn(results: Results) -> list[Estimate]:
    """Each model's estimates of single prompts, the lowest first; none where there is nothing to compare."""
    of = ["model", "variant"] if len(results.models) > 1 else ["variant"]
    estimates = [
        estimate for estimate in defined(results.anywhere(_MOVEMENT_MEASURE)) if [*estimate.cell] == of
    ]
    return ranked(estimates) if len(estimates) > 1 else []


def _factor(results: Results, count: int) -> str | None:
    """The factor whose levels are the rows, where there are too many prompts for a row each."""
    if count <= _MOST_ROWS:
        return None
    some = [name for name, levels in results.factors.items() if len(levels) <= _MOST_ROWS]
    return max(some, key=lambda name: len(results.factors[name]), default=None)


def _forest(shown: Sequence[Estimate], results: Results, factor: str | None) -> Forest:
    marks = []
    for estimate in shown:
        variant, value, described = estimate.cell["variant"], estimate.number, about(estimate, results)
        model = estimate.cell.get("model", "")
        if factor is None:
            row = results.variant_name(variant)
            marks.append(Mark(value, estimate.low, estimate.high, row=row, panel=model, about=described))
        else:
            row = results.factor_levels.get(variant, {}).get(factor, "")
            marks.append(Mark(value, row=row, group=in_words(factor), panel=model, about=described))
    if factor is not None:
        levels = results.factors[factor]
        marks.sort(key=lambda mark: levels.index(mark.row) if mark.row in levels else len(levels))
    step = max(_STEP, min(2 * _STEP, _HIGH / len({mark.row for mark in marks})))
    axis = "answers with another label"
    return Forest(marks, axis, percent=True, domain=(0.0, 1.0), order=results.models, step=step)
