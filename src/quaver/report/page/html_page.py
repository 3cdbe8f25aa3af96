"""The report: its first screen, one HTML file with everything in it, and its figures and tables as files."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import starmap
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
from markupsafe import Markup, escape

from quaver.core.estimate_frame import Deviations
from quaver.core.records import Estimate
from quaver.core.replaced_file import replace_text, room_for
from quaver.core.rows import SECTIONS, grouped
from quaver.core.variant_display import marked_messages, origin_in_words
from quaver.errors import StoreError
from quaver.report.charts.chart import Figure
from quaver.report.charts.figures import error_in_words, gallery
from quaver.report.charts.svg import FORMATS, inline_svg, plain_svg, svg_text
from quaver.report.decoding_words import decodings_in_words
from quaver.report.estimate_index import Results
from quaver.report.findings.first_screen import screen_html
from quaver.report.findings.key_results import section_sentences
from quaver.report.findings.verdict_card import Card, card, card_of_fields
from quaver.report.page.method import measured, rules
from quaver.report.page.paper_parts import paper_parts
from quaver.report.page_templates import template
from quaver.report.page_words import visible
from quaver.report.tables.study_tables import Behind, page_tables
from quaver.report.tables.table import estimates_table
from quaver.report.tables.written_tables import write_estimates, write_tables

_MOST_PROMPTS = 400
_LISTED_PROMPTS = 20
"""Of more, the others are folded in."""

_PRINTED_ROWS = 30
"""Of a table, on paper; the style sheet counts to it as well."""


def write_report(
    folder: Path,
    *,
    lock: Mapping[str, Any],
    annotations: pl.DataFrame,
    estimates: Sequence[Estimate],
    audit: Sequence[Estimate] = (),
    deviations: Deviations | None = None,
    behind: Behind | None = None,
    figures: bool = True,
) -> Path:
    """Write ``report.html``, ``estimates.csv``, ``figures/`` (SVG, PNG and PDF) and ``tables/``.

    Returns:
        The report's path.
    """
    results = Results(lock, annotations, estimates, audit)
    shown, broken = gallery(results)
    shown, pictures = drawn(shown, broken)
    tables = page_tables(results, deviations, behind)
    parts = [figure_part(figure, pictures[figure.name]) for figure in shown]
    known = card(results)
    paper, script = paper_parts(results, tables["cost"]), _script()
    measures = [*results.estimates, *results.audit]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if figures:
            write_pictures(shown, pictures, folder / "figures")
        write_estimates([*results.estimates, *_further(results)], folder / "estimates.csv")
        write_tables([*(part["table"] for part in parts), *tables.values()], folder / "tables")
        text = template("report.html").render(
            results=results,
            lock=lock,
            sentences=section_sentences(results),
            screen=screen_html({**known.screen, "moves": ""}),
            moves=known.moves,
            figures=_by_section(parts),
            broken=broken,
            tables=tables,
            has_files=figures,
            paper=paper,
            measured=measured(measures),
            rules=rules(results),
            sampled=decodings_in_words(results.lock),
            printed_rows=_PRINTED_ROWS,
            listed_prompts=_LISTED_PROMPTS,
            prompts=list(shown_prompts(results, _MOST_PROMPTS, behind)),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
        path = folder / "report.html"
        replace_text(path, visible(text))
    except OSError as error:
        raise _unwritten(folder, error) from error
    return path


def _by_section(parts: Sequence[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    result: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in SECTIONS}
    for part in parts:
        result[part["figure"].section][part["figure"].name] = part
    return result


def _unwritten(folder: Path, error: OSError) -> StoreError:
    is_file = isinstance(error, NotADirectoryError | FileExistsError)
    return StoreError(
        "the report cannot be written",
        where=str(folder),
        found=str(error),
        fix="name a folder" if is_file else f"{room_for(error)}, then: `quaver report STUDY`",
    )


def _script() -> str:
    """The page's one script: its parts, none of which needs another to have run before it."""
    texts = ['"use strict";']
    parts = (files("quaver.report") / "templates" / "script").iterdir()
    for file in sorted(parts, key=lambda part: part.name):
        if file.name.endswith(".js"):
            texts.append(file.read_text(encoding="utf-8"))
    return "\n".join(texts)


def _further(results: Results) -> list[Estimate]:
    """The audit's estimates that the study did not ask for itself."""
    asked = {(estimate.measure, *estimate.cell.items()) for estimate in results.estimates}
    return [estimate for estimate in results.audit if (estimate.measure, *estimate.cell.items()) not in asked]


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
            broken[figure.name] = error_in_words(error)
    return [figure for figure in shown if figure.name in pictures], pictures


def write_pictures(shown: Sequence[Figure], pictures: Mapping[str, tuple[str, str]], folder: Path) -> None:
    """Write each figure as SVG, PNG and PDF, without its title, which a paper has in the caption."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in shown:
        path = folder / f"{figure.name}.svg"
        svg = plain_svg(pictures[figure.name][0])
        # an earlier report finished the same picture with the SVG
        there = all(path.with_suffix(kind).exists() for kind in FORMATS)
        if not there or path.read_bytes() != svg.encode():
            for ending, written in FORMATS.items():
                (folder / f"{figure.name}{ending}").write_bytes(written(svg))


def figure_part(figure: Figure, pictures: tuple[str, str]) -> dict[str, Any]:
    """A figure as templates show it: its pictures, its table, and what there is to note of its numbers."""
    wide, narrow = pictures
    return {
        "figure": figure,
        "wide": inline_svg(wide, f"{figure.name}-{WIDE}", figure.alternative, WIDE),
        "narrow": inline_svg(narrow, f"{figure.name}-{NARROW}", figure.alternative, NARROW),
        "table": estimates_table(figure.estimates, name=f"figure-{figure.name}"),
        "notes": notes(figure.estimates),
    }


def notes(estimates: Sequence[Estimate]) -> list[str]:
    """The warnings of some estimates: of those that differ in their numbers alone, the first, and how many.

    >>> some = [Estimate("a", 0.5, warnings=(f"only {n} of 60 items differ",)) for n in (3, 4)]
    >>> notes(some)
    ['only 3 of 60 items differ (for instance, of 2 numbers)']
    """
    warnings, lines = list[str](), list[str]()
    for estimate in estimates:
        warnings += estimate.warnings
    for first, *others in grouped(warnings, lambda warning: _DIGITS.sub("#", warning)).values():
        differ = "for instance, " if {*others} - {first} else ""
        lines.append(f"{first} ({differ}of {len(others) + 1:,} numbers)" if others else first)
    return lines


def shown_prompts(results: Results, most: int, behind: Behind | None = None) -> Iterator[dict[str, Any]]:
    """The first variants of a study as the page shows them: name, answers, origin, and marked messages."""
    original = results.lock.get("original", ())
    for place, variant in enumerate(results.variants[:most], 1):
        covariates: Mapping[str, Any] = variant.get("covariates", {})
        example = variant.get("example", ())
        messages = marked_messages(original or example, example)
        media = [behind.picture(said) if behind and role == "media" else "" for role, said in example]
        yield {
            "place": place,
            "name": results.variant_name(variant["id"]),
            "id": variant["id"],
            "answers": {results.label_name(code): answer for code, answer in variant["answers"].items()},
            "origin": origin_in_words(variant.get("origin", {}), covariates),
            "flagged": bool(covariates.get("flagged")),
            "messages": [
                (role, Markup("").join(starmap(_marked, pieces)), uri)
                for (role, pieces), uri in zip(messages, media, strict=True)
            ],
        }


def _marked(kind: str, piece: str) -> Markup:
    """A part of a text as inserted, deleted or kept, in HTML; the text is escaped."""
    opening, closing = _TAGS[kind]
    return Markup(opening) + escape(piece) + Markup(closing)


def write_fields_page(
    folder: Path,
    name: str,
    cards: Mapping[str, Card],
    links: Mapping[str, str],
    estimates: Sequence[Estimate],
    notes: Sequence[str] = (),
) -> Path:
    """Write ``report.html`` and ``estimates.csv``; the fields' own reports are there already.

    Args:
        folder: Where to.
        name: The study's name.
        cards: Each field's verdict.
        links: Each field's report, seen from the page.
        estimates: What was measured, with the field in the cells.
        notes: What there is to know of the study's design.

    Returns:
        The page's path.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_estimates(estimates, folder / "estimates.csv")
        whole = card_of_fields(cards, {field: quote(link) for field, link in links.items()})
        screen = screen_html({**whole.screen, "name": name})
        text = template("fields.html").render(name=name, notes=notes, screen=screen)
        path = folder / "report.html"
        replace_text(path, visible(text))
    except OSError as error:
        raise _unwritten(folder, error) from error
    return path
