"""Values over values: points or lines with their intervals, in panels, several series each."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

import altair as alt
import vl_convert
from altair.utils import schemapi
from markupsafe import Markup, escape

from quaver.core.records import Estimate
from quaver.report.charts.theme import (
    ABOUT,
    BARE,
    COLOUR,
    DATA,
    FILL,
    FONT,
    INK,
    INKED,
    MARGIN,
    PAPER,
    RULE,
    SHAPE,
    SOFT,
    TEXT,
    TITLE,
    Layer,
    about,
    by_model,
    fitted,
    in_rows,
    inline,
    legend,
    look,
    options,
    panel_heading,
    plainly,
    scale,
    taken_apart,
    text_width,
    title_lines,
)
from quaver.report.estimate_index import Results
from quaver.report.page_words import printed

_GAP = 26
_AXIS = 50
_NARROWEST = 190
_HEIGHT = 250
_Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Spot:
    """One point: where it is, its intervals upwards and across, and in which panel and series it stands.

    ``about`` is what the page says of it (`mark_words.about`); by default its names and numbers. ``name`` is
    printed beside it.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    panel: str = ""
    series: str = ""
    size: float = 38
    left: float | None = None
    right: float | None = None
    about: str = ""
    name: str = ""

    @classmethod
    def of(cls, x: float, estimate: Estimate, results: Results, **where: Any) -> Spot:
        """An estimate at a place across, in its panel and series."""
        return cls(x, estimate.number, estimate.low, estimate.high, about=about(estimate, results), **where)


@dataclass(frozen=True, slots=True)
class Guide:
    """A dashed line to compare with: level at a value, or, where it has none, the diagonal."""

    text: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Plane:
    """What to draw.

    Attributes:
        spots: The points.
        across: What the horizontal axis shows.
        up: What the vertical one shows.
        joined: Whether a series is a line with a band, not points with bars.
        x_ends: Ends of the horizontal axis, widened where a point lies outside.
        y_ends: Of the vertical one.
        percent: Which axes show shares: any of ``"xy"``.
        guides: Lines to compare with, in every panel.
        order: The series in the order of the legend; by default as they come.
        names: Printed names of panels, where these are not the names.
        beside: How many panels stand side by side; as many as fit if None.
        high: How high a panel is, in pixels.
    """

    spots: Sequence[Spot]
    across: str
    up: str
    joined: bool = False
    x_ends: tuple[float, float] | None = None
    y_ends: tuple[float, float] | None = None
    percent: str = ""
    guides: Sequence[Guide] = ()
    order: Sequence[str] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    beside: int | None = None
    high: float = _HEIGHT


def draw_plane(plane: Plane, *, width: int = 720) -> Any:
    """Draw it."""
    panels = list(dict.fromkeys(spot.panel for spot in plane.spots))
    series = list(dict.fromkeys([*plane.order, *(spot.series for spot in plane.spots)]))
    fit = plane.beside or max(1, int((width - 10) // (_NARROWEST + _AXIS + _GAP)))
    fit = min(len(panels), fit)
    each = (width - 10) / fit - _AXIS - _GAP
    blocks: list[Any] = [legend(series, width)] if len(series) > 1 else []
    blocks += in_rows([_panel(plane, panel, series, each) for panel in panels], fit, _GAP)
    return alt.vconcat(*blocks, spacing=10)


def _ends(values: Sequence[float], wanted: tuple[float, float] | None) -> tuple[float, float]:
    low, high = min((*values, *(wanted or ()))), max((*values, *(wanted or ())))
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    if wanted and (low, high) == tuple(wanted):
        return low, high
    pad = 0.04 * (high - low)
    return low - pad, high + pad


def _panel(plane: Plane, panel: str, series: Sequence[str], width: float) -> Any:
    xs = [end for spot in plane.spots for end in (spot.x, spot.left, spot.right) if end is not None]
    ys = [end for spot in plane.spots for end in (spot.y, spot.low, spot.high) if end is not None]
    levels = [guide.value for guide in plane.guides if guide.value is not None]
    x_ends, y_ends = _ends(xs, plane.x_ends), _ends([*ys, *levels], plane.y_ends)
    x = alt.X(
        "x:Q",
        scale=scale(*x_ends),
        axis=_axis(plane.across, "x" in plane.percent, width),
    )
    up = _axis(plane.up, "y" in plane.percent, plane.high)
    if max(ys) - min(ys) < up["tickCount"] and all(float(end).is_integer() for end in ys):
        up.setdefault("format", "d")
        up["values"] = list(range(int(min(ys)), int(max(ys)) + 1))
    y = alt.Y("y:Q", scale=scale(*y_ends), axis=up)
    own = [_row(_described(plane, spot), series) for spot in plane.spots if spot.panel == panel]
    own = [row | {"name": fitted(row["name"], 0.45 * width)} for row in own]
    base = Layer(inline(own)).encode(x=x, color=COLOUR, detail=alt.Detail("series:N"))
    named = by_model(row["about"] for row in own)
    bars = base.encode(description=ABOUT) if named else base
    layers = [*_guides(plane.guides, x, x_ends, y_ends), *_intervals(bars, plane, x_ends, y_ends, aria=named)]
    if plane.joined:
        thick = alt.StrokeWidth("thick:Q", scale=None)
        layers.append(bars.mark_line(aria=named).encode(y=y, strokeWidth=thick))
    layers.append(
        base.mark_point(opacity=1, strokeWidth=1.4, aria=True).encode(
            y=y,
            description=ABOUT,
            shape=SHAPE,
            fill=FILL,
            size=alt.Size("size:Q", scale=None),
        )
    )
    if any(row["name"] for row in own):
        placed = Layer(inline(_placed(own, x_ends, y_ends, width, plane.high))).encode(x=x, color=COLOUR)
        layers.append(_names(placed, x_ends, y_ends))
    guides = ", ".join(guide.text for guide in plane.guides if guide.text)
    drawn = alt.layer(*layers).properties(width=width, height=plane.high)
    if not guides and not any(spot.panel for spot in plane.spots):
        return drawn
    return drawn.properties(title=panel_heading(plane.names.get(panel, panel), guides, width))


_ABOVE, _LINE = 8, 14
_ASIDE = (0, -2 * _ABOVE, _LINE, -2 * _ABOVE - _LINE, 2 * _LINE, -2 * _ABOVE - 2 * _LINE, 3 * _LINE)
"""How far above its usual place a name may stand, in pixels, in the order in which they are tried."""


def _placed(
    own: Sequence[dict[str, Any]], x_ends: _Ends, y_ends: _Ends, width: float, tall: float
) -> list[dict[str, Any]]:
    """Each point with ``up``: where its name stands, so that it lies on no other name and in the panel."""
    across, up = width / (x_ends[1] - x_ends[0]), tall / (y_ends[1] - y_ends[0])
    taken: list[tuple[float, float, float]] = []
    result = []
    for row in sorted(own, key=lambda one: (-one["y"], one["x"])):
        wide, at = text_width(row["name"]), (row["x"] - x_ends[0]) * across
        start = at + 6 if row["x"] <= sum(x_ends) / 2 else at - 6 - wide
        usual = (row["y"] - y_ends[0]) * up + _ABOVE
        heights = [usual + step for step in _ASIDE if _LINE / 2 <= usual + step <= tall - _LINE / 2]
        free = (
            high
            for high in heights
            if not any(
                start < end and begin < start + wide and abs(high - other) < _LINE
                for begin, end, other in taken
            )
        )
        high = next(free, usual)
        taken += [(start, start + wide, high)] if row["name"] else []
        aside = bool(row["name"]) and abs(high - usual) > _LINE  # a line leads from the mark to its name
        result.append(row | {"up": y_ends[0] + high / up, "aside": aside})
    return result


def _names(placed: Any, x_ends: _Ends, y_ends: _Ends) -> Any:
    """Each point's name, on the side where there is room for it."""
    middle = sum(x_ends) / 2
    left, right = (
        placed.transform_filter(f"datum.x {sign} {middle}")
        .mark_text(align=align, dx=dx, fontSize=TEXT, aria=False)
        .encode(y=alt.Y("up:Q", scale=scale(*y_ends)), text="name:N")
        for sign, align, dx in (("<=", "left", 6), (">", "right", -6))
    )
    away = placed.transform_filter("datum.aside").mark_rule(strokeWidth=0.7, aria=False)
    leaders = away.encode(y=alt.Y("y:Q", scale=scale(*y_ends)), y2="up:Q")
    return alt.layer(leaders, left, right)


def _axis(text: str, percent: bool, length: float) -> Any:
    return options(
        title=fitted(text, length),
        **({"format": "%"} if percent else {}),
        tickCount=4 if length < 260 else 6,
        grid=True,
        labelFlush=True,
    )


def _described(plane: Plane, spot: Spot) -> Spot:
    """The point with what the page says of it."""
    if spot.about:
        return spot
    names = (plane.names.get(spot.panel, spot.panel), spot.series)
    up = plainly((*names, plane.up), spot.y, "y" in plane.percent, (spot.low, spot.high))
    return replace(spot, about=f"{up}, at {plane.across} {printed(spot.x, 'x' in plane.percent)}")


_DRAWN_OF_SPOT = ("x", "y", "low", "high", "left", "right", "size", "about", "name")


def _row(spot: Spot, series: Sequence[str]) -> dict[str, Any]:
    index = series.index(spot.series)
    thick = 1.8 + 1.2 * (
        len(series) - 1 - index if len(series) < 5 else 0
    )  # lines that coincide are all seen
    row = {name: getattr(spot, name) for name in _DRAWN_OF_SPOT} | {"series": index, "thick": thick}
    return row | look(index)


def _intervals(
    base: Any, plane: Plane, x_ends: tuple[float, float], y_ends: tuple[float, float], *, aria: bool
) -> list[Any]:
    known = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    between = {"y": alt.Y("low:Q", scale=scale(*y_ends)), "y2": alt.Y2("high:Q")}
    if not plane.joined:
        bars = [known.mark_rule(strokeWidth=1.2, aria=aria).encode(**between)]
        if any(spot.left is not None for spot in plane.spots):
            across = {"x": alt.X("left:Q", scale=scale(*x_ends)), "x2": alt.X2("right:Q")}
            known = base.transform_filter("isValid(datum.left) && isValid(datum.right)")
            level = alt.Y("y:Q", scale=scale(*y_ends))
            bars.append(known.mark_rule(strokeWidth=1.2, aria=aria).encode(**across, y=level))
        return bars
    several = len({spot.series for spot in plane.spots}) > 1
    band = known.mark_area(fillOpacity=0.07 if several else 0.16, aria=aria).encode(fill=INKED, **between)
    if not several:
        return [band]
    edge = known.mark_line(strokeWidth=0.8, strokeDash=[2, 2], opacity=0.8, aria=False)
    ends = (alt.Y(f"{end}:Q", scale=scale(*y_ends)) for end in ("low", "high"))
    return [band, *(edge.encode(y=end) for end in ends)]  # where bands overlap, their edges tell them apart


def _guides(
    guides: Sequence[Guide], x: Any, x_ends: tuple[float, float], y_ends: tuple[float, float]
) -> list[Any]:
    result = []
    for guide in guides:
        low, high = max(x_ends[0], y_ends[0]), min(x_ends[1], y_ends[1])
        ends = [(end, end) for end in (low, high)]
        if guide.value is not None:
            ends = [(end, guide.value) for end in x_ends]
        rows = [{"x": across, "y": up} for across, up in ends]
        line = Layer(inline(rows)).mark_line(strokeDash=[4, 3], color=SOFT, strokeWidth=1.2)
        result.append(line.encode(x=x, y=alt.Y("y:Q", scale=scale(*y_ends))))
    return result


_ALTAIRS_OWN = "default"
"""The renderer before anybody chooses one; its script comes from a network."""


def offline(chart: Any) -> Any:
    """The chart, which a notebook shows as a picture unless you have chosen a renderer of Altair's.

    >>> chart = offline(alt.Chart().mark_point())
    >>> isinstance(chart, alt.Chart), sorted(chart._repr_mimebundle_())
    (True, ['image/svg+xml'])
    """
    result = chart.copy(deep=False)
    kind: Any = type(chart)
    object.__setattr__(result, "__class__", _offline(kind))
    return result


@cache
def _offline(kind: Any) -> type[Any]:
    def _repr_mimebundle_(self: Any, *include: Any, **options: Any) -> Any:
        if alt.renderers.active != _ALTAIRS_OWN:
            return kind._repr_mimebundle_(self, *include, **options)
        with alt.renderers.enable("svg"):
            return kind._repr_mimebundle_(self, *include, **options)

    return type(
        kind.__name__, (kind,), {"_repr_mimebundle_": _repr_mimebundle_, "__module__": kind.__module__}
    )


_SVG = "http://www.w3.org/2000/svg"
_COLOURS = {INK: "ink", SOFT: "soft", RULE: "rule", PAPER: "paper"} | {
    colour: f"data-{index}" for index, colour in enumerate(DATA)
}
_KEPT = frozenset(
    (
        *("d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "viewBox"),
        *("transform", "clip-path", "id", "fill", "fill-opacity", "opacity", "stroke", "stroke-opacity"),
        *("stroke-width", "stroke-dasharray", "stroke-miterlimit", "stroke-linecap"),
        *("text-anchor", "font-size", "font-weight", "font-style"),
    )
)
_DRAWN = frozenset({"svg", "g", "path", "rect", "line", "text", "tspan", "circle", "defs", "clipPath"})
_POINTED = ("mark-symbol", "mark-rect", "mark-arc")
"""Marks that say what they stand for; lines and bands beside them say only of which model they are."""

_VIEW = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_ABOUT = re.compile(r'(?<= aria-label=")\d*\.\d*\|')
_PLACES = frozenset({"d", "transform", "x", "y", "x1", "x2", "y1", "y2", "width", "height"})
_LONG = re.compile(r"(\.\d\d)\d+")
_URL = re.compile(r"url\(#([\w-]+)\)")


def unchecked() -> AbstractContextManager[None]:
    """Charts made in here are not held against Vega-Lite's schema, which takes longer than drawing them."""
    return schemapi.debug_mode(False)


def svg_text(chart: Any) -> str:
    """Any Altair chart as SVG."""
    return _drawn(json.dumps(chart.to_dict(validate=False)))


@lru_cache(maxsize=96)
def _drawn(specification: str) -> str:
    """A bundle that verifies itself, and a report made twice, have the same charts again."""
    return str(vl_convert.vegalite_to_svg(specification))


def titled(picture: str, title: str, subtitle: str, width: float) -> str:
    """A picture with its title above it, which need not be drawn anew for that."""
    lines, below = title_lines(title, subtitle, width)
    rows: list[tuple[str, float, str]] = [(line, TITLE, f'fill="{INK}" font-weight="600"') for line in lines]
    rows += [(line, TEXT, f'fill="{SOFT}"') for line in below]
    high, head = float(MARGIN), []
    for line, size, style in rows:
        at = f'x="{MARGIN}" y="{high + 0.8 * size:g}" font-family="{FONT}" font-size="{size}px"'
        head.append(f"<text {at} {style}>{escape(line)}</text>")
        high += size + 2
    picture = _ABOUT.sub("", picture)
    (wide, tall), rim = _size(picture), MARGIN - BARE
    whole = max(wide + 2 * rim, 2 * MARGIN + max(text_width(line, size) for line, size, _ in rows))
    box = f'width="{whole:g}" height="{high + tall + 2 * rim:g}"'
    inside = f'<g transform="translate({rim},{high + rim:g})">{_inside(picture)}</g>'
    view = f'viewBox="0 0 {whole:g} {high + tall + 2 * rim:g}"'
    paper = f'<rect {box} fill="{PAPER}"/>'
    return f'<svg xmlns="{_SVG}" version="1.1" {box} {view}>{paper}{"".join(head)}{inside}</svg>'


def _inside(picture: str) -> str:
    """All but the outermost element: a picture in a picture takes three times as long to make a PNG of."""
    return picture[picture.index(">") + 1 : picture.rindex("</svg>")]


def _size(picture: str) -> tuple[float, float]:
    match = _VIEW.search(picture)
    assert match is not None  # the renderer writes one
    return float(match[1]), float(match[2])


def inline_svg(picture: str, name: str, alternative: str, whole: float) -> Markup:
    """A picture for the page: its marks say what they are about, and lead to the prompts that they are of."""
    root = ET.fromstring(picture)
    _clean(root, name)
    described = any(one.get("class") == "described" for one in root.iter())
    width, height = _size(picture)
    size = {"width": f"{width:g}", "height": f"{height:g}"}
    root.set("style", f"width:{min(100.0, 100 * width / whole):.4g}%")
    root.attrib.update({"role": "group" if described else "img", "aria-label": alternative, **size})
    ET.register_namespace("", _SVG)
    return Markup(ET.tostring(root, encoding="unicode"))


def _clean(element: ET.Element, name: str) -> None:
    kind = element.get("class", "")
    kept = {key: value for key, value in element.attrib.items() if key in _KEPT}
    element.attrib.clear()
    styles = []
    for key, value in kept.items():
        if key == "id":
            value = f"{name}-{value}"
        elif colour := _COLOURS.get(value.lower()):
            styles.append(f"{key}:var(--{colour})")
            continue
        if key == "opacity" and value == "1":
            continue
        value = _LONG.sub(r"\1", value) if key in _PLACES else value
        element.attrib[key] = _URL.sub(rf"url(#{name}-\1)", value) if value.startswith("url") else value
    if styles:
        element.attrib["style"] = ";".join(styles)
    for index, child in reversed(list(enumerate(element))):
        drawn = child.tag.removeprefix(f"{{{_SVG}}}") in _DRAWN
        if not drawn or _invisible(child):
            del element[index]
            continue
        about = taken_apart(child.get("aria-label", ""))
        _clean(child, name)
        if about is not None:
            element[index] = _svg_described(child, *about, pointed=kind.startswith(_POINTED))
    if "role-scope" in kind:
        models = {one.get("data-model", "") for one in element.iter() if one.get("class") == "described"}
        if len(models) == 1 and (model := models.pop()):
            element.set("data-panel", model)


def _svg_described(mark: ET.Element, prompt: str, model: str, words: str, *, pointed: bool) -> ET.Element:
    """A mark with its words, and in a link to its prompt; a line with its model, a name with its words."""
    if mark.tag == f"{{{_SVG}}}text":  # a shortened name, with the whole of it
        whole = ET.Element(f"{{{_SVG}}}title")
        whole.text, whole.tail, mark.text = words, mark.text, None
        mark.insert(0, whole)
        return mark
    if not pointed:
        mark.attrib.update({"data-model": model} if model else {})
        return mark
    around = (
        ET.Element(f"{{{_SVG}}}a", {"href": f"#prompt-{prompt}"}) if prompt else ET.Element(f"{{{_SVG}}}g")
    )
    around.set("class", "described")
    if model:
        around.set("data-model", model)
    ET.SubElement(around, f"{{{_SVG}}}title").text = words
    around.append(mark)
    return around


def _invisible(element: ET.Element) -> bool:
    """Whether it is one of the renderer's empty backgrounds, which are a third of the file."""
    return element.get("class") == "background" and not {"fill", "stroke"} & element.attrib.keys()
