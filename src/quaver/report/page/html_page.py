"""The report: one HTML file with everything in it, and its figures and tables as files beside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from quaver.core.estimate_frame import Deviations, estimates_frame
from quaver.core.presentation import SECTIONS
from quaver.core.records import Estimate
from quaver.core.replaced_file import replace_text
from quaver.errors import StoreError
from quaver.report.charts.chart import Figure
from quaver.report.charts.figures import Gallery, gallery
from quaver.report.charts.svg import inline_svg
from quaver.report.estimate_index import Results
from quaver.report.findings.causes import Cause, causes
from quaver.report.findings.finding import STABLE, finding
from quaver.report.page.downloads import download
from quaver.report.page.evidence import Behind
from quaver.report.page.figure_data import figure_data
from quaver.report.page.first_screen import first_screen
from quaver.report.page.method import measured, noise_in_words, references, rules
from quaver.report.page.notes import Notes, template
from quaver.report.page.page_tables import page_tables, summary_frame
from quaver.report.page.paper_boxes import paper_boxes
from quaver.report.page.paper_parts import paper_parts
from quaver.report.page.pictures import NARROW, WIDE, Pictures, drawn, write_pictures
from quaver.report.page.prompt_examples import shown_prompts
from quaver.report.plain_text import slug, visible
from quaver.report.table_rows import Table, estimates_table
from quaver.report.tables.estimates_csv import write_estimates
from quaver.report.tables.written_tables import write_tables

_MOST_PROMPTS = 400
_LISTED_PROMPTS = 20
"""Of more, the others are folded in."""

_PRINTED_ROWS = 30
"""Of a table, on paper; the style sheet counts to it as well."""

_ORDER = (
    *("finding", "readiness", "factors", "conclusions", "stability", "sensitivity"),
    *("accuracy", "coders", "answers", "more"),
)
"""The sections whose figures have notes, in the order of the page."""


@dataclass(slots=True)
class _Made:
    """What the page shows, made once."""

    results: Results
    shown: Gallery
    pictures: Mapping[str, Pictures]
    causes: Sequence[Cause]
    tables: Mapping[str, Table]
    figure_tables: Mapping[str, Table]
    notes: Notes
    noted: Mapping[str, Sequence[Any]]
    data: Markup
    csv: Mapping[str, str]
    svg: Mapping[str, str]


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
    figures: bool = True,
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
        figures: Whether ``figures/`` is written; the page has its pictures all the same.

    Returns:
        The report's path.

    Raises:
        StoreError: The files cannot be written.
    """
    results = Results(lock, annotations, estimates, noise, audit)
    shown = gallery(results)
    pictures = drawn(shown)
    found = causes(results, deviations)
    tables = page_tables(results, deviations, found, behind)
    notes = Notes()
    noted = _noted(shown, results, notes)
    of_figures = {
        figure.name: replace(_figure_table(figure, notes), name=f"figure-{figure.name}")
        for figure in shown.figures
    }
    try:
        svg = write_pictures(shown, pictures, folder / "figures" if figures else None)
        csv = _written_tables(folder, results, {**{one.name: one for one in of_figures.values()}, **tables})
        data = figure_data(results, deviations, behind)
        made = _Made(results, shown, pictures, found, tables, of_figures, notes, noted, data, csv, svg)
        path = folder / "report.html"
        replace_text(path, _page(made))
    except OSError as error:
        raise _unwritten(folder, error) from error
    return path


def _written_tables(folder: Path, results: Results, tables: Mapping[str, Table]) -> dict[str, str]:
    """Write the tables and all estimates; each file's text by its name."""
    every = [*results.estimates, *_further(results)]
    write_estimates(every, folder / "estimates.csv")
    frames = {"estimates": estimates_frame(every), "annotations": summary_frame(results)}
    csv = write_tables(tables, frames, folder / "tables")
    return {**csv, "estimates": (folder / "estimates.csv").read_bytes().decode()}


def _unwritten(folder: Path, error: OSError) -> StoreError:
    is_file = isinstance(error, NotADirectoryError | FileExistsError)
    return StoreError(
        "the report cannot be written",
        where=str(folder),
        found=str(error),
        fix="name a folder" if is_file else "free some space, then run `quaver report` again",
    )


def _noted(shown: Gallery, results: Results, notes: Notes) -> dict[str, Sequence[Any]]:
    """The notes by what they are about, numbered in the order of the page."""
    places = {name: at for at, name in enumerate(_ORDER)}
    ordered = sorted(shown.figures, key=lambda one: places[one.section or "more"])
    noted = {
        figure.name: notes.take(figure.estimates, f"figure-{figure.name}", figure.title) for figure in ordered
    }
    flips = [one for one in results.audit if one.measure == "evaluator_flips"]
    return {**noted, "evaluators": notes.take(flips, "answers", "Two ways of reading the answers")}


def _figure_table(figure: Figure, notes: Notes) -> Table:
    return figure.table or estimates_table(figure.estimates, notes.mark)


def _page(made: _Made) -> str:
    script = _script()
    results, tables = made.results, made.tables
    found = finding(results)
    measures = [*results.estimates, *results.audit]
    paper = paper_parts(results, tables["cost"])
    text = template("report.html").render(
        results=results,
        lock=results.lock,
        finding=found,
        card=first_screen(results, found),
        figures=_by_section(made),
        broken=made.shown.broken,
        tables=tables,
        notes=made.notes,
        noted=made.noted,
        saved=_downloads(made),
        causes=made.causes,
        noise_in_words=noise_in_words(results),
        paper=paper,
        boxes=paper_boxes(paper),
        measured=measured(measures),
        references=references(measures),
        rules=rules(results),
        stable=STABLE,
        printed_rows=_PRINTED_ROWS,
        listed_prompts=_LISTED_PROMPTS,
        prompts=list(shown_prompts(results, _MOST_PROMPTS)),
        figure_data=made.data,
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return visible(text)


def _script() -> str:
    """The page's one script: its parts, none of which needs another to have run before it."""
    parts = (one for one in (files("quaver.report") / "templates" / "script").iterdir())
    some = sorted((one for one in parts if one.name.endswith(".js")), key=lambda one: one.name)
    return '"use strict";\n' + "\n".join(one.read_text(encoding="utf-8") for one in some)


def _downloads(made: _Made) -> dict[str, Markup]:
    """The files inside the page, as links, by the names of tables and figures."""
    tables = {
        f"{name}.csv": download(f"{slug(name)}.csv", text, "text/csv", words="CSV")
        for name, text in made.csv.items()
        if name not in ("estimates", "annotations")
    }
    pictures = {
        f"{name}.svg": download(f"{name}.svg", text, "image/svg+xml", words="SVG")
        for name, text in made.svg.items()
    }
    whole = {"estimates.csv": download("estimates.csv", made.csv["estimates"], "text/csv")}
    return tables | pictures | whole


def _further(results: Results) -> list[Estimate]:
    """The audit's estimates that the study did not ask for itself."""
    asked = {(one.measure, *one.cell.items()) for one in results.estimates}
    return [one for one in results.audit if (one.measure, *one.cell.items()) not in asked]


def _by_section(made: _Made) -> dict[str, dict[str, dict[str, Any]]]:
    sections: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in SECTIONS}
    for figure in made.shown.figures:
        pictures = made.pictures[figure.name]
        sections[figure.section or "more"][figure.name] = {
            "figure": figure,
            "wide": inline_svg(pictures.wide, f"{figure.name}-{WIDE}", figure.alternative, WIDE),
            "narrow": inline_svg(pictures.narrow, f"{figure.name}-{NARROW}", figure.alternative, NARROW),
            "table": made.figure_tables[figure.name],
            "notes": made.noted[figure.name],
        }
    return sections
