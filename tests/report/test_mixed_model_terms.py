"""The mixed model's chart names its random effects, those that were left out, and how its test was made."""

from __future__ import annotations

import re

import pytest
from tests.report.every_chart import every_chart

from quaver.core import registry
from quaver.core.records import Estimate
from quaver.report.estimate_index import Results

SINGULAR = "left out of the model: singular: its standard deviation is estimated as 0"
ESTIMATES = [
    Estimate("mixed_effects", 0.7, 0.2, 1.1, cell={"term": "treatment[T1]"}),
    Estimate("mixed_effects_sd", 1.25, cell={"term": "1 | item"}),
    Estimate("mixed_effects_sd", 0.5, cell={"term": "1 | item:treatment"}),
    Estimate("mixed_effects_sd", None, reason=SINGULAR, cell={"term": "temperature | item"}),
    Estimate("mixed_effects_interactions", 7.5, details={"df": 3, "p": 0.06, "draws": 199}),
]


@pytest.mark.long
def test_it_says_what_the_model_is_made_of() -> None:
    study = every_chart()
    (figure,) = registry.load("charts", "mixed_effects").figures(
        Results(study.lock, study.annotations, ESTIMATES, audit=study.audit)
    )
    said = figure.subtitle
    assert re.search(r"1 \| item 1\.25.*1 \| item:treatment 0\.50?[;.]", said)
    assert re.search(r"temperature \| item \(singular", said)
    assert re.search(r"7\.5.*3 df.*0\.06.*199", said)
