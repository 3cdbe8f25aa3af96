"""Numbers from 0 to 1 by row and column, as darker and lighter squares, in panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from quaver.report.charts.mark_words import ABOUT, plainly
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
    panel_heading,
    text_width,
)
from quaver.report.plain_text import one_line

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


def draw(grid: Grid, *, width: int = 720) -> Any:
    """Draw it: the larger the number, the more colour; a marked square has a frame."""
    panels = list(dict.fromkeys(square.panel for square in grid.squares))
    fit = 1 if grid.named else max(1, int((width - 10) // (grid.side + _GAP)))
    blocks = []
    for at in range(0, len(panels), fit):
        shown = [_panel(grid, panel, width) for panel in panels[at : at + fit]]
        blocks.append(alt.hconcat(*shown, spacing=_GAP, bounds="flush"))
    return alt.vconcat(*blocks, spacing=14)


def _panel(grid: Grid, panel: str, width: int) -> Any:
    own = [square for square in grid.squares if square.panel == panel]
    rows = list(dict.fromkeys(square.row for square in own))
    columns = list(dict.fromkeys(square.column for square in own))
    left = min(max(text_width(one_line(row)) for row in rows) + 10, 0.4 * width) if grid.named else 0.0
    each = max(92.0, *(text_width(one.text) + 26 for one in own))
    wide = min(each * len(columns), width - left - 16) if grid.named else grid.side
    above = _ABOVE if grid.named else 0.0
    high = _STEP * (len(rows) + above) if grid.named else grid.side
    scales = (
        options(domain=[-0.5, len(columns) - 0.5], nice=False),
        options(domain=[len(rows) - 0.5, -0.5 - above], nice=False),
    )
    x, y = alt.X("x:Q", scale=scales[0], axis=None), alt.Y("y:Q", scale=scales[1], axis=None)
    squares = [
        _square(one, columns.index(one.column), rows.index(one.row), wide / len(columns)) for one in own
    ]
    drawn = _squares(squares, scales, written=len(squares) <= 400, named=grid.named)
    if grid.named:
        drawn.append(_column_names(columns, x, y, wide / len(columns)))
    body = alt.layer(*drawn).properties(width=wide, height=high)
    if not grid.named:
        name, under = grid.names.get(panel, panel), grid.headings.get(panel, "")
        return body.properties(title=panel_heading(name, under, wide))
    beside = _texts([{"x": 0, "y": at, "text": fitted(row, left)} for at, row in enumerate(rows)], y)
    named = [beside.properties(width=left, height=high), body]
    return alt.hconcat(*named, spacing=0, bounds="flush")


def _column_names(columns: Sequence[str], x: Any, y: Any, width: float) -> Any:
    above = [
        {"x": at, "y": -0.5 - _ABOVE / 2, "text": fitted(column, 1.2 * width - 6)}
        for at, column in enumerate(columns)
    ]
    texts = Layer(inline(above)).mark_text(fontSize=TEXT, color=SOFT)
    return texts.encode(x=x, y=y, text=alt.Text("text:N"))


def _square(one: Square, column: int, row: int, width: float) -> dict[str, Any]:
    inset = 0.02
    text = one.text if text_width(one.text) < width - 8 else one.text.partition(" · ")[0]
    return {
        "x": column,
        "y": row,
        "left": column - 0.5 + inset,
        "right": column + 0.5 - inset,
        "top": row - 0.5 + inset,
        "bottom": row + 0.5 - inset,
        "value": one.value,
        "shade": round(0.05 + 0.87 * min(1.0, max(0.0, one.value)), 2),
        "text": text,
        "ink": PAPER if one.value > 0.85 else INK,
        "marked": one.marked,
        "about": one.about or plainly((one.panel, one.row, one.column), one.value),
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
            text=alt.Text("text:N"),
            color=alt.Color("ink:N", scale=None),
        )
        layers.append(text)
    return layers


def _texts(rows: list[dict[str, Any]], y: Any) -> Any:
    return (
        Layer(inline(rows))
        .mark_text(align="left", fontSize=TEXT, color=INK)
        .encode(y=y, x=fixed("X", 0), text=alt.Text("text:N"))
    )
