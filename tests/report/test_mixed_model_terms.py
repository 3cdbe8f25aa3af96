"""The mixed model's chart says how much items differ, and what its test of interactions gives."""

from __future__ import annotations

import re

import pytest
from tests.report.every_chart import every_chart

from quaver.core import registry
from quaver.core.records import Estimate
from quaver.report.estimate_index import Results

ESTIMATES = [
    Estimate("mixed_effects", 0.7, 0.2, 1.1, cell={"term": "treatment[T1]"}),
    Estimate("mixed_effects_sd", 1.25, cell={"term": "1 | item"}),
    Estimate("mixed_effects_interactions", 7.5, details={"df": 3, "p": 0.06}),
]


@pytest.mark.long
def test_it_says_what_the_model_is_made_of() -> None:
    study = every_chart()
    (figure,) = registry.load("charts", "mixed_effects").figures(
        Results(study.lock, study.annotations, ESTIMATES, audit=study.audit)
    )
    said = figure.subtitle
    assert re.search(r"standard deviation in log odds: .*1\.25", said)
    assert re.search(r"7\.5.*3 df.*0\.06", said)
