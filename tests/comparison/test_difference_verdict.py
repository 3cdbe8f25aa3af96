"""Verdicts on differences: from intervals, and in words."""

import pytest

from quaver.comparison.difference_verdict import gravest, verdict_on
from quaver.core.records import Estimate


def one(low, high, measure="accuracy", **more):
    value = None if low is None or high is None else (low + high) / 2
    return Estimate(measure, value, low, high, n=40, **more)


@pytest.mark.parametrize(
    ("measure", "low", "high", "kind"),
    [
        ("accuracy", -0.08, -0.01, "loss"),
        ("accuracy", 0.01, 0.08, "gain"),
        ("accuracy", -0.02, 0.05, "no loss"),
        ("accuracy", -0.04, 0.05, "cannot tell"),
        ("accuracy", -0.08, 0.0, "cannot tell"),
        ("spread", 0.01, 0.08, "loss"),
        ("spread", -0.08, -0.01, "gain"),
        ("spread", -0.08, 0.02, "no loss"),
        ("label_shares", 0.01, 0.08, "change"),
        ("label_shares", -0.08, -0.01, "change"),
        ("label_shares", -0.02, 0.02, "no change"),
        ("label_shares", -0.02, 0.04, "cannot tell"),
    ],
)
def test_the_interval_decides(measure, low, high, kind):
    assert verdict_on(one(low, high, measure)).kind == kind


def test_a_wider_margin_or_chance_among_several_differences_decides_otherwise():
    assert verdict_on(one(-0.04, 0.05), 0.04).kind == "no loss"
    found = verdict_on(one(-0.08, -0.01, details={"p": 0.02, "p_holm": 0.14, "comparisons": 7}))
    assert found.kind == "cannot tell"
    assert "7" in found.words
    undefined = verdict_on(Estimate("inter_pss", None, reason="no variation"))
    assert undefined.kind == "undefined"
    assert "no variation" in undefined.words
    assert verdict_on(Estimate("accuracy", -0.5)).kind == "cannot tell"


def test_no_number_in_words_is_better_than_it_is():
    assert "1.6 points" in verdict_on(one(-0.0151, 0.02)).words
    assert "8.8 points" in verdict_on(one(-0.088, 0.088)).words


def test_the_gravest_comes_first():
    small, large, open_, fine = (
        verdict_on(one(*ends)) for ends in ((-0.03, -0.01), (-0.3, -0.1), (-0.2, 0.2), (0.1, 0.2))
    )
    assert gravest([fine, open_, small, large]) is large
    assert gravest([fine, open_]) is open_
    assert gravest([]) is None
