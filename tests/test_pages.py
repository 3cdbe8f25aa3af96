"""What the pages of the docs show works as it is written there."""

import shutil
from dataclasses import replace

import pytest
from docs.gallery_reports import made_again
from tests.models.provider_rig import reasoning, rigged, routing
from tests.pages import DOCS, run_page
from tests.stance_server import stance_server, truth

import quaver
from quaver.design.items.table_files import read_rows
from quaver.models.served.presets import PRESETS

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
            "long-texts.md",
            "media.md",
            "walks.md",
            "spans.md",
            "hierarchies.md",
            "backfill.md",
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
    with stance_server() as url, rigged(_thinks) as thinking, rigged(_routes) as router:  # what a page names
        monkeypatch.setenv("OPENAI_BASE_URL", thinking.url if page == "paper.md" else url)
        monkeypatch.setitem(PRESETS, "openrouter", replace(PRESETS["openrouter"], base_url=router.url))
        assert run_page(page, tmp_path, processes=page == "data.md") > 0
    if page == "tutorials/spreadsheet.md":
        _check_labelled(tmp_path)


def _of_guests(reply, body):
    """A reply with the label that a guest's words deserve."""
    if reply[0] == 200 and reply[1]["choices"][0]["finish_reason"] == "stop":
        asked = str(body["messages"])
        likes = "lovely" in asked or "ist gut" in asked
        label = ("good" if likes else "bad") if "The room" in asked else "gut" if likes else "schlecht"
        reply[1]["choices"][0]["message"]["content"] = label
    return reply


def _thinks(body, path, n):
    return _of_guests(reasoning(body, path, n), body)


def _routes(body, path, n):
    return _of_guests(routing(body, path, n), body)


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
