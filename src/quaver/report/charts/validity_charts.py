"""Charts of validity: criteria of readiness, and a conclusion under every prompt variant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import altair as alt
from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.chart import BARS, Figure, cell_name, chart
from quaver.report.charts.grid import Grid, Square, draw_grid
from quaver.report.charts.theme import ABOUT, DATA, SOFT, about, fitted, inline
from quaver.report.estimate_index import Results, varying
from quaver.report.page_words import in_words, interval, number, percent_measure, printed, slug
from quaver.report.table_rows import (
    Column,
    Table,
    by_chance,
    corrected_conclusions,
    in_true_labels,
    joint_conclusions,
    listed,
    median_effect,
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
    every = _judged(results)
    if not every:
        return
    columns = varying(every)
    squares = [
        Square(
            f"{_criterion(one)}: {_limit(one)}",
            cell_name(one, columns, results, "verdict"),
            _SHADES.get(_verdict(one), 0.0),
            f"{_value(one)} · {_SHORT.get(_verdict(one), _verdict(one))}",
            marked=_verdict(one) == "not met",
            about=f"{about(one, results)}; {_limit(one)}: {_verdict(one)}",
        )
        for one in every
    ]
    verdicts = [_verdict(one) for one in every]
    counts = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in ("met", "not met", "undecided"))
    yield Figure(
        draw=partial(draw_grid, Grid(squares)),
        estimates=[*every, *results.of("readiness")],
        measure="readiness",
        subtitle="Dark: met, the whole interval is on the right side of the threshold. Framed: not met, all "
        "of it is on the other side. Light: open, undecided.",
        alternative=f"Of {len(every)} criteria: {counts}. The table has them all.",
        table=_readiness_table(every, results),
    )


def _readiness_table(every: Sequence[Estimate], results: Results) -> Table:
    """A row a criterion and model: value, interval, threshold, verdict."""

    def value(one: Estimate) -> Markup | str:
        return "—" if one.value is None else number(one.value, percent_measure(one.measure))

    def named(column: str) -> Column:
        return text(column, lambda one: cell_name(one, [column], results))

    columns = (
        *map(named, varying(every)),
        text("criterion", _criterion),
        Column("value", value),
        Column("95% interval", interval),
        text("threshold", _limit),
        text("verdict", lambda one: _verdict(one) + ("" if one.reason is None else f" ({one.reason})")),
    )
    return listed(every, columns, most=len(every))


def _judged(results: Results) -> list[Estimate]:
    some = [one for one in results.estimates if one.measure.startswith(_PREFIX) and "verdict" in one.details]
    order = list(dict.fromkeys(one.measure for one in some))
    return sorted(results.in_order(some), key=lambda one: order.index(one.measure))


def _criterion(one: Estimate) -> str:
    name = one.measure.removeprefix(_PREFIX)
    return _NAMES.get(name, in_words(name))


def _verdict(one: Estimate) -> str:
    return str(one.details["verdict"])


def _limit(one: Estimate) -> str:
    """``at least 80%``, in the unit of the criterion."""
    least = "at least" if str(one.details.get("limit", "")).startswith("at least") else "at most"
    return f"{least} {printed(float(one.details.get('threshold', 0.0)), percent_measure(one.measure))}"


def _value(one: Estimate) -> str:
    return "—" if one.value is None else printed(one.value, percent_measure(one.measure))


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
    every = [one for one in results.estimates if one.measure.startswith("conclusion")]
    for name in dict.fromkeys(one.cell.get("conclusion", "") for one in every):
        some = [one for one in every if one.cell.get("conclusion", "") == name]
        single = [one for one in some if one.measure == "conclusion" and "verdict" in one.details]
        if not any(one.value is not None for one in single):
            continue
        verdicts = [one.details["verdict"] for one in single]
        counts = ", ".join(f"{kind} under {verdicts.count(kind)}" for kind in _COUNTED)
        found = f"Of {len(single)} specifications: {counts}, in these labels. {BARS}"
        joint = joint_conclusions(some)
        chance = "".join(f" {said}" for one in joint for said in (by_chance(one), median_effect(one)) if said)
        gold = " Dashed: the gold labels." if any(one.measure == "conclusion_gold" for one in some) else ""
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
            f"the choices behind each estimate.{chance}",
            alternative=f"{found}{chance}",
        )


def specification_chart(estimates: Sequence[Estimate], results: Results, *, width: int = 720) -> Any:
    """One conclusion's estimates from the least to the largest, above marks for what each was made with.

    Returns:
        An ``altair`` chart, or None where no estimate has a value.
    """
    known = [one for one in estimates if one.value is not None and "verdict" in one.details]
    drawn = sorted((one for one in known if one.measure in _CURVE), key=lambda one: one.value or 0.0)
    if not drawn:
        return None
    wide = max(120, width - _CURVE_NAMES - 60)
    x = alt.X("place:Q", axis=None, scale=alt.Scale(domain=[-0.5, len(drawn) - 0.5], nice=False))
    verdict = alt.Color("verdict:N", scale=alt.Scale(domain=_VERDICTS, range=_COLOURS), legend=None)
    curve = alt.Chart(inline([_row(at, one, results) for at, one in enumerate(drawn)]))
    y = alt.Y("value:Q", axis=alt.Axis(title="estimate", tickCount=5, grid=True), scale=alt.Scale(zero=False))
    shape = alt.Shape("verdict:N", scale=alt.Scale(domain=_VERDICTS, range=_SHAPES), legend=None)
    true = next((one for one in known if one.measure == "conclusion_corrected" and one.low is not None), None)
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
    if gold := [{"at": one.value} for one in known if one.measure == "conclusion_gold"][:1]:
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


def _row(at: int, one: Estimate, results: Results) -> dict[str, Any]:
    return {
        "place": at,
        "value": one.value,
        "low": one.value if one.low is None else one.low,
        "high": one.value if one.high is None else one.high,
        "verdict": one.details["verdict"],
        "about": f"{about(one, results)}; {one.details['verdict']}",
    }


def _choices(drawn: Sequence[Estimate], results: Results) -> tuple[list[dict[str, Any]], list[str]]:
    """A mark for each choice of each specification, and the choices in their order; only those that vary."""
    made = [_made_with(one, results) for one in drawn]
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
                {"place": at, "choice": name, "verdict": drawn[at].details["verdict"]}
                for at, one in enumerate(made)
                if one.get(column) == level
            ]
    return rows, list(dict.fromkeys(names))


def _made_with(one: Estimate, results: Results) -> dict[str, str]:
    found = {column: one.cell[column] for column in ("model", "decoding", "evaluator") if column in one.cell}
    if one.measure in _TOGETHER:
        return {**found, "labels of": _TOGETHER[one.measure]}
    variant = one.cell.get("variant", "")
    return {**found, **results.factor_levels.get(variant, {"variant": variant} if variant else {})}
