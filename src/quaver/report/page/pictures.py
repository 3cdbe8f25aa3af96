"""The figures as pictures: drawn once for a screen and once for a phone, and written as files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import vl_convert

from quaver.report.charts.figures import Gallery, in_words
from quaver.report.charts.svg import svg_text, titled, unchecked

WIDE = 760
"""Width of a chart on a screen, in pixels; where there is more room it is enlarged."""

NARROW = 344
"""Width of a chart for a phone."""


class Pictures(NamedTuple):
    """A figure as SVG, without its title: for a screen and for a phone."""

    wide: str
    narrow: str


def drawn(shown: Gallery) -> dict[str, Pictures]:
    """The figures as pictures; those that cannot be drawn go to the gallery's broken ones."""
    pictures: dict[str, Pictures] = {}
    for figure in shown.figures:
        try:
            with unchecked():
                pictures[figure.name] = Pictures(*(svg_text(figure.chart(width)) for width in (WIDE, NARROW)))
        except Exception as error:  # whatever another package's chart raises
            shown.broken[figure.name] = in_words(error)
    shown.figures = [figure for figure in shown.figures if figure.name in pictures]
    return pictures


def write_pictures(shown: Gallery, pictures: Mapping[str, Pictures], folder: Path | None) -> dict[str, str]:
    """Write each figure with its title as SVG, PNG and PDF; without a folder, make the SVG alone.

    Returns:
        The SVG files by the figures' names.
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for figure in shown.figures:
        svg = titled(pictures[figure.name].wide, figure.title, figure.subtitle, WIDE)
        if folder is not None and not _written(svg, folder / f"{figure.name}.svg"):
            (folder / f"{figure.name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=2))
            (folder / f"{figure.name}.pdf").write_bytes(vl_convert.svg_to_pdf(svg))
            (folder / f"{figure.name}.svg").write_text(svg, encoding="utf-8")
        written[figure.name] = svg
    return written


def _written(svg: str, path: Path) -> bool:
    """Whether an earlier report wrote the same picture, which it finished with the SVG."""
    others = all(path.with_suffix(kind).exists() for kind in (".png", ".pdf"))
    return others and path.exists() and path.read_bytes() == svg.encode()
