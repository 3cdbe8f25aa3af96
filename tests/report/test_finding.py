"""The finding's sentences, for studies in which other things are true."""

from __future__ import annotations

from typing import Any

import pytest

from quaver.records import Estimate
from quaver.report import finding


def said(study: Any) -> str:
    return str(finding(study.results())).replace("\u00a0", " ")


def test_labels_that_follow_the_format(study: Any) -> None:
    text = said(study)
    assert text.startswith("The labels follow the format, not the items.")
    assert "By format, the share of “Alpha” among all answers is 0 % (names) and 100 % (letters)." in text
    assert "It is 50 % for items whose gold label is “Alpha” and 50 % for “Beta”." in text
    assert "wording 3 points" in text
    assert "the model agrees with itself at α = −0.07 [−0.10 to 0.01]" in text
    assert "Accuracy is 49 % in each of 4 conditions; always answering “Alpha” would be right in 50 %" in text


def test_labels_that_follow_the_items(make: Any) -> None:
    text = said(make(answer=lambda item, *_: "ab"[item % 2]))
    assert text.startswith("How the question is asked hardly moves the labels.")


@pytest.mark.parametrize(
    ("swayed", "of", "headline"),
    [
        (1, 4, "The labels follow the items, but the format moves them too."),
        (3, 5, "The labels depend more on the format than on the items."),
        (3, 4, "The labels follow the format more than the items that they are meant to describe."),
    ],
)
def test_labels_that_follow_both(make: Any, swayed: int, of: int, headline: str) -> None:
    """Some pairs of items are a whenever letters are asked for; the labels of the rest are right."""

    def answer(item: int, wording: str, layout: str, repeat: int) -> str:
        if item // 2 < swayed:
            return "a" if layout == "letters" else "b"
        return "ab"[item % 2]

    assert said(make(items=2 * of, answer=answer)).startswith(headline)


def test_without_gold_the_variation_speaks(make: Any) -> None:
    text = said(make(gold=False))
    assert text.startswith("The labels follow the format, not the items.")
    assert "the format accounts for 9" in text
    assert "gold label is" not in text


def test_many_levels_are_told_by_their_ends(make: Any) -> None:
    layouts = [f"f{n}" for n in range(8)]
    text = said(make(layouts=layouts, answer=lambda i, w, layout, k: "a" if layout < "f4" else "b"))
    assert "From one format to another" in text


def test_a_single_estimate_has_its_interval(make: Any) -> None:
    study = make()
    study.estimates = [Estimate("compliance", 0.25, 0.125, 0.5, cell={})]
    assert "A label could be read from 25 % [12 % to 50 %] of the answers." in said(study)


def test_missing_labels_do_not_make_the_headline(make: Any) -> None:
    """Every label is right, but one format leaves half of the answers without one."""

    def answer(item: int, wording: str, layout: str, repeat: int) -> str | None:
        return None if layout == "letters" and item // 2 % 2 else "ab"[item % 2]

    text = said(make(answer=answer))
    assert text.startswith("The labels follow the items, but the format moves them too.")
    assert "By format, the share of answers without a label is 0 % (names) and 50 % (letters)." in text


def test_labels_that_go_to_the_wrong_items_do_not_follow_them(make: Any) -> None:
    def answer(item: int, wording: str, layout: str, repeat: int) -> str:
        return "ba"[item % 2] if layout == "letters" or item < 4 else "a"

    assert said(make(answer=answer)).startswith("The labels follow the format, not the items.")


def test_few_models_are_told_one_by_one(make: Any) -> None:
    study = make(models=("tiny", "large"))
    study.estimates = [
        Estimate("intra_pss", 0.5, 0.4, 0.6, cell={"model": "tiny"}),
        Estimate("intra_pss", 0.9, 0.8, 0.95, cell={"model": "large"}),
        Estimate("differences", -0.1, -0.15, -0.05, cell={"model": "tiny"}),
        Estimate(
            "differences",
            0.1,
            0.05,
            0.15,
            cell={"model": "large"},
            details={"against": "the mean of the others"},
        ),
    ]
    text = said(study)
    assert "agrees with itself at α = 0.50 [0.40 to 0.60] (tiny) and 0.90 [0.80 to 0.95] (large)." in text
    assert "Accuracy of “large” is 10 points [5 to 15] above that of “tiny”, on the same items." in text


def test_readiness_is_the_answer_where_it_was_asked(make: Any) -> None:
    study = make(models=("tiny", "large"))
    study.estimates = []
    for model, verdict in (("tiny", "not met"), ("large", "met")):
        cell = {"model": model}
        ready = "ready" if verdict == "met" else "not ready"
        limit = {"verdict": verdict, "limit": "at least 0.8", "threshold": 0.8}
        study.estimates += [
            Estimate("readiness_accuracy", 0.7, 0.6, 0.75, cell=cell, details=limit),
            Estimate(
                "readiness",
                float(verdict == "met"),
                cell=cell,
                details={"verdict": ready, "criteria": 1, "met": int(verdict == "met")},
            ),
        ]
    lines = said(study).splitlines()
    assert lines[0] == "By the thresholds that were stated, “large” is ready; “tiny” is not ready."
    assert lines[1] == "“tiny” meets 0 of 1 criteria (not met: accuracy); “large” meets 1 of 1 criteria."
