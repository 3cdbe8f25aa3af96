"""A chart as an inline picture: it scales, follows the page's light and dark colours, and has words.

The SVG that the renderer writes is parsed and written anew: what a picture does not need (roles of its
parts, links, anything active) is dropped, ids are made unique in the page, and the known colours become
the page's own.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from contextlib import AbstractContextManager
from typing import Any

import vl_convert
from altair.utils import schemapi
from markupsafe import Markup

from quaver.report.charts.theme import DATA, INK, PAPER, RULE, SOFT

__all__ = ["inline_svg", "svg_text", "unchecked"]

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
_URL = re.compile(r"url\(#([\w-]+)\)")


def unchecked() -> AbstractContextManager[None]:
    """Charts made in here are not held against Vega-Lite's schema, which takes longer than drawing them."""
    return schemapi.debug_mode(False)


def svg_text(chart: Any) -> str:
    """Any Altair chart as SVG.

    Args:
        chart: Trusted to be one that Vega-Lite can draw.
    """
    return vl_convert.vegalite_to_svg(chart.to_dict(validate=False))


def inline_svg(chart: Any, name: str, alternative: str) -> Markup:
    """Render a chart for the page.

    Args:
        chart: Any Altair chart.
        name: Unique in the page; ids inside start with it.
        alternative: What the picture shows, for those who do not see it.
    """
    root = ET.fromstring(svg_text(chart))
    _clean(root, name)
    width, height = root.attrib["viewBox"].split()[2:]
    root.attrib.update({"role": "img", "aria-label": alternative, "width": width, "height": height})
    ET.register_namespace("", _SVG)
    return Markup(ET.tostring(root, encoding="unicode"))


def _clean(element: ET.Element, name: str) -> None:
    kept = {key: value for key, value in element.attrib.items() if key in _KEPT}
    element.attrib.clear()
    styles = []
    for key, value in kept.items():
        if key == "id":
            value = f"{name}-{value}"
        elif colour := _COLOURS.get(value.lower()):
            styles.append(f"{key}:var(--{colour})")
            continue
        element.attrib[key] = _URL.sub(rf"url(#{name}-\1)", value)
    if styles:
        element.attrib["style"] = ";".join(styles)
    for child in list(element):
        drawn = child.tag.removeprefix(f"{{{_SVG}}}") in _DRAWN
        if drawn and not _invisible(child):
            _clean(child, name)
        else:
            element.remove(child)


def _invisible(element: ET.Element) -> bool:
    """Whether it is one of the renderer's empty backgrounds, which are a third of the file."""
    return element.get("class") == "background" and not {"fill", "stroke"} & element.attrib.keys()
