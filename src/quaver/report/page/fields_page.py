"""The report of a study with fields: what to do with each field's labels, and its measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from quaver.core.estimate_frame import estimates_frame
from quaver.core.records import Estimate
from quaver.core.replaced_file import replace_text
from quaver.errors import StoreError
from quaver.report.findings.verdict_card import Card, card_of_fields
from quaver.report.page_templates import template
from quaver.report.page_words import download, presentation_of, slug, visible
from quaver.report.tables.table import Table, estimates_table
from quaver.report.tables.written_tables import write_estimates, write_tables

_PRINTED_ROWS = 60


def write_fields_page(
    folder: Path,
    name: str,
    cards: Mapping[str, Card],
    links: Mapping[str, str],
    estimates: Sequence[Estimate],
    notes: Sequence[str] = (),
) -> Path:
    """Write ``report.html``, ``estimates.csv`` and ``tables/``; the fields' own reports are there already.

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
    tables = _tables(estimates)
    try:
        frames = {"estimates": estimates_frame(estimates)}
        csv = write_tables({table.name: table for table in tables.values()}, frames, folder / "tables")
        write_estimates(estimates, folder / "estimates.csv")
        text = template("fields.html").render(
            name=name,
            notes=notes,
            whole=card_of_fields(cards),
            cards=cards,
            links={field: quote(link) for field, link in links.items()},
            tables=tables,
            saved={
                f"{one}.csv": download(f"{one}.csv", text.encode(), "text/csv", words="CSV")
                for one, text in csv.items()
            },
            printed_rows=_PRINTED_ROWS,
        )
        path = folder / "report.html"
        replace_text(path, visible(text))
    except OSError as error:
        raise StoreError(
            "the report cannot be written", where=str(folder), found=str(error), fix="name another folder"
        ) from error
    return path


def _tables(estimates: Sequence[Estimate]) -> dict[str, Table]:
    """A table for each measure, with a row for each field and cell, by the measure's title."""
    by_measure: dict[str, list[Estimate]] = {}
    for estimate in estimates:
        by_measure.setdefault(estimate.measure, []).append(estimate)
    return {
        presentation_of(measure).title or measure: replace(
            estimates_table(some), name=f"fields-{slug(measure)}"
        )
        for measure, some in by_measure.items()
    }
