"""Empty, tiny and one-sided studies still give a report, which says what could not be measured."""

import html
import re

import polars as pl
import pytest

from quaver.core.records import Estimate
from quaver.report.findings.decision import recommendations
from quaver.report.findings.quality import quality
from quaver.report.page.html_page import write_report


def words(path, section=""):
    """The page's text, or that of one of its sections."""
    body = path.read_text(encoding="utf-8").partition("<body>")[2]
    if section:
        body = body.partition(f'<section id="{section}">')[2].partition("</section>")[0]
        assert body
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", body)))


def judged(study):
    """What is wrong with the answers, and why what is recommended."""
    found = study.moved()
    return (*(one.measure for one in quality(found).issues), *(one.reason for one in recommendations(found)))


def is_missing(path, section):
    """Whether a section says that something is missing."""
    body = path.read_text(encoding="utf-8").partition(f'<section id="{section}">')[2]
    return 'class="missing"' in body.partition("</section>")[0]


def test_no_answers_at_all(make, tmp_path):
    study = make()
    study.annotations = study.annotations.clear()
    study.estimates = [Estimate("inter_pss", None, reason="no annotations")]
    path = write_report(tmp_path, **study.inputs())
    assert judged(study) == ("no answers",)
    assert is_missing(path, "answers")
    assert "no annotations" in words(path, "unmeasured")
    assert list((tmp_path / "figures").iterdir()) == []


def test_an_empty_frame_without_columns(make, tmp_path):
    study = make()
    study.annotations, study.estimates = pl.DataFrame(), []
    path = write_report(tmp_path, **study.inputs())
    assert "no estimate" in words(path, "unmeasured")
    assert all(is_missing(path, section) for section in ("stability", "accuracy", "answers"))


def test_estimates_of_different_cells_and_no_interval(make, tmp_path):
    study = make(items=2, repeats=1)
    study.estimates += [
        Estimate("odd", 0.25, cell={}),
        Estimate("odd", float("nan"), 0.0, 1.0, cell={"party": "z"}),
        Estimate("odd", 0.75, float("-inf"), 1.0, cell={"party": "q"}),
        Estimate("odd", 0.5, cell={"party": "x"}),
        Estimate("odd", 0.0, 0.0, 0.0, cell={"party": "y", "paraphrase": "plain"}),
    ]
    text = words(write_report(tmp_path, **study.inputs()))
    assert "0.25" in text
    assert "not a finite" in text
    assert "is not finite" in text


@pytest.mark.long
def test_four_hundred_variants_are_drawn_by_their_levels(make, tmp_path):
    study = make(paraphrases=[f"w{n}" for n in range(200)], items=2, repeats=1, evaluators=("exact",))
    text = words(write_report(tmp_path, **study.inputs()))
    assert "w199" in text
    assert "estimates.csv" in text
