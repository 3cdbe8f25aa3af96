"""What the pages of the docs show works as it is written there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from docs.gallery_reports import made_again
from tests.pages import DOCS, run_page

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    "page",
    [
        *(
            "collections.md",
            "data.md",
            "import.md",
            "replicate.md",
            "compare.md",
            "view.md",
            "bundle.md",
            "extending.md",
            "conclusions.md",
            "freeze.md",
            "accept.md",
            "label.md",
            "gold.md",
            "stopping.md",
            "corrected.md",
            "watch.md",
            "improve.md",
        ),
        *(
            "notebook.md",
            "groups.md",
            "fields.md",
            "promptstability.md",
            "paper.md",
            "papers.md",
            "tutorials/ci.md",
            "tutorials/report.md",
            "tutorials/review.md",
            "tutorials/study.md",
        ),
        "tutorials/get-started.md",
        "tutorials/spreadsheet.md",
    ],
)
def test_page(page: str, tmp_path: Path) -> None:
    for file in (*(DOCS / "gallery").glob("*.quaver.zip"), *(DOCS / "tutorials").glob("*.xlsx")):
        shutil.copy(file, tmp_path)  # what a reader has downloaded
    if page == "tutorials/review.md":  # from the site, which packs it again
        bundle = tmp_path / "stability.quaver.zip"
        bundle.write_bytes(made_again(bundle)[1])
    assert run_page(page, tmp_path, processes=page == "data.md") > 0
