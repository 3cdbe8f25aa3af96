"""Charts as SVG: for files, and inline in the page, whose light and dark colours they follow."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from typing import Any, Final

import vl_convert
from markupsafe import Markup, escape

from quaver.report.charts.specification import BREAK, DATA, INK, PAPER, SOFT

_ALTAIRS_OWN = "default"
"""The renderer before anybody chooses one; its script comes from a network."""


def as_altair(spec: Any) -> Any:
    """A specification as an Altair chart, which a notebook shows as a picture without a network.

    A renderer of Altair's that you have chosen is used instead.

    >>> chart = as_altair({"data": {"values": []}, "mark": "point", "encoding": {}})
    >>> sorted(chart._repr_mimebundle_())
    ['image/svg+xml']
    """
    import altair as alt

    result: Any = alt.Chart.from_dict(spec)
    kind: Any = type(result)
    object.__setattr__(result, "__class__", _offline(kind))
    return result


@cache
def _offline(kind: Any) -> type[Any]:
    import altair as alt

    def _repr_mimebundle_(self: Any, *include: Any, **options: Any) -> Any:
        if alt.renderers.active != _ALTAIRS_OWN:
            return kind._repr_mimebundle_(self, *include, **options)
        with alt.renderers.enable("svg"):
            return kind._repr_mimebundle_(self, *include, **options)

    return type(
        kind.__name__, (kind,), {"_repr_mimebundle_": _repr_mimebundle_, "__module__": kind.__module__}
    )


_SVG = "http://www.w3.org/2000/svg"
_COLOURS = {INK: "ink", SOFT: "soft", "#dddddd": "rule", PAPER: "paper"} | {
    colour: f"data-{index}" for index, colour in enumerate(DATA)
}
_NUMBERS = "d transform x y x1 x2 y1 y2 width height"
_LOOKS = """
    dy cx cy r rx ry viewBox clip-path id fill fill-opacity opacity stroke stroke-opacity stroke-width
    stroke-dasharray stroke-miterlimit stroke-linecap text-anchor font-size font-weight font-style
"""
_ELEMENTS = "svg g path rect line text tspan circle defs clipPath title"
_PLACES = frozenset(_NUMBERS.split())
_KEPT = _PLACES.union(_LOOKS.split())
_DRAWN = frozenset(_ELEMENTS.split())
_VIEW = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_LONG = re.compile(r"(\.\d\d)\d+")
_URL = re.compile(r"url\(#([\w-]+)\)")


def svg_text(chart: Any) -> str:
    """A specification, or any Altair chart, as SVG."""
    spec = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
    picture = _drawn(json.dumps(spec))
    for short, whole in ((spec.get("usermeta") or {}).get("names") or {}).items():
        text = str(escape(short))
        picture = picture.replace(f">{text}<", f">{text}<title>{escape(whole)}</title><")
    return picture


@lru_cache(maxsize=96)
def _drawn(specification: str) -> str:
    """A bundle that verifies itself, and a report made twice, have the same charts again."""
    return str(vl_convert.vegalite_to_svg(specification))


def plain_svg(picture: str) -> str:
    """A picture for a file."""
    return picture.replace(f' aria-label="{BREAK}', ' aria-label="')


FORMATS: Final[Mapping[str, Callable[[str], bytes]]] = {
    ".png": partial(vl_convert.svg_to_png, scale=2),
    ".pdf": vl_convert.svg_to_pdf,
    ".svg": str.encode,
}
"""The files that a picture is written to, by their endings; the SVG last, when the others are there."""


def _size(picture: str) -> tuple[float, float]:
    match = _VIEW.search(picture)
    assert match is not None  # the renderer writes one
    return float(match[1]), float(match[2])


def inline_svg(picture: str, name: str, alternative: str, whole: float) -> Markup:
    """A picture for the page, whose marks say what they are about."""
    root = ET.fromstring(picture)
    _clean(root, name)
    described = any(element.get("class") == "described" for element in root.iter())
    width, height = _size(picture)
    size = {"width": f"{width:g}", "height": f"{height:g}"}
    root.set("style", f"width:{min(100.0, 100 * width / whole):.4g}%")
    root.attrib.update({"role": "group" if described else "img", "aria-label": alternative, **size})
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
        if key == "opacity" and value == "1":
            continue
        value = _LONG.sub(r"\1", value) if key in _PLACES else value
        element.attrib[key] = _URL.sub(rf"url(#{name}-\1)", value) if value.startswith("url") else value
    if styles:
        element.attrib["style"] = ";".join(styles)
    for index, child in reversed(list(enumerate(element))):
        drawn = child.tag.removeprefix(f"{{{_SVG}}}") in _DRAWN
        # the renderer's empty backgrounds are a third of the file
        empty = child.get("class") == "background" and not {"fill", "stroke"} & child.attrib.keys()
        if not drawn or empty:
            del element[index]
            continue
        words = child.get("aria-label", "")
        _clean(child, name)
        if words.startswith(BREAK):
            element[index] = ET.Element(f"{{{_SVG}}}g", {"class": "described"})
            ET.SubElement(element[index], f"{{{_SVG}}}title").text = words.removeprefix(BREAK)
            element[index].append(child)
