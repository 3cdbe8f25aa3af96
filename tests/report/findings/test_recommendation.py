"""Recommendations on annotators whose truth is known."""

from __future__ import annotations

import pytest
from tests.report.findings.test_verdicts import CASES, answers, estimates

from quaver.report.findings.recommendation import Recommended, recommendations

EXPECTED: dict[str, Recommended] = {
    "constant": "do not use",
    "unreadable": "do not use",
    "swapper": "do not use",
    "rare, and always found": "use",
    "perfect": "use",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_recommended_follows_from_the_truth(name: str) -> None:
    answer, how, _ = CASES[name]
    (found,) = recommendations(estimates(answers(answer, **how)))
    assert found.kind == EXPECTED[name]
    assert all(one.value is not None for one in found.evidence)


def test_without_answers_nothing_is_said() -> None:
    (found,) = recommendations([])
    assert (found.kind, found.reason, found.next_step) == ("cannot tell", "no answers", "run")
