"""The page of a collection: each study's verdict, its measures beside the others', and pooled effects."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from quaver.core.estimate_frame import estimates_frame
from quaver.core.records import Estimate
from quaver.core.replaced_file import replace_text
from quaver.errors import QuaverError, StoreError
from quaver.many_studies.collection_tables import by_study, pooled_table, size_table, spreads_of
from quaver.many_studies.opened_studies import OpenedStudies
from quaver.papers.catalogue import kind_of, paper_of
from quaver.papers.paper_figures import drawing
from quaver.papers.published_table import PublishedTable, answers_of
from quaver.report.charts.accuracy_charts import size_spread_figure
from quaver.report.charts.chart import Figure
from quaver.report.charts.figures import Gallery
from quaver.report.page.figure_data import download
from quaver.report.page.notes import drawn, figure_part, write_pictures
from quaver.report.page_templates import template
from quaver.report.page_words import visible
from quaver.report.tables.written_tables import write_tables

_PRINTED_ROWS = 60


class StudyPart(NamedTuple):
    """A study on the page.

    Attributes:
        name: Its name in the collection.
        lines: Its verdict.
        link: Where its report is, seen from the page; empty where the page stands alone.
    """

    name: str
    lines: Sequence[str]
    link: str


def write_collection_page(
    of: OpenedStudies,
    estimates: Sequence[Estimate],
    folder: Path,
    *,
    linked: bool = True,
    packed: bool = False,
) -> Path:
    """Write ``report.html``, ``tables/`` and ``figures/``, and the studies' own reports."""
    parts = []
    for name, study in of.studies.items():
        link = ""
        if linked:
            link = _link(study.report(folder / name if packed else None), folder)
        parts.append(StudyPart(name, study.verdict().lines, link))
    measures, effects = list(by_study(estimates)), pooled_table(estimates)
    sizes = size_table(estimates, given := sizes_of(of))
    tables = {measure.table.name: measure.table for measure in measures} | {
        effects.name: effects,
        sizes.name: sizes,
    }
    try:
        csv = write_tables(tables, {"estimates": estimates_frame(estimates)}, folder / "tables")
        spreads = size_spread_figure(spreads_of(estimates), given, sizes)
        figures, saved = _figures([spreads] if spreads else [], folder / "figures")
        of_paper, more_saved = _figures(list(_of_paper(of)) if linked else [], folder / "figures")
        text = template("collection.html").render(
            name=of.spec.name,
            description=of.spec.description,
            answered=of.status().answered,
            studies=parts,
            by_study=measures,
            pooled=effects,
            sizes=sizes,
            figures=figures,
            of_paper=of_paper,
            saved=_saved(csv, "csv", "text/csv") | saved | more_saved,
            printed_rows=_PRINTED_ROWS,
        )
        path = folder / "report.html"
        replace_text(path, visible(text))
    except OSError as error:
        raise StoreError(
            "the report cannot be written", where=str(folder), found=str(error), fix="name another folder"
        ) from error
    return path


def _of_paper(of: OpenedStudies) -> Iterator[Figure]:
    """The figures of the paper whose recipe it is; those with nothing to draw are left out."""
    paper = paper_of(of.path)
    answers = answers_of(of.studies) if paper else []
    made: dict[str, PublishedTable] = {}
    for kind in paper.figures if paper else ():
        if kind.table and kind.table not in made:
            made[kind.table] = kind_of(kind.table).make(answers)
        shown = made.get(kind.table)
        try:
            draw = drawing(kind, answers, shown)
        except QuaverError:
            continue
        yield Figure(
            draw=draw,
            estimates=[],
            title=kind.title,
            name=f"paper-{kind.number.replace('.', '')}",
            alternative=kind.title,
            table=shown.table if shown else None,
        )


def sizes_of(of: OpenedStudies) -> dict[str, float]:
    """The models' sizes, as the measure ``spread`` of the studies gives them."""
    result: dict[str, float] = {}
    for study in of.studies.values():
        for spec in study.spec.measures:
            sizes = spec.options.get("sizes") if spec.use == "spread" else None
            if isinstance(sizes, Mapping):
                result |= {str(model): float(size) for model, size in sizes.items()}
    return result


def _figures(figures: list[Figure], folder: Path) -> tuple[list[dict[str, Any]], dict[str, Markup]]:
    """The figures as the page shows them, and the links that save them."""
    shown = Gallery(figures)
    pictures = drawn(shown)
    svg = write_pictures(shown, pictures, folder) if shown.figures else {}
    parts = [figure_part(figure, pictures[figure.name], figure.table) for figure in shown.figures]
    return parts, _saved(svg, "svg", "image/svg+xml")


def _saved(texts: Mapping[str, str], ending: str, kind: str) -> dict[str, Markup]:
    """Links that save files: whole, since the page has no script that would unpack them."""
    return {
        f"{name}.{ending}": download(f"{name}.{ending}", text.encode(), kind, words=ending.upper())
        for name, text in texts.items()
    }


def _link(report: Path, folder: Path) -> str:
    return quote(Path(os.path.relpath(report, folder)).as_posix())
