"""How often each label is given, prompt by prompt, and how far each factor moves it: the finding's charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import altair as alt

from quaver.core.records import Estimate
from quaver.core.rows import Section
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
    every = [one for one in results.known("distribution_shift_tv") if one.details.get("shares")]
    if not every:
        return
    columns = varying(every)
    kept = {id(one) for one in largest(every, _MOST_SHIFTS)}
    some = [one for one in every if id(one) in kept]
    order = list(dict.fromkeys((*results.label_names, *(n for one in every for n in one.details["shares"]))))
    bars = [gold_bar(results, order)] if results.gold_shares else []
    bars += [
        Bar(
            _name(one, columns, results),
            {name: float(one.details["shares"].get(name, 0.0)) for name in order},
            printed(one.value or 0.0),
            place=place_of(one, results),
        )
        for one in some
    ]
    yield Figure(
        draw=partial(draw_stacks, bars, "share of labels", names=results.label_names, at_end="distance"),
        estimates=every,
        title="The distribution of the labels under each condition"
        + (", beside the gold labels" if results.gold_shares else ""),
        subtitle="Shares of the answers with a label. At the end: the total variation distance to what each "
        "condition is compared with (0: the same, 1: nothing in common)."
        + cut(len(some), len(every), "shifts", "largest"),
        alternative=f"Distances: {spoken(every, results)}",
        table=_table(every, order, results),
    )


def _name(one: Estimate, columns: list[str], results: Results) -> str:
    """Its cell; each level with its factor if the cells are of different factors."""
    if all(column in one.cell for column in columns):
        return cell_name(one, columns, results)
    parts = [f"{in_words(c)}: {' '.join(names(one, [c], results))}" for c in columns if c in one.cell]
    return " · ".join(parts) or "all answers"


def gold_bar(results: Results, order: list[str]) -> Bar:
    """The distribution of the gold labels."""
    return Bar("gold labels", {name: results.gold_shares.get(name, 0.0) for name in order}, bold=True)


def _table(some: list[Estimate], order: list[str], results: Results) -> Table:
    names = varying(some)

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
    return listed(some, columns)


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
    every = [
        one for one in results.known("label_shares") if "variant" not in one.cell and "label" in one.cell
    ]
    columns = [column for column in varying(every) if column != "label"]
    cells = without(every, "label")
    if not every or (len(cells) == 1 and not results.gold_shares):
        return
    codes = [*results.label_names, *(one.cell["label"] for one in every)]
    order = [code for code in dict.fromkeys(codes) if code != NO_LABEL] + [NO_LABEL]
    bars = [gold_bar(results, order)] if results.gold_shares else []
    for some in list(cells.values())[:_MOST_CELLS]:
        shares = {one.cell["label"]: one.value or 0.0 for one in some}
        parts = {code: shares.get(code, 0.0) for code in order}
        bars.append(Bar(cell_name(some[0], columns, results), parts, place=place_of(some[0], results)))
    beside = " beside the gold labels" if results.gold_shares else ""
    whole = "all answers" if any(one.cell["label"] == NO_LABEL for one in every) else "answers with a label"
    yield Figure(
        draw=partial(draw_stacks, bars, "share of answers", names=results.label_names),
        estimates=every,
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
    several = levels or len({one.cell["variant"] for one in shown}) > 1
    title = "How often each label is given" + (f", by {in_words(factor)}" if factor and several else "")
    title += f" (model {model})" if len(results.models) > 1 and not levels else ""
    gold = " Dashed: the share among the gold labels." if results.gold_shares else ""
    every = any(one.cell.get("label") == NO_LABEL for one in shown)
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
    moved = results.moved
    spans = [one for one in moved if one.measure == "label_range" and one.value is not None]
    spans = [one for one in spans if one.cell["factor"] != "gold"] or spans
    if not spans:
        return
    top = max(spans, key=lambda one: one.value or 0.0)
    label = top.cell["label"]
    name = "no label" if label == NO_LABEL else f"“{results.label_name(label)}”"
    title = f"How far each factor moves the share of {name}"
    shown = [one for one in moved if one.measure == "level_shares" and one.cell["label"] == label]
    ranges = [
        f"{in_words(one.cell['factor'])}, by {printed(one.value or 0.0, percent=True)}" for one in spans
    ]
    yield Figure(
        draw=partial(level_chart, results, moved, label),
        estimates=[*shown, *(one for one in moved if one.measure in ("label_range", "variation"))],
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
        for one in shown:
            if results.factor_levels.get(one.cell["variant"], {}).get(factor or "") == level:
                spans.setdefault(one.cell.get("label", ""), []).append(one.value or 0.0)
        parts = [f"{results.label_name(label)} {_range(values)}" for label, values in spans.items()]
        said.append(f"{in_words(factor or '')} {level}: {', '.join(parts)}")
    return "; ".join(said) + "."


def _range(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(printed(end, percent=True) for end in (min(values), max(values))))


def level_chart(results: Results, moved: Sequence[Estimate], label: str, *, width: int = 720) -> Any:
    """The share of a label at every level of every factor, and by gold label.

    Returns:
        An ``altair`` chart, or None where nothing varies.
    """
    rows, spans = _level_rows(results, moved, label, width)
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
    left_texts = [{"y": at, "text": fitted(name, left, WIDE_HEADING)} for at, name in enumerate(names)]
    headings = texts(left_texts, y, fontWeight="bold").properties(width=left, height=size["height"])
    return alt.hconcat(
        headings, alt.layer(bands, line, dots, *ends).properties(**size), spacing=10, bounds="flush"
    )


def _level_rows(
    results: Results, moved: Sequence[Estimate], label: str, width: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    found: dict[str, list[Estimate]] = {}
    for one in moved:
        if one.measure == "level_shares" and one.cell["label"] == label and one.value is not None:
            found.setdefault(one.cell["factor"], []).append(one)

    def span(factor: str) -> float:
        values = [one.value or 0.0 for one in found[factor]]
        return max(values) - min(values)

    order = sorted((f for f in found if f != "gold"), key=lambda f: -span(f)) + ["gold"] * ("gold" in found)
    rows: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    for at, factor in enumerate(order):
        levels = sorted(found[factor], key=lambda one: one.value or 0.0)
        low, high = levels[0].value or 0.0, levels[-1].value or 0.0
        name = "items, by gold label" if factor == "gold" else in_words(factor)
        spans.append({"y": at, "value": low, "high": high, "factor": name})
        codes = [one.cell["level"] for one in levels]
        names = [results.label_name(code) for code in codes] if factor == "gold" else codes
        ends = [fitted(name, width / 3.5) for name in (names[0], names[-1])]
        apart = sum(text_width(name) for name in ends) + 16 <= 0.55 * width * (high - low)
        for place, one in enumerate(levels):
            where = "low" if place == 0 else "high" if place == len(levels) - 1 else "between"
            if not apart:  # one text stands for both ends, on the side where there is room
                text, where = _both(names, where, "low" if low + high < 1 else "high")
            else:
                text = names[place]
            rows.append(
                {
                    "y": at,
                    "value": one.value,
                    "least": one.low,
                    "most": one.high,
                    "text": fitted(text, width / 3.5 if apart else 0.4 * width),
                    "place": where,
                    "about": about(one, results),
                    "fill": PAPER if factor == "gold" else DATA[0],
                }
            )
    return rows, spans


def _both(names: Sequence[str], where: str, side: str) -> tuple[str, str]:
    return " – ".join(dict.fromkeys((names[0], names[-1]))), where if where == side else "none"
