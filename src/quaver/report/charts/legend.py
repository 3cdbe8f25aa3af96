"""What shapes and colours stand for, above a chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from quaver.report.charts.mark_words import ABOUT, named
from quaver.report.charts.theme import (
    DATA,
    INK,
    PAPER,
    SHAPES,
    SOFT,
    TEXT,
    Layer,
    inline,
    options,
    text_width,
)


def look(place: int, *, coloured: bool = True) -> dict[str, str]:
    """Colour, filling and shape of a series: no two of the first seven differ by colour alone."""
    ink = DATA[place % len(DATA)] if coloured else SOFT
    fill = ink if place % 2 == 0 else PAPER
    return {"ink": ink, "fill": fill, "shape": SHAPES[place % len(SHAPES)]}


def legend(series: Sequence[str], width: int, *, coloured: bool = True, solid: bool = False) -> Any:
    """The series with their marks, in as many lines as they take."""
    rows: list[dict[str, Any]] = []
    x, y = 6.0, 0
    for place, name in enumerate(series):
        written = named(name, 240)
        wide = text_width(written["text"]) + 36
        if x + wide > width and x > 6:
            x, y = 6.0, y + 1
        shown = look(place, coloured=coloured)
        if solid:
            shown |= {"fill": shown["ink"], "shape": "square"}
        rows.append({"x": x, "y": y, **written, **shown})
        x += wide
    base = (
        Layer(inline(rows))
        .encode(
            x=alt.X("x:Q", scale=options(domain=[0, width], nice=False), axis=None),
            y=alt.Y("y:Q", scale=options(domain=[y + 0.5, -0.5], nice=False), axis=None),
        )
        .properties(width=width - 20, height=19 * (y + 1))
    )
    points = base.mark_point(size=46, opacity=1, strokeWidth=1.4).encode(
        color=alt.Color("ink:N", scale=None),
        fill=alt.Fill("fill:N", scale=None),
        shape=alt.Shape("shape:N", scale=None),
    )
    cut = any(row["about"] for row in rows)
    described = {"description": ABOUT} if cut else {}
    texts = base.mark_text(align="left", dx=9, fontSize=TEXT, color=INK, aria=cut)
    return points + texts.encode(text=alt.Text("text:N"), **described)
