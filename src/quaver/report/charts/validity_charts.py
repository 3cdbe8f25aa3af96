"""Charts of validity: criteria of readiness, and a conclusion under every prompt variant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import altair as alt
from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.core.rows import defined, of_measures, ranked
from quaver.report.charts.chart import BARS, Figure, cell_name, chart
from quaver.report.charts.grid import Grid, Square, draw_grid
from quaver.report.charts.theme import ABOUT, DATA, SOFT, about, fitted, inline
from quaver.report.estimate_index import Results, varying
from quaver.report.page_words import in_words, interval, number, percent_measure, printed, slug
from quaver.report.table_rows import (
    Column,
    Table,
    corrected_conclusions,
    in_true_labels,
    listed,
    text,
)

_PREFIX = "readiness_"
_SHADES = {"met": 0.9, "undecided": 0.4}
_SHORT = {"undecided": "open"}
_NAMES = {
    "accuracy": "accuracy",
    "compliance": "valid answers",
    "spread": "spread of accuracy over prompts",
    "flips": "different label by another rule",
    "ece": "calibration error, tokens",
    "parse_rate": "stated confidence found",
    "stated_ece": "calibration error, stated",
}


@chart(
    title="The profile against the thresholds of the study",
    section="readiness",
    kinds=("audit",),
    measures=("readiness*",),
    place=10,
)
def readiness(results: Results) -> Iterator[Figure]:
    """A square for each criterion and model."""
    estimates = _judged(results)
    if not estimates:
        return
    columns = varying(estimates)
    squares = [
        Square(
            f"{_criterion(estimate)}: {_limit(estimate)}",
            cell_name(estimate, columns, results, "verdict"),
            _SHADES.get(_verdict(estimate), 0.0),
            f"{_value(estimate)} · {_SHORT.get(_verdict(estimate), _verdict(estimate))}",
            marked=_verdict(estimate) == "not met",
            about=f"{about(estimate, results)}; {_limit(estimate)}: {_verdict(estimate)}",
        )
        for estimate in estimates
    ]
    verdicts = [_verdict(estimate) for estimate in estimates]
    counts = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in ("met", "not met", "undecided"))
    yield Figure(
        draw=partial(draw_grid, Grid(squares)),
        estimates=[*estimates, *results.of("readiness")],
        measure="readiness",
        subtitle="Dark: met, the whole interval is on the right side of the threshold. Framed: not met, all "
        "of it is on the other side. Light: open, undecided.",
        alternative=f"Of {len(estimates)} criteria: {counts}. The table has them all.",
        table=_readiness_table(estimates, results),
    )


def _readiness_table(estimates: Sequence[Estimate], results: Results) -> Table:
    """A row a criterion and model: value, interval, threshold, verdict."""

    def value(estimate: Estimate) -> Markup | str:
        return "—" if estimate.value is None else number(estimate.value, percent_measure(estimate.measure))

    def named(column: str) -> Column:
        return text(column, lambda one: cell_name(one, [column], results))

    columns = (
        *map(named, varying(estimates)),
        text("criterion", _criterion),
        Column("value", value),
        Column("95% interval", interval),
        text("threshold", _limit),
        text("verdict", lambda one: _verdict(one) + ("" if one.reason is None else f" ({one.reason})")),
    )
    return listed(estimates, columns, most=len(estimates))


def _judged(results: Results) -> list[Estimate]:
    estimates = [
        estimate
        for estimate in results.estimates
        if estimate.measure.startswith(_PREFIX) and "verdict" in estimate.details
    ]
    order = list(dict.fromkeys(estimate.measure for estimate in estimates))
    return sorted(results.in_order(estimates), key=lambda estimate: order.index(estimate.measure))


def _criterion(estimate: Estimate) -> str:
    name = estimate.measure.removeprefix(_PREFIX)
    return _NAMES.get(name, in_words(name))


def _verdict(estimate: Estimate) -> str:
    return str(estimate.details["verdict"])


def _limit(estimate: Estimate) -> str:
    """``at least 80%``, in the unit of the criterion."""
    least = "at least" if str(estimate.details.get("limit", "")).startswith("at least") else "at most"
    return (
        f"{least} {printed(float(estimate.details.get('threshold', 0.0)), percent_measure(estimate.measure))}"
    )


def _value(estimate: Estimate) -> str:
    return "—" if estimate.value is None else printed(estimate.value, percent_measure(estimate.measure))


_HEIGHT = 240
_ROW = 15
_CURVE_NAMES = 150
_VERDICTS = ("holds", "not distinguishable", "reverses")
_COUNTED = ("holds", "reverses", "not distinguishable")
_COLOURS = (DATA[0], DATA[6], DATA[1])
_SHAPES = ("circle", "square", "diamond")
_CURVE = ("conclusion", "conclusion_majority", "conclusion_dawid_skene")
"""What the curve is of: estimates from labels as they are."""
_TOGETHER = {"conclusion_majority": "the majority", "conclusion_dawid_skene": "Dawid–Skene"}


@chart(
    title="What each conclusion rests on",
    section="conclusions",
    kinds=("stability", "mcq", "factorial"),
    measures=("conclusion*",),
    place=10,
)
def conclusions(results: Results) -> Iterator[Figure]:
    """A specification curve for each conclusion."""
    estimates = [estimate for estimate in results.estimates if estimate.measure.startswith("conclusion")]
    for name in dict.fromkeys(estimate.cell.get("conclusion", "") for estimate in estimates):
        some = [estimate for estimate in estimates if estimate.cell.get("conclusion", "") == name]
        single = [estimate for estimate in of_measures(some, "conclusion") if "verdict" in estimate.details]
        if not defined(single):
            continue
        verdicts = [estimate.details["verdict"] for estimate in single]
        counts = ", ".join(f"{kind} under {verdicts.count(kind)}" for kind in _COUNTED)
        found = f"Of {len(single)} specifications: {counts}, in these labels. {BARS}"
        gold = " Dashed: the gold labels." if of_measures(some, "conclusion_gold") else ""
        true = corrected_conclusions(some).get(name)
        first = "" if true is None else f"The claim {in_true_labels(true)}. "
        if true is not None and true.low is not None:
            gold += " Band: the corrected estimate’s interval, which is about the true labels."
        found = f"{first}{found}"
        title = f"{name}: {single[0].details['effect']}, in these labels under every prompt variant"
        yield Figure(
            draw=partial(specification_chart, some, results),
            estimates=some,
            name=f"conclusion-{slug(name)}",
            measure="conclusion",
            title=title,
            subtitle=f"{found} Circle: holds; diamond: reverses; square: not distinguishable.{gold} Below: "
            f"the choices behind each estimate.",
            alternative=found,
        )


def specification_chart(estimates: Sequence[Estimate], results: Results, *, width: int = 720) -> Any:
    """One conclusion's estimates from the least to the largest, above marks for what each was made with.

    Returns:
        An ``altair`` chart, or None where no estimate has a value.
    """
    known = [estimate for estimate in defined(estimates) if "verdict" in estimate.details]
    drawn = ranked(of_measures(known, *_CURVE))
    if not drawn:
        return None
    wide = max(120, width - _CURVE_NAMES - 60)
    x = alt.X("place:Q", axis=None, scale=alt.Scale(domain=[-0.5, len(drawn) - 0.5], nice=False))
    verdict = alt.Color("verdict:N", scale=alt.Scale(domain=_VERDICTS, range=_COLOURS), legend=None)
    curve = alt.Chart(inline([_row(index, estimate, results) for index, estimate in enumerate(drawn)]))
    y = alt.Y("value:Q", axis=alt.Axis(title="estimate", tickCount=5, grid=True), scale=alt.Scale(zero=False))
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=_VERDICTS, range=_SHAPES), legend=None)
    true = next(
        (estimate for estimate in of_measures(known, "conclusion_corrected") if estimate.low is not None),
        None,
    )
    parts = [] if true is None else list(_band(true))
    parts += [
        curve.mark_rule(strokeWidth=1.4, opacity=0.7).encode(
            x=x, y=alt.Y("low:Q"), y2="high:Q", color=verdict
        ),
        curve.mark_point(size=42, opacity=1, filled=True, aria=True).encode(
            x=x, y=y, color=verdict, shape=shape, description=ABOUT
        ),
        alt.Chart(inline([{"at": drawn[0].details["threshold"]}]))
        .mark_rule(color=SOFT, strokeWidth=1)
        .encode(y="at:Q"),
    ]
    if gold := [{"at": estimate.value} for estimate in of_measures(known, "conclusion_gold")][:1]:
        parts.append(alt.Chart(inline(gold)).mark_rule(color=SOFT, strokeDash=[4, 3]).encode(y="at:Q"))
    above = alt.layer(*parts).properties(width=wide, height=_HEIGHT)
    choices, names = _choices(drawn, results)
    if not choices:
        return above
    axis = alt.Axis(title=None, labelLimit=_CURVE_NAMES, domain=False, ticks=False, grid=False)
    below = (
        alt.Chart(inline(choices))
        .mark_tick(thickness=3, height=9)
        .encode(x=x, y=alt.Y("choice:N", sort=names, axis=axis), color=verdict)
        .properties(width=wide, height=_ROW * len(names))
    )
    return alt.vconcat(above, below, spacing=8)


def _band(true: Estimate) -> Iterator[Any]:
    """The corrected estimate and its interval, behind the curve."""
    data = alt.Chart(inline([{"value": true.value, "low": true.low, "high": true.high}]))
    yield data.mark_rect(color=SOFT, opacity=0.18).encode(y=alt.Y("low:Q"), y2="high:Q")
    yield data.mark_rule(color=SOFT, strokeWidth=2).encode(y=alt.Y("value:Q"))


def _row(index: int, estimate: Estimate, results: Results) -> dict[str, Any]:
    return {
        "place": index,
        "value": estimate.value,
        "low": estimate.value if estimate.low is None else estimate.low,
        "high": estimate.value if estimate.high is None else estimate.high,
        "verdict": estimate.details["verdict"],
        "about": f"{about(estimate, results)}; {estimate.details['verdict']}",
    }


def _choices(estimates: Sequence[Estimate], results: Results) -> tuple[list[dict[str, Any]], list[str]]:
    """A mark for each choice of each specification, and the choices in their order; only those that vary."""
    made = [_made_with(estimate, results) for estimate in estimates]
    columns = list(dict.fromkeys(column for one in made for column in one))
    varying = [c for c in columns if len({one.get(c) for one in made}) > 1]
    rows, names = [], []
    for column in varying:
        levels = {one[column] for one in made if column in one}
        order = [*results.order(column), *sorted(levels)]
        for level in dict.fromkeys(one for one in order if one in levels):
            name = fitted(f"{in_words(column)}: {level}", _CURVE_NAMES)
            names.append(name)
            rows += [
                {"place": index, "choice": name, "verdict": estimates[index].details["verdict"]}
                for index, one in enumerate(made)
                if one.get(column) == level
            ]
    return rows, list(dict.fromkeys(names))


def _made_with(estimate: Estimate, results: Results) -> dict[str, str]:
    found = {
        column: estimate.cell[column]
        for column in ("model", "decoding", "evaluator")
        if column in estimate.cell
    }
    if estimate.measure in _TOGETHER:
        return {**found, "labels of": _TOGETHER[estimate.measure]}
    variant = estimate.cell.get("variant", "")
    return {**found, **results.factor_levels.get(variant, {"variant": variant} if variant else {})}
