"""How often each label is given, prompt by prompt, and how far each factor moves it: the finding's charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import altair as alt

from quaver.core.records import Estimate
from quaver.core.rows import Section, defined, of_measures, ranked
from quaver.report.charts.chart import BARS, Figure, cell_name, chart, cut, largest, names, spoken
from quaver.report.charts.effect_charts import label_share_chart, levels_shown, not_drawn, shares_shown
from quaver.report.charts.grid import Bar, draw_stacks
from quaver.report.charts.stability_charts import prompts_drawn
from quaver.report.charts.theme import (
    ABOUT,
    DATA,
    FILL,
    INK,
    PAPER,
    SOFT,
    TEXT,
    WIDE_HEADING,
    WRITTEN,
    Layer,
    about,
    fitted,
    fixed,
    inline,
    options,
    place_of,
    scale,
    text_width,
    texts,
)
from quaver.report.estimate_index import NO_LABEL, Results, varying, without
from quaver.report.page_words import in_words, printed, slug
from quaver.report.table_rows import ENDS, Column, Table, listed, plain, share, text

_MOST_SHIFTS = 40


@chart(
    title="The distribution of the labels under each condition",
    section="factors",
    kinds=("sensitivity", "mcq"),
    measures=("distribution_shift_tv", "distribution_shift_js"),
    place=50,
)
def distribution_shift(results: Results) -> Iterator[Figure]:
    """The distribution under each condition, beside the gold labels."""
    estimates = [
        estimate for estimate in results.known("distribution_shift_tv") if estimate.details.get("shares")
    ]
    if not estimates:
        return
    columns = varying(estimates)
    kept = {id(estimate) for estimate in largest(estimates, _MOST_SHIFTS)}
    some = [estimate for estimate in estimates if id(estimate) in kept]
    order = list(
        dict.fromkeys(
            (*results.label_names, *(n for estimate in estimates for n in estimate.details["shares"]))
        )
    )
    bars = [gold_bar(results, order)] if results.gold_shares else []
    bars += [
        Bar(
            _name(estimate, columns, results),
            {name: float(estimate.details["shares"].get(name, 0.0)) for name in order},
            printed(estimate.number),
            place=place_of(estimate, results),
        )
        for estimate in some
    ]
    yield Figure(
        draw=partial(draw_stacks, bars, "share of labels", names=results.label_names, at_end="distance"),
        estimates=estimates,
        title="The distribution of the labels under each condition"
        + (", beside the gold labels" if results.gold_shares else ""),
        subtitle="Shares of the answers with a label. At the end: the total variation distance to what each "
        "condition is compared with (0: the same, 1: nothing in common)."
        + cut(len(some), len(estimates), "shifts", "largest"),
        alternative=f"Distances: {spoken(estimates, results)}",
        table=_table(estimates, order, results),
    )


def _name(estimate: Estimate, columns: list[str], results: Results) -> str:
    """Its cell; each level with its factor if the cells are of different factors."""
    if all(column in estimate.cell for column in columns):
        return cell_name(estimate, columns, results)
    parts = [
        f"{in_words(c)}: {' '.join(names(estimate, [c], results))}" for c in columns if c in estimate.cell
    ]
    return " · ".join(parts) or "all answers"


def gold_bar(results: Results, order: list[str]) -> Bar:
    """The distribution of the gold labels."""
    return Bar("gold labels", {name: results.gold_shares.get(name, 0.0) for name in order}, bold=True)


def _table(estimates: list[Estimate], order: list[str], results: Results) -> Table:
    names = varying(estimates)

    def of_label(code: str) -> Column:
        return share(results.label_name(code), lambda one: float(one.details["shares"].get(code, 0.0)))

    columns = (
        text("of", lambda one: _name(one, names, results)),
        *map(of_label, order),
        plain("distance", "value"),
        *ENDS,
        plain("95% of noise", "floor_high"),
        plain("p (Holm)", "p_holm"),
    )
    return listed(estimates, columns)


_MOST_CELLS = 40


@chart(
    title="The distributions of the labels",
    section="factors",
    measures=("label_shares",),
    place=30,
    trends=False,
)
def label_distributions(results: Results) -> Iterator[Figure]:
    """A bar for each cell that is more than one variant, below the gold labels."""
    estimates = [
        estimate
        for estimate in results.known("label_shares")
        if "variant" not in estimate.cell and "label" in estimate.cell
    ]
    columns = [column for column in varying(estimates) if column != "label"]
    cells = without(estimates, "label")
    if not estimates or (len(cells) == 1 and not results.gold_shares):
        return
    codes = [*results.label_names, *(estimate.cell["label"] for estimate in estimates)]
    order = [code for code in dict.fromkeys(codes) if code != NO_LABEL] + [NO_LABEL]
    bars = [gold_bar(results, order)] if results.gold_shares else []
    for some in list(cells.values())[:_MOST_CELLS]:
        shares = {estimate.cell["label"]: estimate.number for estimate in some}
        parts = {code: shares.get(code, 0.0) for code in order}
        bars.append(Bar(cell_name(some[0], columns, results), parts, place=place_of(some[0], results)))
    beside = " beside the gold labels" if results.gold_shares else ""
    whole = (
        "all answers"
        if any(estimate.cell["label"] == NO_LABEL for estimate in estimates)
        else "answers with a label"
    )
    yield Figure(
        draw=partial(draw_stacks, bars, "share of answers", names=results.label_names),
        estimates=estimates,
        measure="label_distributions",
        title=f"The distributions of the labels{beside}",
        subtitle=f"Shares of {whole}. The table has their 95% intervals."
        + cut(len(bars) - bool(results.gold_shares), len(cells), "cells"),
    )


_MOST_MODELS = 8
_STEP = 40
_SPOKEN_LEVELS = 8


@chart(
    title="How often each label is given",
    section="finding",
    measures=("label_shares", "level_shares", "label_range"),
    place=10,
    trends=False,
)
def label_shares(results: Results) -> Iterator[Figure]:
    """The shares of a model's labels, a figure a model, and what each factor does to one of them.

    They stand among what moves the labels; the first, where no two prompts can be compared, opens the report.
    """
    opening = not prompts_drawn(results)
    levels = levels_shown(results, results.moved)  # over all models
    models = [""] if levels else results.models[:_MOST_MODELS] or [""]
    first = True
    for model in models:
        shown = levels or shares_shown(results, results.grouping_factor, model)
        if shown:
            section: Section = "finding" if opening and first else "factors"
            yield _shares(results, levels, shown, model, "finding" if first else "", section)
            first = False
    yield from _levels(results, "finding" if opening and first else "factors")


def _shares(
    results: Results,
    levels: Sequence[Estimate],
    shown: Sequence[Estimate],
    model: str,
    name: str,
    section: Section,
) -> Figure:
    factor = results.grouping_factor
    several = levels or len({estimate.cell["variant"] for estimate in shown}) > 1
    title = "How often each label is given" + (f", by {in_words(factor)}" if factor and several else "")
    title += f" (model {model})" if len(results.models) > 1 and not levels else ""
    gold = " Dashed: the share among the gold labels." if results.gold_shares else ""
    every = any(estimate.cell.get("label") == NO_LABEL for estimate in shown)
    whole = "all answers" if every else "the answers with a label"
    values = spoken(shown, results) if levels else _spoken_shares(results, shown, factor)
    return Figure(
        draw=partial(label_share_chart, results, levels, factor=factor, model=model),
        estimates=shown,
        name=name or f"label-shares-{slug(model)}",
        section=section,
        title=title,
        subtitle=f"Share of each label among {whole} to a prompt. {BARS}{gold}"
        + not_drawn(results, model, levels),
        alternative=values,
        covers=("label_shares",),
    )


def _levels(results: Results, section: Section) -> Iterator[Figure]:
    """What each factor does to the share of one label."""
    estimates = results.moved
    spans = of_measures(defined(estimates), "label_range")
    spans = [estimate for estimate in spans if estimate.cell["factor"] != "gold"] or spans
    if not spans:
        return
    top = max(spans, key=lambda estimate: estimate.number)
    label = top.cell["label"]
    name = "no label" if label == NO_LABEL else f"“{results.label_name(label)}”"
    title = f"How far each factor moves the share of {name}"
    shown = [
        estimate for estimate in of_measures(estimates, "level_shares") if estimate.cell["label"] == label
    ]
    ranges = [
        f"{in_words(estimate.cell['factor'])}, by {printed(estimate.number, percent=True)}"
        for estimate in spans
    ]
    yield Figure(
        draw=partial(level_chart, results, estimates, label),
        estimates=[
            *shown,
            *of_measures(estimates, "label_range", "variation"),
        ],
        name="factors",
        section=section,
        measure="level_shares",
        title=title,
        subtitle="A dot for each level: the share of all answers, with or without a label, averaged over "
        "everything else, on its 95% interval. The lowest and the highest are named.",
        alternative=f"{'; '.join(ranges)}.",
        covers=("level_shares", "label_range", "variation"),
    )


def _spoken_shares(results: Results, shown: Sequence[Estimate], factor: str | None) -> str:
    """For each level of the factor, the range of each label's share."""
    levels = results.factors.get(factor or "", [])
    if not levels or len(levels) > _SPOKEN_LEVELS:
        return spoken(shown, results)
    said = []
    for level in levels:
        spans: dict[str, list[float]] = {}
        for estimate in shown:
            if results.factor_levels.get(estimate.cell["variant"], {}).get(factor or "") == level:
                spans.setdefault(estimate.cell.get("label", ""), []).append(estimate.number)
        parts = [f"{results.label_name(label)} {_range(values)}" for label, values in spans.items()]
        said.append(f"{in_words(factor or '')} {level}: {', '.join(parts)}")
    return "; ".join(said) + "."


def _range(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(printed(end, percent=True) for end in (min(values), max(values))))


def level_chart(results: Results, estimates: Sequence[Estimate], label: str, *, width: int = 720) -> Any:
    """The share of a label at every level of every factor, and by gold label.

    Returns:
        An ``altair`` chart, or None where nothing varies.
    """
    rows, spans = _level_rows(results, estimates, label, width)
    if not rows:
        return None
    names = [str(span["factor"]) for span in spans]
    left = min(0.33 * width, 1.1 * max(text_width(name) for name in names) + 6)
    x = alt.X(
        "value:Q",
        scale=scale(0, 1),
        axis=options(format="%", title="share of answers", titleAnchor="start", tickCount=5, labelFlush=True),
    )
    y = alt.Y("y:Q", scale=scale(len(spans) - 0.4, -0.6), axis=None)
    size = {"width": width - left - 40, "height": _STEP * len(spans)}
    line = Layer(inline(spans)).mark_rule(color=SOFT, strokeWidth=1.6).encode(x=x, x2=alt.X2("high:Q"), y=y)
    base = Layer(inline(rows)).encode(x=x, y=y)
    bands = (
        base.transform_filter("isValid(datum.least) && isValid(datum.most)")
        .mark_rule(strokeWidth=9, opacity=0.18, color=DATA[0])
        .encode(x=alt.X("least:Q"), x2=alt.X2("most:Q"))
    )
    dots = base.mark_point(size=52, opacity=1, strokeWidth=1.4, aria=True).encode(
        color=fixed("Color", DATA[0]), fill=FILL, description=ABOUT
    )
    ends = [
        base.transform_filter(f"datum.place == '{place}'")
        .mark_text(align="right" if place == "high" else "left", dy=-13, dx=dx, fontSize=TEXT, color=INK)
        .encode(text=WRITTEN)
        for place, dx in (("low", -4), ("high", 4))
    ]
    left_texts = [{"y": index, "text": fitted(name, left, WIDE_HEADING)} for index, name in enumerate(names)]
    headings = texts(left_texts, y, fontWeight="bold").properties(width=left, height=size["height"])
    return alt.hconcat(
        headings, alt.layer(bands, line, dots, *ends).properties(**size), spacing=10, bounds="flush"
    )


def _level_rows(
    results: Results, estimates: Sequence[Estimate], label: str, width: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    found: dict[str, list[Estimate]] = {}
    for estimate in estimates:
        if (
            estimate.measure == "level_shares"
            and estimate.cell["label"] == label
            and estimate.value is not None
        ):
            found.setdefault(estimate.cell["factor"], []).append(estimate)

    def span(factor: str) -> float:
        values = [estimate.number for estimate in found[factor]]
        return max(values) - min(values)

    order = sorted((f for f in found if f != "gold"), key=lambda f: -span(f)) + ["gold"] * ("gold" in found)
    rows: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    for index, factor in enumerate(order):
        levels = ranked(found[factor])
        low, high = levels[0].number, levels[-1].number
        name = "items, by gold label" if factor == "gold" else in_words(factor)
        spans.append({"y": index, "value": low, "high": high, "factor": name})
        codes = [estimate.cell["level"] for estimate in levels]
        names = [results.label_name(code) for code in codes] if factor == "gold" else codes
        ends = [fitted(name, width / 3.5) for name in (names[0], names[-1])]
        apart = sum(text_width(name) for name in ends) + 16 <= 0.55 * width * (high - low)
        for position, estimate in enumerate(levels):
            where = "low" if position == 0 else "high" if position == len(levels) - 1 else "between"
            if not apart:  # one text stands for both ends, on the side where there is room
                text, where = _both(names, where, "low" if low + high < 1 else "high")
            else:
                text = names[position]
            rows.append(
                {
                    "y": index,
                    "value": estimate.value,
                    "least": estimate.low,
                    "most": estimate.high,
                    "text": fitted(text, width / 3.5 if apart else 0.4 * width),
                    "place": where,
                    "about": about(estimate, results),
                    "fill": PAPER if factor == "gold" else DATA[0],
                }
            )
    return rows, spans


def _both(names: Sequence[str], where: str, side: str) -> tuple[str, str]:
    return " – ".join(dict.fromkeys((names[0], names[-1]))), where if where == side else "none"
