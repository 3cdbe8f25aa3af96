"""What a methods section says of a gold sample."""

import polars as pl
from tests.gold_study import filled, labelled_study, truths

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.page.method import gold_sample, method_details
from quaver.report.page_templates import paragraph
from quaver.report.tables.table import Table


def gold_sentences(sample):
    return paragraph("gold_sample.txt", sample=gold_sample({"gold_sample": sample}))


def test_a_report_says_how_the_sample_was_drawn(tmp_path):
    study = labelled_study(tmp_path / "study", 60)
    drawn = study.gold.draw(n=20, coders=["ada", "ben"], overlap=0.5, form="csv")
    study.gold.take(filled(drawn.files[0], truths(60)))
    text = study.paper().methods_as("markdown")
    for said in ("gold sample of 20 of the 60 items", "1 coder labelled 15 of these items"):
        assert said in text
    assert "none with a gold label" not in text


def test_agreement_and_settled_disagreements_are_counted():
    sample = {
        "design": "stratified", "by": ["predicted"], "drawn": 20, "population": 90, "rounds": 2, "seed": 7,
        "probabilities": [0.1, 0.4], "date": "2 May 2026", "labelled": 20, "twice": 10,
        "coders": [{"coder": "ada"}, {"coder": "ben"}], "decided": {"a": "adjudicator", "b": "majority"},
        "agreement": {"value": 0.8, "details": {"percent": 0.9}},
    }  # fmt: skip
    text = gold_sentences(sample)
    shown = "by predicted", "0.10 to 0.40", "2 rounds", "alpha 0.80", "90%", "1 disagreement settled by an"
    assert all(said in text for said in shown), text
    assert "without a gold label" not in text


def test_thresholds_are_stated():
    profile = {"limit": "at least 0.8", "verdict": "not met"}
    found = [
        Estimate("readiness_accuracy", 0.7, details=profile),
        Estimate("readiness_stated_ece", None, details={"limit": "at most 0.1"}),
        Estimate("readiness", 0.0),
    ]
    lock = {"study": {"seed": 1}, "labels": {"labels": []}}
    said = method_details(Results(lock, pl.DataFrame(), found), Table((), ()))
    assert "accuracy at least 0.8 and stated ece at most 0.1" in said
