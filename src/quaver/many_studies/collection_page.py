"""The page of a collection: each study's verdict, its measures beside the others', and pooled effects."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import jinja2

from quaver.core.estimate_frame import estimates_frame
from quaver.core.records import Estimate
from quaver.errors import StoreError
from quaver.many_studies.collection_file import CollectionSpec
from quaver.many_studies.collection_tables import by_study, pooled_table
from quaver.report.plain_text import visible
from quaver.report.tables.written_tables import write_tables

_PRINTED_ROWS = 60


class StudyPart(NamedTuple):
    """A study on the page.

    Attributes:
        name: Its name in the collection.
        lines: Its verdict.
        report: Its report, to which the page leads.
    """

    name: str
    lines: Sequence[str]
    report: Path


def write_page(
    spec: CollectionSpec,
    studies: Sequence[StudyPart],
    estimates: Sequence[Estimate],
    answered: int,
    folder: Path,
) -> Path:
    """Write ``report.html`` and ``tables/``.

    Args:
        spec: What the collection's file says.
        studies: Its studies.
        estimates: All its estimates.
        answered: How many calls are answered.
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
        name=spec.name,
        description=spec.description,
        answered=answered,
        studies=[{"name": one.name, "lines": one.lines, "link": _link(one, folder)} for one in studies],
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


def _link(study: StudyPart, folder: Path) -> str:
    return quote(Path(os.path.relpath(study.report, folder)).as_posix())
