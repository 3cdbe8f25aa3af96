"""What every registered chart must keep."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from quaver.core import registry
from quaver.core.records import Estimate
from quaver.core.rows import SECTIONS
from quaver.report.charts.chart import Chart
from quaver.report.charts.svg import svg_text
from quaver.report.estimate_index import Results
from quaver.report.page_words import slug
from quaver.testing.recipes import plugins

_WIDTHS = (344, 720)
_LOCK: dict[str, Any] = {
    "study": {"name": "Votes", "seed": 1},
    "labels": {"labels": [{"code": "a", "name": "Alpha"}, {"code": "b", "name": "Beta"}], "level": "nominal"},
    "items": {"n": 2, "gold": {"a": 1, "b": 1}},
    "variants": [
        {"id": f"tone={tone}", "factors": {"tone": tone}, "covariates": {}} for tone in ("plain", "polite")
    ],
    "models": {"tiny": {}, "large": {}},
    "evaluators": {"exact": "The rule."},
}


def results_of(some: list[Estimate]) -> Results:
    """A study of two labels, two models and two tones, with these estimates."""
    return Results(_LOCK, pl.DataFrame(), some)


@pytest.fixture(params=plugins("charts"))
def chart(request: pytest.FixtureRequest) -> Chart:
    found = registry.load("charts", request.param)
    assert isinstance(found, Chart), "a chart is a function under @chart"
    assert found.name == request.param, "the entry point has the name of the function"
    return found


def estimates(chart: Chart, value: float | None, **cell: str) -> list[Estimate]:
    """An estimate of each of its measures for two models, or none of them with a value."""
    names = [name.removesuffix("*") for name in chart.measures]
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    reason = "no variation" if value is None else None
    return [
        Estimate(name, value, low, high, reason=reason, n=9, cell={"model": model, **cell})
        for name in names
        for model in ("tiny", "large")
    ]


def test_its_declaration_can_be_shown(chart: Chart) -> None:
    assert chart.section in SECTIONS
    assert chart.measures
    assert chart.title.strip()
    assert not chart.title.endswith(".")


def test_a_study_without_its_estimates_has_no_figure_of_it(chart: Chart) -> None:
    assert list(chart.figures(results_of([]))) == []
    assert list(chart.figures(results_of([Estimate("another", 0.5, 0.4, 0.6, cell={"model": "tiny"})]))) == []


@pytest.mark.parametrize("cell", [{}, {"variant": "tone=plain"}, {"variant": "<b>\x00\u202e</b> " * 20}])
def test_what_it_makes_of_estimates_can_be_drawn(chart: Chart, cell: dict[str, str]) -> None:
    for figure in chart.figures(results_of(estimates(chart, 0.4, **cell))):
        assert figure.section in SECTIONS
        assert figure.name == slug(figure.name)
        assert figure.title.strip()
        assert figure.estimates
        for width in _WIDTHS:
            assert svg_text(figure.chart(width)).startswith("<svg")
        assert figure.chart(_WIDTHS[0], titled=True)["title"]


def test_estimates_without_a_value_break_nothing(chart: Chart) -> None:
    for figure in chart.figures(results_of(estimates(chart, None))):
        assert svg_text(figure.chart(_WIDTHS[0]))


def test_it_changes_no_estimate(chart: Chart) -> None:
    some = estimates(chart, 0.4)
    before = repr(some)
    list(chart.figures(results_of(some)))
    assert repr(some) == before
