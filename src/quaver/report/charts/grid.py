"""Numbers from 0 to 1 by row and column, as darker and lighter squares, in panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import altair as alt

from quaver.report.charts.theme import (
    ABOUT,
    COLOUR,
    DATA,
    INK,
    INKED,
    PAPER,
    SOFT,
    TEXT,
    WRITTEN,
    Layer,
    fitted,
    fixed,
    in_rows,
    inline,
    legend,
    options,
    panel_heading,
    plainly,
    scale,
    text_width,
    texts,
)
from quaver.report.page_words import one_line, printed

_STEP = 27
_GAP = 18
_ABOVE = 0.8  # of a row, for the names of columns


@dataclass(frozen=True, slots=True)
class Square:
    """One number: where it stands, and what is written in it.

    ``about`` is what the page says of it (`mark_words.about`); by default its names and number.
    """

    row: str
    column: str
    value: float
    text: str = ""
    panel: str = ""
    marked: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """What to draw.

    Attributes:
        squares: The numbers, in the order of their rows, columns and panels.
        named: Whether rows and columns have their names beside them.
        names: Printed names of panels, where these are not the names.
        headings: What stands under a panel's name.
        side: Length of a panel's side where rows and columns have no names, in pixels.
    """

    squares: Sequence[Square]
    named: bool = True
    names: Mapping[str, str] = field(default_factory=dict)
    headings: Mapping[str, str] = field(default_factory=dict)
    side: float = 140


def draw_grid(grid: Grid, *, width: int = 720) -> Any:
    """Draw it: the larger the number, the more colour; a marked square has a frame."""
    panels = list(dict.fromkeys(square.panel for square in grid.squares))
    fit = 1 if grid.named else max(1, int((width - 10) // (grid.side + _GAP)))
    shown = [_panel(grid, panel, width) for panel in panels]
    return alt.vconcat(*in_rows(shown, fit, _GAP, bounds="flush"), spacing=14)


def _panel(grid: Grid, panel: str, width: int) -> Any:
    own = [square for square in grid.squares if square.panel == panel]
    rows = list(dict.fromkeys(square.row for square in own))
    columns = list(dict.fromkeys(square.column for square in own))
    left = min(max(text_width(one_line(row)) for row in rows) + 10, 0.4 * width) if grid.named else 0.0
    each = max(92.0, *(text_width(square.text) + 26 for square in own))
    wide = min(each * len(columns), width - left - 16) if grid.named else grid.side
    above = _ABOVE if grid.named else 0.0
    high = _STEP * (len(rows) + above) if grid.named else grid.side
    scales = (
        scale(-0.5, len(columns) - 0.5),
        scale(len(rows) - 0.5, -0.5 - above),
    )
    x, y = alt.X("x:Q", scale=scales[0], axis=None), alt.Y("y:Q", scale=scales[1], axis=None)
    squares = [
        _square(square, columns.index(square.column), rows.index(square.row), wide / len(columns))
        for square in own
    ]
    drawn = _squares(squares, scales, written=len(squares) <= 400, named=grid.named)
    if grid.named:
        drawn.append(_column_names(columns, x, y, wide / len(columns)))
    body = alt.layer(*drawn).properties(width=wide, height=high)
    if not grid.named:
        name, under = grid.names.get(panel, panel), grid.headings.get(panel, "")
        return body.properties(title=panel_heading(name, under, wide))
    beside = texts([{"y": index, "text": fitted(row, left)} for index, row in enumerate(rows)], y)
    named = [beside.properties(width=left, height=high), body]
    return alt.hconcat(*named, spacing=0, bounds="flush")


def _column_names(columns: Sequence[str], x: Any, y: Any, width: float) -> Any:
    above = [
        {"x": index, "y": -0.5 - _ABOVE / 2, "text": fitted(column, 1.2 * width - 6)}
        for index, column in enumerate(columns)
    ]
    return texts(above, y, x, color=SOFT, align="center")


def _square(square: Square, column: int, row: int, width: float) -> dict[str, Any]:
    inset = 0.02
    text = square.text if text_width(square.text) < width - 8 else square.text.partition(" · ")[0]
    return {
        "x": column,
        "y": row,
        "left": column - 0.5 + inset,
        "right": column + 0.5 - inset,
        "top": row - 0.5 + inset,
        "bottom": row + 0.5 - inset,
        "value": square.value,
        "shade": round(0.05 + 0.87 * min(1.0, max(0.0, square.value)), 2),
        "text": text,
        "ink": PAPER if square.value > 0.85 else INK,
        "marked": square.marked,
        "about": square.about or plainly((square.panel, square.row, square.column), square.value),
    }


def _squares(
    squares: Sequence[dict[str, Any]], scales: tuple[Any, Any], *, written: bool, named: bool
) -> list[Any]:
    base = Layer(inline(list(squares)))
    across, down = scales
    corners = {
        "x": alt.X("left:Q", scale=across, axis=None),
        "x2": alt.X2("right:Q"),
        "y": alt.Y("top:Q", scale=down, axis=None),
        "y2": alt.Y2("bottom:Q"),
    }
    shade = alt.FillOpacity("shade:Q", scale=None)
    described = {"description": ABOUT} if named else {}
    drawn = base.mark_rect(fill=DATA[0], opacity=1, aria=named)
    layers = [drawn.encode(**corners, fillOpacity=shade, **described)]
    if any(square["marked"] for square in squares):
        framed = base.transform_filter("datum.marked").mark_rect(
            filled=False, stroke=DATA[1], strokeWidth=2, opacity=1
        )
        layers.append(framed.encode(**corners))
    if written and any(square["text"] for square in squares):
        text = base.mark_text(fontSize=TEXT).encode(
            x=alt.X("x:Q", scale=across, axis=None),
            y=alt.Y("y:Q", scale=down, axis=None),
            text=WRITTEN,
            color=COLOUR,
        )
        layers.append(text)
    return layers


_STACKS_STEP = 25
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
    result = []
    for bar in bars:
        parts = {part: share for part, share in bar.parts.items() if part in kept}
        rest = sum(share for part, share in bar.parts.items() if part not in kept)
        result.append(replace(bar, parts={**parts, OTHER: rest}))
    return result


def draw_stacks(
    bars: Sequence[Bar],
    axis: str,
    *,
    names: Mapping[str, str] | None = None,
    at_end: str = "",
    width: int = 720,
) -> Any:
    """Draw them."""
    bars = folded(bars)
    parts = list(dict.fromkeys(part for bar in bars for part in bar.parts))
    shown = [(names or {}).get(part, part) for part in parts]
    left = min(max(text_width(one_line(bar.row)) for bar in bars) * 1.1 + 8, 0.36 * width)
    wide, high = width - left - _RIGHT - 20, _STACKS_STEP * len(bars)
    rows = scale(len(bars) - 0.5, -0.5)
    y = alt.Y("y:Q", scale=rows, axis=None)
    x = alt.X(
        "x:Q",
        scale=scale(0, 1),
        axis=options(format="%", title=fitted(axis, wide), titleAnchor="start", tickCount=5, labelFlush=True),
    )
    boxes, shares = _boxes(bars, dict(zip(parts, shown, strict=True)), wide)
    top = alt.Y("top:Q", scale=rows, axis=None)
    base = Layer(inline(boxes)).encode(y=top, y2=alt.Y2("bottom:Q"), x=x, x2=alt.X2("end:Q"))
    areas = base.mark_rect(stroke=PAPER, strokeWidth=1, opacity=1, aria=True).encode(
        fill=INKED, description=ABOUT
    )
    inside = texts(shares, y, x, fontWeight="bold", align="center").encode(color=COLOUR)
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
        end = Layer(inline([{"text": fitted(at_end, width - 20)}])).encode(
            x=fixed("X", width - 20), text=WRITTEN
        )
        end = end.mark_text(align="right", fontSize=TEXT, color=SOFT)
        blocks.append(end.properties(width=width - 20, height=14))
    return alt.vconcat(*blocks, row, spacing=6)


def _boxes(
    bars: Sequence[Bar], parts: Mapping[str, str], wide: float
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    boxes: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    for index, bar in enumerate(bars):
        x = 0.0
        for position, (part, name) in enumerate(parts.items()):
            share = bar.parts.get(part, 0.0)
            if share <= 0:
                continue
            ink = DATA[position % len(DATA)]
            text = printed(share, percent=True)
            described = f"{bar.place}|{bar.row}: {text} {name}"
            box = {
                "top": index - 0.4,
                "bottom": index + 0.4,
                "x": x,
                "end": x + share,
                "ink": ink,
                "about": described,
            }
            boxes.append(box)
            if share * wide > text_width(text) + 8:
                ink = PAPER if position % len(DATA) in _DARK else _BLACK
                texts.append({"y": index, "x": x + share / 2, "text": text, "ink": ink})
            x += share
    return boxes, texts


def _column(names: Sequence[tuple[str, bool]], y: Any, width: float, height: float, ink: str) -> Any:
    rows = [
        {"y": index, "text": fitted(text, width), "bold": bold} for index, (text, bold) in enumerate(names)
    ]
    plain = texts(rows, y, color=ink).transform_filter("!datum.bold")
    bold = texts(rows, y, color=ink, fontWeight="bold").transform_filter("datum.bold")
    return alt.layer(plain, bold).properties(width=width, height=height)
