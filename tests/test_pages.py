"""What the pages of the docs show works as it is written there."""

import shutil

import pytest
from docs.gallery_reports import made_again
from tests.pages import DOCS, run_page
from tests.stance_server import stance_server, truth

import quaver
from quaver.design.items.table_files import read_rows

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    "page",
    [
        *("collections.md", "data.md", "import.md", "what-goes-wrong.md", "compare.md", "bundle.md"),
        *("extending.md", "conclusions.md", "accept.md", "label.md", "gold.md", "corrected.md", "watch.md"),
        *(
            "improve.md",
            "pipelines.md",
            "notebook.md",
            "groups.md",
            "fields.md",
            "evidence.md",
            "promptstability.md",
            "paper.md",
        ),
        *("papers.md", "tutorials/ci.md", "tutorials/report.md", "tutorials/review.md", "tutorials/study.md"),
        "tutorials/get-started.md",
        "tutorials/spreadsheet.md",
    ],
)
def test_page(page, tmp_path, monkeypatch):
    files = ("gallery/*.quaver.zip", "tutorials/*.xlsx")
    for file in (one for pattern in files for one in DOCS.glob(pattern)):
        shutil.copy(file, tmp_path)  # what a reader has downloaded
    if page == "tutorials/review.md":  # from the site, which packs it again
        bundle = tmp_path / "stability.quaver.zip"
        bundle.write_bytes(made_again(bundle)[1])
    with stance_server() as url:  # the service that a page names
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert run_page(page, tmp_path, processes=page == "data.md") > 0
    if page == "tutorials/spreadsheet.md":
        _check_labelled(tmp_path)


def _check_labelled(folder):
    """The tutorial's spreadsheet came back with all of its cells as they were, and a label for each text."""
    before, after = (
        read_rows(folder / name, sheet="Posts") for name in ("reform.xlsx", "reform-labelled.xlsx")
    )
    assert [{name: row[name] for name in one} for one, row in zip(before, after, strict=True)] == before
    labels = [row["label"] for row in after]
    assert len(labels) == 2000
    assert sum(label == truth(row["tweet"]) for label, row in zip(labels, before, strict=True)) > 1900
    assert all(
        label == row["hand_label"] for label, row in zip(labels, before, strict=True) if row["hand_label"]
    )
    study = quaver.Study.open(folder / "reform-check")
    (right,) = study.measure("accuracy", by=["model"])
    assert right.n == 100
    assert right.high - right.low < 0.1
    assert study.verdict().kind == "use"
