"""What Quaver's own charts keep beside the contract: each is drawn in some study."""

import re

import pytest
from tests.report.every_chart import every_chart

from quaver.core import registry
from quaver.core.records import Estimate
from quaver.report.charts.figures import gallery
from quaver.report.estimate_index import Results

VERDICT = {"verdict": "holds", "effect": "a minus b", "threshold": 0.0}
BY_HAND = [
    *(
        Estimate("conclusion", value, value - 0.1, value + 0.1, cell={"conclusion": "C"}, details=VERDICT)
        for value in (0.2, 0.4)
    )
]


@pytest.fixture(scope="module")
def results():
    study = every_chart()
    return Results(study.lock, study.annotations, [*study.estimates, *BY_HAND], audit=study.audit)


@pytest.mark.long
def test_nothing_is_broken(results):
    assert gallery(results)[1] == {}


@pytest.mark.parametrize("name", registry.names("charts"))
def test_every_chart_is_drawn_in_some_study(results, name):
    made = list(registry.load("charts", name)(results))
    assert made
    for one in made:
        assert one.subtitle.endswith(".")
        assert not re.search(r"_|  |\d %|None", one.title + one.subtitle)
