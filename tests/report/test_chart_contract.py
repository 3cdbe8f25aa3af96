"""What every registered chart must keep."""

import polars as pl
import pytest

from quaver.core import registry
from quaver.core.records import Estimate
from quaver.core.rows import SECTIONS
from quaver.report.charts.svg import svg_text
from quaver.report.estimate_index import Results
from quaver.report.page_words import slug
from quaver.testing.recipes import plugins

_WIDTHS = (344, 720)
_LOCK = {
    "study": {"name": "Votes", "seed": 1},
    "labels": {"labels": [{"code": "a", "name": "Alpha"}, {"code": "b", "name": "Beta"}], "level": "nominal"},
    "items": {"n": 2, "gold": {"a": 1, "b": 1}},
    "variants": [
        {"id": f"tone={tone}", "factors": {"tone": tone}, "covariates": {}} for tone in ("plain", "polite")
    ],
    "models": {"tiny": {}, "large": {}},
    "evaluators": {"exact": "The rule."},
}


def results_of(some):
    """A study of two labels, two models and two tones, with these estimates."""
    return Results(_LOCK, pl.DataFrame(), some)


@pytest.fixture(params=plugins("charts"))
def chart(request):
    return registry.load("charts", request.param)


def estimates(value, **cell):
    """An estimate of each registered measure for two models, or none of them with a value."""
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    reason = "no variation" if value is None else None
    return [
        Estimate(name, value, low, high, reason=reason, n=9, cell={"model": model, **cell})
        for name in registry.names("measures")
        for model in ("tiny", "large")
    ]


def test_a_study_without_its_estimates_has_no_figure_of_it(chart):
    assert list(chart(results_of([]))) == []
    assert list(chart(results_of([Estimate("another", 0.5, 0.4, 0.6, cell={"model": "tiny"})]))) == []


@pytest.mark.parametrize("cell", [{}, {"variant": "tone=plain"}, {"variant": "<b>\x00\u202e</b> " * 20}])
def test_what_it_makes_of_estimates_can_be_drawn(chart, cell):
    for figure in chart(results_of(estimates(0.4, **cell))):
        assert figure.section in SECTIONS
        assert figure.name in ("", slug(figure.name))
        assert figure.title.strip()
        assert not figure.title.endswith(".")
        assert figure.estimates
        for width in _WIDTHS:
            assert svg_text(figure.chart(width)).startswith("<svg")
        assert figure.chart(_WIDTHS[0], titled=True)["title"]


def test_estimates_without_a_value_break_nothing(chart):
    for figure in chart(results_of(estimates(None))):
        assert svg_text(figure.chart(_WIDTHS[0]))


def test_it_changes_no_estimate(chart):
    some = estimates(0.4)
    before = repr(some)
    list(chart(results_of(some)))
    assert repr(some) == before
