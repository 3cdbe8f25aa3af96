"""Empty, tiny and one-sided studies still give a report, which says what could not be measured."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from quaver.core.records import Estimate
from quaver.report.page.html_page import write_report


def words(path: Path) -> str:
    """The page's text."""
    body = path.read_text(encoding="utf-8").partition("<body>")[2]
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", body)))


def test_no_answers_at_all(make: Any, tmp_path: Path) -> None:
    study = make()
    study.annotations = study.annotations.clear()
    study.estimates = [Estimate("inter_pss", None, reason="no annotations")]
    study.noise = {}
    text = words(write_report(tmp_path, **study.inputs()))
    assert "There are no answers yet." in text
    assert "no annotations" in text
    assert "quaver doctor STUDY" in text
    assert list((tmp_path / "figures").iterdir()) == []


def test_an_empty_frame_without_columns(make: Any, tmp_path: Path) -> None:
    study = make()
    study.annotations, study.estimates = pl.DataFrame(), []
    text = words(write_report(tmp_path, **study.inputs()))
    assert "No estimate was asked for." in text


def test_one_item_one_variant(make: Any, tmp_path: Path) -> None:
    study = make(items=1, paraphrases=("plain",), layouts=("names",), repeats=1, evaluators=("exact",))
    text = words(write_report(tmp_path, **study.inputs()))
    assert "100% of the answers have no label" in text  # the one answer there is
    assert "the only variant" in text
    assert "what moves the labels cannot be said" in text


@pytest.mark.parametrize(
    ("label", "headline"),
    [
        ("a", "Every label is “Alpha”"),
        (None, "100% of the answers have no label"),
    ],
)
def test_one_label_or_none(make: Any, tmp_path: Path, label: str | None, headline: str) -> None:
    study = make(items=12, answer=lambda *_: label)
    text = words(write_report(tmp_path, **study.inputs()))
    assert headline in text
    assert "could not be measured" in text


def test_no_gold(make: Any, tmp_path: Path) -> None:
    study = make(gold=False)
    study.estimates = [
        one
        if one.measure != "accuracy"
        else Estimate("accuracy", None, reason="no gold labels", cell=one.cell)
        for one in study.estimates
    ]
    text = words(write_report(tmp_path, **study.inputs()))
    assert "Accuracy could not be measured" in text
    assert "no gold labels" in text
    assert "(none with a gold label)" in text


def test_estimates_of_unlike_cells_and_no_interval(make: Any, tmp_path: Path) -> None:
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
    assert "not a finite number" in text
    assert "its interval is not finite" in text


def test_four_hundred_variants_are_drawn_by_their_levels(make: Any, tmp_path: Path) -> None:
    study = make(paraphrases=[f"w{n}" for n in range(200)], items=2, repeats=1, evaluators=("exact",))
    text = words(write_report(tmp_path, **study.inputs()))
    assert "w199" in text
    assert "estimates.csv" in text
