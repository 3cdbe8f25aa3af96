"""What a paper takes from a study, as boxes to copy from."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from quaver.report.page.downloads import download
from quaver.report.page.paper_parts import Paper

_TITLES = {
    "table.md": "Table as Markdown",
    "table.tex": "Table as LaTeX",
    "table.html": "Table as HTML",
    "methods.md": "Methods as Markdown",
    "methods.tex": "Methods as LaTeX",
    "references.bib": "References as BibTeX",
}


class Box(NamedTuple):
    """A text to copy."""

    title: str
    text: str
    save: Markup


def paper_boxes(paper: Paper) -> list[Box]:
    """The parts of a paper, each in the formats that it is pasted in."""
    files = paper.files()
    return [
        Box(title, files[name], download(name, files[name], "text/plain")) for name, title in _TITLES.items()
    ]
