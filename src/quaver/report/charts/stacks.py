"""Shares that make a whole, side by side: a bar a row, a part a colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

from quaver.report.charts.legend import legend
from quaver.report.charts.mark_words import ABOUT
from quaver.report.charts.theme import (
    DATA,
    INK,
    PAPER,
    SOFT,
    TEXT,
    Layer,
    fitted,
    fixed,
    inline,
    options,
    text_width,
)
from quaver.report.page_numbers import printed
from quaver.report.plain_text import one_line

_STEP = 25
_RIGHT = 58
_DARK = frozenset({0, 1, 6})  # the colours on which paper can be read; on the others, black
_BLACK = "#111111"
OTHER = "all others"
"""What the parts beyond the seven colours are called."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One whole: its name, its parts' shares, and a number that stands at its end.

    ``place`` is where its prompt and its model stand in the study (`mark_words.place_of`).
    """

    row: str
    parts: Mapping[str, float]
    number: str = ""
    bold: bool = False
    place: str = "."


def folded(bars: Sequence[Bar]) -> list[Bar]:
    """The same with no more parts than there are colours: the smallest ones together are the last."""
    total: dict[str, float] = {}
    for bar in bars:
        for part, share in bar.parts.items():
            total[part] = total.get(part, 0.0) + share
    if len(total) <= len(DATA):
        return list(bars)
    kept = set(sorted(total, key=lambda part: -total[part])[: len(DATA) - 1])
    made = []
    for bar in bars:
        parts = {part: share for part, share in bar.parts.items() if part in kept}
        rest = sum(share for part, share in bar.parts.items() if part not in kept)
        made.append(replace(bar, parts={**parts, OTHER: rest}))
    return made


def draw(
    bars: Sequence[Bar],
    axis: str,
    *,
    names: Mapping[str, str] | None = None,
    at_end: str = "",
    width: int = 720,
) -> Any:
    """Draw them.

    Args:
        bars: In their order; parts come in the order of the first bar that has them.
        axis: What the shares are of.
        names: Printed names of parts, where these are not the names.
        at_end: What the numbers at the bars' ends are.
        width: Of the whole, in pixels.
    """
    bars = folded(bars)
    parts = list(dict.fromkeys(part for bar in bars for part in bar.parts))
    shown = [(names or {}).get(part, part) for part in parts]
    left = min(max(text_width(one_line(bar.row)) for bar in bars) * 1.1 + 8, 0.36 * width)
    wide, high = width - left - _RIGHT - 20, _STEP * len(bars)
    scale = options(domain=[len(bars) - 0.5, -0.5], nice=False)
    y = alt.Y("y:Q", scale=scale, axis=None)
    x = alt.X(
        "x:Q",
        scale=options(domain=[0, 1], nice=False),
        axis=options(format="%", title=fitted(axis, wide), titleAnchor="start", tickCount=5, labelFlush=True),
    )
    boxes, texts = _boxes(bars, dict(zip(parts, shown, strict=True)), wide)
    top = alt.Y("top:Q", scale=scale, axis=None)
    base = Layer(inline(boxes)).encode(y=top, y2=alt.Y2("bottom:Q"), x=x, x2=alt.X2("end:Q"))
    areas = base.mark_rect(stroke=PAPER, strokeWidth=1, opacity=1, aria=True).encode(
        fill=alt.Fill("ink:N", scale=None), description=ABOUT
    )
    inside = (
        Layer(inline(texts))
        .mark_text(fontSize=TEXT, fontWeight="bold")
        .encode(y=y, x=x, text=alt.Text("text:N"), color=alt.Color("ink:N", scale=None))
    )
    panel = alt.layer(areas, inside).properties(width=wide, height=high)
    row = alt.hconcat(
        _column([(bar.row, bar.bold) for bar in bars], y, left, high, INK),
        panel,
        _column([(bar.number, bar.bold) for bar in bars], y, _RIGHT, high, SOFT),
        spacing=6,
        bounds="flush",
    )
    blocks = [legend(shown, width, solid=True)]
    if at_end:
        text = Layer(inline([{"text": fitted(at_end, width - 20)}]))
        end = text.mark_text(align="right", fontSize=TEXT, color=SOFT)
        end = end.encode(x=fixed("X", width - 20), text=alt.Text("text:N"))
        blocks.append(end.properties(width=width - 20, height=14))
    return alt.vconcat(*blocks, row, spacing=6)


def _boxes(
    bars: Sequence[Bar], parts: Mapping[str, str], wide: float
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    boxes: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    for at, bar in enumerate(bars):
        x = 0.0
        for place, (part, name) in enumerate(parts.items()):
            share = bar.parts.get(part, 0.0)
            if share <= 0:
                continue
            ink = DATA[place % len(DATA)]
            text = printed(share, percent=True)
            described = f"{bar.place}|{bar.row}: {text} {name}"
            box = {
                "top": at - 0.4,
                "bottom": at + 0.4,
                "x": x,
                "end": x + share,
                "ink": ink,
                "about": described,
            }
            boxes.append(box)
            if share * wide > text_width(text) + 8:
                ink = PAPER if place % len(DATA) in _DARK else _BLACK
                texts.append({"y": at, "x": x + share / 2, "text": text, "ink": ink})
            x += share
    return boxes, texts


def _column(texts: Sequence[tuple[str, bool]], y: Any, width: float, height: float, ink: str) -> Any:
    rows = [{"y": at, "text": fitted(text, width), "bold": bold} for at, (text, bold) in enumerate(texts)]
    base = Layer(inline(rows)).encode(y=y, x=fixed("X", 0), text=alt.Text("text:N"))
    plain = base.transform_filter("!datum.bold").mark_text(align="left", fontSize=TEXT, color=ink)
    bold = base.transform_filter("datum.bold").mark_text(
        align="left", fontSize=TEXT, color=ink, fontWeight="bold"
    )
    return alt.layer(plain, bold).properties(width=width, height=height)
