"""What Quaver's own charts keep beside the contract: all are registered, and each is drawn in some study."""

import re
from importlib import import_module
from pkgutil import iter_modules

import pytest
from tests.report.every_chart import every_chart

import quaver.report.charts
from quaver.core import registry
from quaver.core.records import Estimate
from quaver.report.charts.chart import Chart
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


def declared():
    modules = (
        import_module(f"quaver.report.charts.{one.name}")
        for one in iter_modules(quaver.report.charts.__path__)
    )
    return {one for module in modules for one in vars(module).items() if isinstance(one[1], Chart)}


def test_every_chart_that_is_declared_is_registered():
    assert {name for name, _ in declared()} <= set(registry.names("charts"))


@pytest.mark.long
def test_nothing_is_broken(results):
    assert gallery(results)[1] == {}


@pytest.mark.parametrize("name", sorted(name for name, _ in declared()))
def test_every_chart_is_drawn_in_some_study(results, name):
    chart = registry.load("charts", name)
    made = list(chart.figures(results))
    assert made
    for one in made:
        assert one.subtitle.endswith(".")
        assert not re.search(r"_|  |\d %|None", one.title + one.subtitle)
