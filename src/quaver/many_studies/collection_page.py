"""The page of a collection: each study's verdict, its measures beside the others', and pooled effects."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from quaver.core.estimate_frame import estimates_frame
from quaver.core.records import Estimate
from quaver.errors import StoreError
from quaver.many_studies.collection_tables import by_study, pooled_table
from quaver.report.plain_text import visible
from quaver.report.tables.written_tables import write_tables

if TYPE_CHECKING:
    from quaver.many_studies.collection import Collection

_PRINTED_ROWS = 60


def write_page(
    of: Collection, estimates: Sequence[Estimate], reports: Mapping[str, Path], folder: Path
) -> Path:
    """Write ``report.html`` and ``tables/``.

    Args:
        of: The collection.
        estimates: All its estimates.
        reports: Each study's report, to which the page leads.
        folder: Where to.

    Raises:
        StoreError: The files cannot be written.
    """
    measures, effects = list(by_study(estimates)), pooled_table(estimates)
    tables = {one.table.name: one.table for one in measures} | {effects.name: effects}
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("quaver.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text = environment.get_template("collection.html").render(
        name=of.spec.name,
        description=of.spec.description,
        answered=of.status().answered,
        studies=[_shown(of, name, reports, folder) for name in of.studies],
        by_study=measures,
        pooled=effects,
        saved={},
        printed_rows=_PRINTED_ROWS,
    )
    path = folder / "report.html"
    try:
        write_tables(tables, {"estimates": estimates_frame(estimates)}, folder / "tables")
        part = path.with_name("report.html.part")
        part.write_text(visible(text), encoding="utf-8", errors="backslashreplace")
        part.replace(path)
    except OSError as error:
        raise StoreError(
            "the report cannot be written", where=str(folder), found=str(error), fix="name another folder"
        ) from error
    return path


def _shown(of: Collection, name: str, reports: Mapping[str, Path], folder: Path) -> dict[str, Any]:
    """A study on the page: its verdict, and the way to its report."""
    link = Path(os.path.relpath(reports[name], folder)).as_posix() if name in reports else ""
    return {"name": name, "link": link, "lines": of.studies[name].verdict().lines}
