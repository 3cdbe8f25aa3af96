"""A chart as an inline picture: it scales, follows the page's light and dark colours, and has words.

The SVG that the renderer writes is parsed and written anew: what a picture does not need (roles of its
parts, links, anything active) is dropped, ids are made unique in the page, and the known colours become
the page's own.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from contextlib import AbstractContextManager
from functools import cache, lru_cache
from typing import Any

import altair as alt
import vl_convert
from altair.utils import schemapi
from markupsafe import Markup, escape

from quaver.report.charts.theme import (
    BARE,
    DATA,
    FONT,
    INK,
    MARGIN,
    PAPER,
    RULE,
    SOFT,
    TEXT,
    TITLE,
    taken_apart,
    text_width,
    title_lines,
)

_ALTAIRS_OWN = "default"
"""The renderer before anybody chooses one; its script comes from a network."""


def offline(chart: Any) -> Any:
    """The chart, which a notebook shows as a picture unless you have chosen a renderer of Altair's.

    >>> chart = offline(alt.Chart().mark_point())
    >>> isinstance(chart, alt.Chart), sorted(chart._repr_mimebundle_())
    (True, ['image/svg+xml'])
    """
    made = chart.copy(deep=False)
    kind: Any = type(chart)
    object.__setattr__(made, "__class__", _offline(kind))
    return made


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
    colour: f"data-{place}" for place, colour in enumerate(DATA)
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
    """A picture with its title above it, which need not be drawn anew for that.

    Args:
        picture: SVG, as `svg_text` gives it of a chart without a title.
        title: What it shows.
        subtitle: What the marks mean.
        width: That the title's lines may have, in pixels.
    """
    lines, below = title_lines(title, subtitle, width)
    rows: list[tuple[str, float, str]] = [(line, TITLE, f'fill="{INK}" font-weight="600"') for line in lines]
    rows += [(line, TEXT, f'fill="{SOFT}"') for line in below]
    high, head = float(MARGIN), []
    for line, size, look in rows:
        at = f'x="{MARGIN}" y="{high + 0.8 * size:g}" font-family="{FONT}" font-size="{size}px"'
        head.append(f"<text {at} {look}>{escape(line)}</text>")
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
    found = _VIEW.search(picture)
    assert found is not None  # the renderer writes one
    return float(found[1]), float(found[2])


def inline_svg(picture: str, name: str, alternative: str, whole: float) -> Markup:
    """A picture for the page: its marks say what they are about, and lead to the prompts that they are of.

    Args:
        picture: SVG, as `svg_text` gives it.
        name: Unique in the page; ids inside start with it.
        alternative: What the picture shows, for those who do not see it.
        whole: Width at which a picture fills the page's column: letters are of one size in all of them.
    """
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
    for at, child in reversed(list(enumerate(element))):
        drawn = child.tag.removeprefix(f"{{{_SVG}}}") in _DRAWN
        if not drawn or _invisible(child):
            del element[at]
            continue
        about = taken_apart(child.get("aria-label", ""))
        _clean(child, name)
        if about is not None:
            element[at] = _described(child, *about, pointed=kind.startswith(_POINTED))
    if "role-scope" in kind:
        models = {one.get("data-model", "") for one in element.iter() if one.get("class") == "described"}
        if len(models) == 1 and (model := models.pop()):
            element.set("data-panel", model)


def _described(mark: ET.Element, prompt: str, model: str, words: str, *, pointed: bool) -> ET.Element:
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
