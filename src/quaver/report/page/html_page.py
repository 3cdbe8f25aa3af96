"""The report: one HTML file, its figures and ``estimates.csv``, in a study's folder."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import polars as pl
import vl_convert
from markupsafe import Markup

from quaver.core.deviation_tables import Deviations
from quaver.core.presentation import SECTIONS
from quaver.core.records import Estimate
from quaver.errors import StoreError
from quaver.report.charts.figure import Figure
from quaver.report.charts.figures import Gallery, gallery, in_words
from quaver.report.charts.svg import inline_svg, svg_text, titled, unchecked
from quaver.report.estimate_index import Results
from quaver.report.findings.causes import Cause, causes
from quaver.report.findings.finding import STABLE, finding
from quaver.report.page.evidence import Behind
from quaver.report.page.figure_data import figure_data
from quaver.report.page.method import measured, method_paragraph, noise_in_words, references, rules
from quaver.report.page.page_tables import estimates_frame, page_tables, summary_frame
from quaver.report.page.prompt_examples import shown_prompts
from quaver.report.plain_text import slug, visible
from quaver.report.table_rows import Table, certified, estimates_table, remarks
from quaver.report.tables.estimates_csv import write_estimates
from quaver.report.tables.written_tables import write_tables

_WIDE = 720
_NARROW = 344
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
    noise: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    audit: Sequence[Estimate] = (),
    deviations: Deviations | None = None,
    behind: Behind | None = None,
) -> Path:
    """Write ``report.html``, ``estimates.csv``, ``figures/`` (SVG, PNG and PDF) and ``tables/``.

    Args:
        folder: Where they go; made where it is missing.
        lock: The document of ``study.lock.json``.
        annotations: The annotation frame, with a column for each factor.
        estimates: Of any measures, in any cells. Label shares are best asked for with
            ``missing="category"``, by model, decoding, variant and evaluator.
        noise: The engine's own noise by model; empty where it was not measured.
        audit: Estimates of how the answers were read: evaluators compared, compliance, what is missing.
        deviations: The answers that deviate from their item's modal label; without them there is no table
            of the worst.
        behind: Where item texts, raw answers and costs are looked up; without it the report has none.

    Returns:
        The report's path.

    Raises:
        StoreError: The files cannot be written.
    """
    results = Results(lock, annotations, estimates, noise, audit)
    shown = gallery(results)
    pictures = _drawn(shown)
    found = causes(results, deviations)
    tables = page_tables(results, deviations, found, behind)
    every = [*results.estimates, *_further(results)]
    try:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        write_estimates(every, folder / "estimates.csv")
        behind_figures = {f"figure-{figure.name}": _figure_table(figure) for figure in shown.figures}
        frames = {"estimates": estimates_frame(every), "annotations": summary_frame(results)}
        write_tables({**behind_figures, **tables}, frames, folder / "tables")
        for figure in shown.figures:
            _write_figure(figure, pictures[figure.name].wide, folder / "figures")
        path = folder / "report.html"
        part = path.with_name("report.html.part")
        page = _page(results, shown, pictures, found, tables, figure_data(results, deviations, behind))
        part.write_text(page, encoding="utf-8", errors="backslashreplace")
        part.replace(path)
    except OSError as error:
        raise StoreError(
            "the report cannot be written",
            where=str(folder),
            found=str(error),
            fix="make room, then report again",
        ) from error
    return path


class _Pictures(NamedTuple):
    """A figure as SVG, without its title: for a screen and for a phone."""

    wide: str
    narrow: str


def _drawn(shown: Gallery) -> dict[str, _Pictures]:
    """The figures as pictures; those that cannot be drawn go to the gallery's broken ones."""
    pictures: dict[str, _Pictures] = {}
    for figure in shown.figures:
        try:
            pictures[figure.name] = _pictures(figure)
        except Exception as error:  # whatever another package's chart raises
            shown.broken[figure.name] = in_words(error)
    shown.figures = [figure for figure in shown.figures if figure.name in pictures]
    return pictures


def _pictures(figure: Figure) -> _Pictures:
    with unchecked():
        return _Pictures(*(svg_text(figure.chart(width)) for width in (_WIDE, _NARROW)))


def _write_figure(figure: Figure, picture: str, folder: Path) -> None:
    svg = titled(picture, figure.title, figure.subtitle, _WIDE)
    (folder / f"{figure.name}.svg").write_text(svg, encoding="utf-8")
    (folder / f"{figure.name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=2))
    (folder / f"{figure.name}.pdf").write_bytes(vl_convert.svg_to_pdf(svg))


def _page(
    results: Results,
    shown: Gallery,
    pictures: Mapping[str, _Pictures],
    found: Sequence[Cause],
    tables: Mapping[str, Table],
    data: Markup,
) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("quaver.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["slug"] = slug
    script = _script()
    text = environment.get_template("report.html").render(
        results=results,
        lock=results.lock,
        finding=finding(results),
        figures=_by_section(shown.figures, pictures),
        broken=shown.broken,
        tables=tables,
        causes=found,
        flips_warnings=remarks([one for one in results.audit if one.measure == "evaluator_flips"]),
        noise_in_words=noise_in_words(results),
        method=method_paragraph(results, tables["cost"]),
        measured=measured([*results.estimates, *results.audit]),
        references=references([*results.estimates, *results.audit]),
        rules=rules(results),
        stable=STABLE,
        printed_rows=_PRINTED_ROWS,
        listed_prompts=_LISTED_PROMPTS,
        prompts=list(shown_prompts(results, _MOST_PROMPTS)),
        figure_data=data,
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return visible(text)


def _script() -> str:
    """The page's one script: its parts, none of which needs another to have run before it."""
    parts = (one for one in (files("quaver.report") / "templates" / "script").iterdir())
    some = sorted((one for one in parts if one.name.endswith(".js")), key=lambda one: one.name)
    return '"use strict";\n' + "\n".join(one.read_text(encoding="utf-8") for one in some)


def _further(results: Results) -> list[Estimate]:
    """The audit's estimates that the study did not ask for itself."""
    asked = {(one.measure, *one.cell.items()) for one in results.estimates}
    return [one for one in results.audit if (one.measure, *one.cell.items()) not in asked]


def _by_section(
    drawn: Sequence[Figure], pictures: Mapping[str, _Pictures]
) -> dict[str, dict[str, dict[str, Any]]]:
    sections: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in SECTIONS}
    for figure in drawn:
        sections[figure.section or "more"][figure.name] = _shown(figure, pictures[figure.name])
    return sections


def _figure_table(figure: Figure) -> Table:
    return figure.table or estimates_table(figure.estimates)


def _shown(figure: Figure, pictures: _Pictures) -> dict[str, Any]:
    return {
        "figure": figure,
        "wide": inline_svg(pictures.wide, f"{figure.name}-{_WIDE}", figure.alternative),
        "narrow": inline_svg(pictures.narrow, f"{figure.name}-{_NARROW}", figure.alternative),
        "table": replace(_figure_table(figure), name=f"figure-{figure.name}"),
        "warnings": [*remarks(figure.estimates), *certified(figure.estimates)],
    }
