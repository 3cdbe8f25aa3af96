"""How far each factor moves one label's share: a dot for each level, a line between the ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from quaver.core.records import Estimate
from quaver.report.charts.theme import (
    DATA,
    INK,
    PAPER,
    SOFT,
    Layer,
    fitted,
    fixed,
    inline,
    options,
    text_width,
)
from quaver.report.estimate_index import Results

_STEP = 34


def level_chart(
    results: Results,
    moved: Sequence[Estimate],
    label: str,
    *,
    width: int = 720,
) -> Any:
    """The share of a label at every level of every factor, and by gold label.

    Returns:
        An ``altair`` chart, or None where nothing varies.
    """
    rows, spans = _rows(results, moved, label, width)
    if not rows:
        return None
    names = [str(span["factor"]) for span in spans]
    left = min(0.33 * width, 1.1 * max(text_width(name) for name in names) + 6)
    x = alt.X(
        "value:Q",
        scale=options(domain=[0, 1], nice=False),
        axis=options(format="%", title="share of answers", titleAnchor="start", tickCount=5, labelFlush=True),
    )
    y = alt.Y("y:Q", scale=options(domain=[len(spans) - 0.4, -0.6], nice=False), axis=None)
    size = {"width": width - left - 40, "height": _STEP * len(spans)}
    line = Layer(inline(spans)).mark_rule(color=SOFT, strokeWidth=1.6).encode(x=x, x2=alt.X2("high:Q"), y=y)
    base = Layer(inline(rows)).encode(x=x, y=y)
    bands = (
        base.transform_filter("isValid(datum.least) && isValid(datum.most)")
        .mark_rule(strokeWidth=9, opacity=0.18, color=DATA[0])
        .encode(x=alt.X("least:Q"), x2=alt.X2("most:Q"))
    )
    dots = base.mark_point(size=46, opacity=1, strokeWidth=1.4).encode(
        color=fixed("Color", DATA[0]), fill=alt.Fill("fill:N", scale=None)
    )
    texts = [
        base.transform_filter(f"datum.place == '{place}'")
        .mark_text(align="right" if place == "high" else "left", dy=-11, dx=dx, fontSize=10.5, color=INK)
        .encode(text=alt.Text("text:N"))
        for place, dx in (("low", -4), ("high", 4))
    ]
    left_texts = [{"y": at, "text": fitted(name, left, 12)} for at, name in enumerate(names)]
    headings = (
        Layer(inline(left_texts))
        .mark_text(align="left", fontSize=11, fontWeight="bold", color=INK)
        .encode(y=y, x=fixed("X", 0), text=alt.Text("text:N"))
        .properties(width=left, height=size["height"])
    )
    return alt.hconcat(
        headings, alt.layer(bands, line, dots, *texts).properties(**size), spacing=10, bounds="flush"
    )


def _rows(
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
        name = "items, by gold label" if factor == "gold" else factor
        spans.append({"y": at, "value": low, "high": high, "factor": name})
        codes = [one.cell["level"] for one in levels]
        names = [results.label_name(code) for code in codes] if factor == "gold" else codes
        ends = [fitted(name, width / 3.5, 10.5) for name in (names[0], names[-1])]
        apart = sum(text_width(name, 10.5) for name in ends) + 16 <= 0.55 * width * (high - low)
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
                    "text": fitted(text, width / 3.5 if apart else 0.4 * width, 10.5),
                    "place": where,
                    "fill": PAPER if factor == "gold" else DATA[0],
                }
            )
    return rows, spans


def _both(names: Sequence[str], where: str, side: str) -> tuple[str, str]:
    return " – ".join(dict.fromkeys((names[0], names[-1]))), where if where == side else "none"
