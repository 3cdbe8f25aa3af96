"""What the page shows of figures and prompts: pictures, tables, notes, marked texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import vl_convert
from markupsafe import Markup, escape

from quaver.core.records import Estimate
from quaver.core.variant_display import marked_messages, origin_in_words
from quaver.report.charts.chart import Figure
from quaver.report.charts.figures import in_words
from quaver.report.charts.specification import BREAK
from quaver.report.charts.svg import inline_svg, svg_text
from quaver.report.estimate_index import Results
from quaver.report.tables.table import estimates_table

WIDE = 760
"""Width of a chart on a screen, in pixels; where there is more room it is enlarged."""

NARROW = 344
"""Width of a chart for a phone."""

_DIGITS = re.compile(r"\d[\d.,e]*")
_TAGS = {"gone": ("<del>", "</del>"), "new": ("<ins>", "</ins>"), "same": ("", "")}


def drawn(shown: Sequence[Figure], broken: dict[str, str]) -> tuple[list[Figure], dict[str, tuple[str, str]]]:
    """The figures as SVG without titles, for a screen and a phone; what fails goes to the broken ones."""
    pictures = {}
    for figure in shown:
        try:
            pictures[figure.name] = (svg_text(figure.chart(WIDE)), svg_text(figure.chart(NARROW)))
        except Exception as error:  # whatever another package's chart raises
            broken[figure.name] = in_words(error)
    return [figure for figure in shown if figure.name in pictures], pictures


def write_pictures(shown: Sequence[Figure], folder: Path | None) -> dict[str, str]:
    """Write each figure with its title as SVG, PNG and PDF; without a folder, make the SVG alone.

    Returns:
        The SVG files by the figures' names.
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for figure in shown:
        svg = svg_text(figure.chart(WIDE, titled=True)).replace(BREAK, "")
        if folder is not None and not _is_written(svg, folder / f"{figure.name}.svg"):
            (folder / f"{figure.name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=2))
            (folder / f"{figure.name}.pdf").write_bytes(vl_convert.svg_to_pdf(svg))
            (folder / f"{figure.name}.svg").write_text(svg, encoding="utf-8")
        written[figure.name] = svg
    return written


def _is_written(svg: str, path: Path) -> bool:
    """Whether an earlier report wrote the same picture, which it finished with the SVG."""
    others = all(path.with_suffix(kind).exists() for kind in (".png", ".pdf"))
    return others and path.exists() and path.read_bytes() == svg.encode()


def figure_part(figure: Figure, pictures: tuple[str, str]) -> dict[str, Any]:
    """A figure as templates show it: its pictures, its table, and what there is to note of its numbers."""
    table = figure.table or estimates_table(figure.estimates)
    wide, narrow = (
        inline_svg(picture, f"{figure.name}-{width}", figure.alternative, width)
        for picture, width in zip(pictures, (WIDE, NARROW), strict=True)
    )
    return {
        "figure": figure,
        "wide": wide,
        "narrow": narrow,
        "table": replace(table, name=f"figure-{figure.name}"),
        "notes": notes(figure.estimates),
    }


def notes(estimates: Sequence[Estimate]) -> list[str]:
    """The warnings of some estimates: of those that differ in their numbers alone, the first, and how many.

    >>> some = [Estimate("a", 0.5, warnings=(f"only {n} of 60 items differ",)) for n in (3, 4)]
    >>> notes(some)
    ['only 3 of 60 items differ (for instance, of 2 numbers)']
    """
    kinds: dict[str, list[str]] = {}
    for warning in (warning for estimate in estimates for warning in estimate.warnings):
        kinds.setdefault(_DIGITS.sub("#", warning), []).append(warning)
    return [
        same[0]
        if len(same) == 1
        else f"{same[0]} ({'' if len({*same}) == 1 else 'for instance, '}of {len(same):,} numbers)"
        for same in kinds.values()
    ]


def shown_prompts(results: Results, most: int) -> Iterator[dict[str, Any]]:
    """The first variants of a study as the page shows them: name, answers, origin, and marked messages."""
    original = results.lock.get("original", ())
    for place, variant in enumerate(results.variants[:most], 1):
        covariates: Mapping[str, Any] = variant.get("covariates", {})
        messages = marked_messages(original or variant.get("example", ()), variant.get("example", ()))
        yield {
            "place": place,
            "name": results.variant_name(variant["id"]),
            "id": variant["id"],
            "answers": {results.label_name(code): answer for code, answer in variant["answers"].items()},
            "origin": origin_in_words(variant.get("origin", {}), covariates),
            "flagged": bool(covariates.get("flagged")),
            "messages": [
                (role, Markup("").join(_marked(*piece) for piece in pieces)) for role, pieces in messages
            ],
        }


def _marked(kind: str, piece: str) -> Markup:
    """A part of a text as inserted, deleted or kept, in HTML; the text is escaped."""
    opening, closing = _TAGS[kind]
    return Markup(opening) + escape(piece) + Markup(closing)
