"""Values with their intervals, in rows: panels side by side, rows in groups, several marks a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import altair as alt

from quaver.core.records import Estimate
from quaver.report.charts.theme import (
    ABOUT,
    COLOUR,
    DATA,
    FILL,
    HEADING,
    INK,
    PAPER,
    SHAPE,
    SHAPES,
    SOFT,
    TEXT,
    WIDE_HEADING,
    WRITTEN,
    Layer,
    about,
    by_model,
    fitted,
    fixed,
    inline,
    legend,
    named,
    options,
    plainly,
    scale,
    text_width,
)
from quaver.report.estimate_index import Results
from quaver.report.page_words import one_line

_GAP = 14
_NARROWEST = 66
_PAD = 16
_PHONE = 480
_INDENT = 8
_SPACE = 0.45  # of a row, above a group


@dataclass(frozen=True, slots=True)
class Mark:
    """One value: in which panel, group, row and series it stands, and its interval.

    ``far`` are the ends of a thinner line that goes further, as of a distribution beyond its middle half.
    ``about`` is what the page says of it (`mark_words.about`); by default its names and numbers.
    """

    value: float
    low: float | None = None
    high: float | None = None
    row: str = ""
    group: str = ""
    panel: str = ""
    series: str = ""
    far: tuple[float, float] | None = None
    about: str = ""

    @classmethod
    def of(cls, estimate: Estimate, results: Results, **where: Any) -> Mark:
        """An estimate in its row, group, panel and series."""
        return cls(estimate.number, estimate.low, estimate.high, about=about(estimate, results), **where)


@dataclass(frozen=True, slots=True)
class Reference:
    """A dashed line to compare with; in every panel where it names none."""

    value: float
    text: str
    panel: str | None = None


@dataclass(frozen=True, slots=True)
class Forest:
    """What to draw.

    Attributes:
        marks: The values, in the order of their groups, rows, panels and series.
        axis: What the axis shows.
        percent: Whether values are shares.
        domain: Ends of the axis, widened where a mark lies outside.
        references: Lines to compare with.
        colour: What colours tell, ``"panel"`` or ``"series"``.
        order: The panels from left to right; by default as they come.
        names: Printed names of panels, where these are not the names.
        step: Height of a row, in pixels; by default less, the more there are.
    """

    marks: Sequence[Mark]
    axis: str
    percent: bool = False
    domain: tuple[float, float] | None = None
    references: Sequence[Reference] = ()
    colour: str = "series"
    order: Sequence[str] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    step: float = 0.0


@dataclass(frozen=True, slots=True)
class _Lines:
    """Where rows and group headings stand, from the top."""

    rows: dict[tuple[str, str], float]
    headings: dict[str, float]
    count: float


def draw_forest(forest: Forest, *, width: int = 720) -> Any:
    """Draw it."""
    lines = _lines(forest.marks)
    there = dict.fromkeys(mark.panel for mark in forest.marks)
    panels = [*(name for name in forest.order if name in there), *there] or [""]
    panels = list(dict.fromkeys(panels))
    series = list(dict.fromkeys(mark.series for mark in forest.marks)) or [""]
    left = _left(lines, width)
    gap = _GAP if width >= _PHONE else 9
    fit = max(1, int((width - left - _PAD) // (_NARROWEST + gap)))
    step = forest.step or _step(lines.count, len(series))
    across = [panels[index : index + fit] for index in range(0, len(panels), fit)]
    blocks: list[Any] = []
    if len(series) > 1:
        blocks.append(legend(series, width, coloured=forest.colour == "series"))
    for some in across:
        each = (width - left - _PAD) / min(fit, len(panels)) - gap
        parts: list[Any] = [_names(lines, left, step)]
        shared = all(reference.panel is None for reference in forest.references)
        rooms = [len(some) * (each + gap) if index == 0 else 0.0 for index in range(len(some))]  # said once
        parts += [
            _panel(
                forest,
                lines,
                panel,
                panels.index(panel),
                series,
                (each, step, rooms[index] if shared else each),
            )
            for index, panel in enumerate(some)
        ]
        blocks.append(alt.hconcat(*parts, spacing=gap, bounds="flush"))
    return alt.vconcat(*blocks, spacing=8)


def rounded_up(ends: Iterable[float]) -> float:
    """An end of an axis of shares that has room for all of these: in steps of a tenth, at most 1.

    >>> rounded_up([0.03, 0.16]), rounded_up([0.97]), rounded_up([])
    (0.2, 1.0, 0.1)
    """
    return min(1.0, max(1, ceil(10 * max(ends, default=0.0) + 0.1)) / 10)


def _lines(marks: Sequence[Mark]) -> _Lines:
    rows: dict[tuple[str, str], float] = {}
    headings: dict[str, float] = {}
    at = 0.0
    for group in dict.fromkeys(mark.group for mark in marks):
        if group:
            at += _SPACE if headings else 0.0
            headings[group] = at
            at += 1
        for row in dict.fromkeys(mark.row for mark in marks if mark.group == group):
            rows[group, row] = at
            at += 1
    return _Lines(rows, headings, at)


def _left(lines: _Lines, width: int) -> float:
    """Room for the names. On a phone, headings run on over the panels, which hold nothing beside them."""
    widest = max((text_width(one_line(row)) for _, row in lines.rows), default=0.0)
    if lines.headings:
        widest += _INDENT
        if width >= _PHONE:
            widest = max(widest, *(1.1 * text_width(one_line(group)) for group in lines.headings))
    return min(widest + 6, 0.42 * width)


def _step(lines: float, series: int) -> float:
    roomy = 19.0 if lines <= 30 else 16.5 if lines <= 70 else 14.5
    return max(roomy, 7.0 * series + (3 if series < 3 else 10))


def _scale(lines: _Lines) -> Any:
    return scale(lines.count - 0.4, -0.6)


def _names(lines: _Lines, left: float, step: float) -> Any:
    indent = _INDENT if lines.headings else 0
    texts: list[dict[str, Any]] = [
        {"y": at, "x": indent, **named(row, left - indent), "bold": 0} for (_, row), at in lines.rows.items()
    ]
    texts += [{"y": at, "x": 0, **named(g, 1.6 * left), "bold": 1} for g, at in lines.headings.items()]
    cut = any(text["about"] for text in texts)
    base = (
        Layer(inline(texts))
        .encode(
            y=alt.Y("y:Q", scale=_scale(lines), axis=None),
            x=alt.X("x:Q", scale=scale(0, left), axis=None),
            text=WRITTEN,
        )
        .properties(width=left, height=lines.count * step)
    )
    weight = options(expr="datum.bold ? 'bold' : 'normal'")
    base = base.encode(description=ABOUT) if cut else base
    return base.mark_text(align="left", fontSize=TEXT, fontWeight=weight, color=INK, aria=cut)


def _domain(forest: Forest) -> tuple[float, float]:
    ends = [end for m in forest.marks for end in (m.value, m.low, m.high, *(m.far or ())) if end is not None]
    ends += [reference.value for reference in forest.references]
    if forest.domain:
        ends += forest.domain
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    pad = 0.0 if forest.domain and (low, high) == tuple(forest.domain) else 0.03 * (high - low)
    return low - pad, high + pad


def _ticks(forest: Forest, width: float) -> dict[str, Any]:
    if forest.percent and forest.domain == (0.0, 1.0):
        steps = 1 if width < 90 else 2 if width < 200 else 4 if width < 420 else 5
        return {"values": [step / steps for step in range(steps + 1)], "format": "%"}
    few = 180 if forest.percent else 110
    return {"tickCount": 3 if width < few else 5, "format": "%" if forest.percent else "~g"}


def _panel(
    forest: Forest,
    lines: _Lines,
    panel: str,
    index: int,
    series: Sequence[str],
    sizes: tuple[float, float, float],
) -> Any:
    """One panel; of ``sizes``: its width, a row's height, and the room for what its dashed lines are."""
    width, step, room = sizes
    low, high = _domain(forest)
    x = alt.X(
        "value:Q",
        scale=scale(low, high),
        axis=options(
            title=fitted(forest.axis, max(width, room)) if index == 0 and width >= 110 else None,
            titleAnchor="start",
            **_ticks(forest, width),
            grid=True,
            labelFlush=True,
        ),
    )
    y = alt.Y("y:Q", scale=_scale(lines), axis=None)
    rows = _rows(forest, lines, panel, index, series, step)
    base = Layer(inline(rows)).encode(y=y, color=COLOUR)
    described = by_model(row["about"] for row in rows)
    lined = base.encode(description=ABOUT) if described else base
    layers: list[Any] = []
    known = [r for r in forest.references if r.panel is None or r.panel == panel]
    if known:
        # Kept within the panel, or it would push the heading up.
        inside = {"y": fixed("Y", 1), "y2": fixed("Y2", lines.count * step - 1)}
        dashed = Layer(inline([{"value": r.value} for r in known]))
        layers.append(dashed.mark_rule(strokeDash=[4, 3], color=SOFT, strokeWidth=1.2).encode(x=x, **inside))
    if any("first" in row for row in rows):
        far = lined.transform_filter("isValid(datum.first)").mark_rule(
            strokeWidth=1, opacity=0.7, aria=described
        )
        layers.append(far.encode(x=alt.X("first:Q"), x2=alt.X2("last:Q")))
    layers.append(
        lined.mark_rule(strokeWidth=1.6 if "first" not in (rows or [{}])[0] else 3, aria=described).encode(
            x=alt.X("low:Q"), x2=alt.X2("high:Q")
        )
    )
    layers.append(
        base.mark_point(size=46, opacity=1, strokeWidth=1.4, aria=True).encode(
            x=x,
            shape=SHAPE,
            fill=FILL,
            description=ABOUT,
        )
    )
    drawn = alt.layer(*layers).properties(width=width, height=lines.count * step)
    headed = any(mark.panel for mark in forest.marks) or any(r.text for r in forest.references)
    return drawn.properties(title=_heading(forest, panel, (width, room))) if headed else drawn


def _heading(forest: Forest, panel: str, rooms: tuple[float, float]) -> Any:
    """A panel's name in its width, and what the dashed lines are in all the room that there is for it."""
    common: dict[str, Any] = {"anchor": "start", "frame": "group", "offset": 4, "color": INK}
    width, room = rooms
    known = [r.text for r in forest.references if r.text and r.panel in (None, panel)]
    references = ", ".join(known)
    name = forest.names.get(panel, panel)
    if not name:
        text = fitted(references, 0.9 * width) or "\u00a0"
        return options(text=text, fontSize=TEXT, fontWeight="normal", **common | {"color": SOFT})
    if not any(r.text for r in forest.references):
        return options(text=fitted(name, width, WIDE_HEADING), fontSize=HEADING, **common)
    # Headings stand at one height only where each has a second line, as tall as the others'.
    return options(
        text=fitted(name, width, WIDE_HEADING),
        subtitle=fitted(references, room + 8) if room and references else "dashed",
        subtitleColor=SOFT if room and references else "transparent",
        fontSize=HEADING,
        subtitleFontSize=TEXT,
        **common,
    )


def _rows(
    forest: Forest, lines: _Lines, panel: str, index: int, series: Sequence[str], step: float
) -> list[dict[str, Any]]:
    spread = min(7.0, (step - 3) / len(series)) / step
    rows = []
    for mark in forest.marks:
        if mark.panel != panel:
            continue
        position = series.index(mark.series)
        ink = DATA[(index if forest.colour == "panel" else position) % len(DATA)]
        row: dict[str, Any] = {
            "y": lines.rows[mark.group, mark.row] + spread * (position - (len(series) - 1) / 2),
            "value": mark.value,
            "low": mark.low,
            "high": mark.high,
            "ink": ink,
            "fill": ink if position % 2 == 0 else PAPER,
            "shape": SHAPES[position % len(SHAPES)],
            "about": mark.about or _plainly(forest, mark),
        }
        if mark.far is not None:
            row |= {"first": mark.far[0], "last": mark.far[1]}
        rows.append(row)
    return rows


def _plainly(forest: Forest, mark: Mark) -> str:
    names = (mark.group, mark.row, forest.names.get(mark.panel, mark.panel), mark.series)
    return plainly(names, mark.value, forest.percent, (mark.low, mark.high))
