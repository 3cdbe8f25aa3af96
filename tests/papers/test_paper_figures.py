"""The papers' figures: size, letters, panels, and what is said to be left out."""

import re
from collections import Counter

import pytest
from tests.papers import small
from typer.testing import CliRunner

from quaver import Study
from quaver.cli.main import app
from quaver.errors import UnknownName
from quaver.papers import catalogue, figure
from quaver.report.charts.svg import svg_text

Studies = dict[str, Study]
INCHES = {720: 7.0, 360: 3.5}
"""How wide a picture of so many pixels is printed: across a page, or in a column."""


@pytest.fixture(scope="module", params=small.STUDIES)
def run(request, tmp_path_factory):
    return request.param, small.run(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.long
@pytest.mark.parametrize("width", INCHES)
def test_every_figure_is_as_wide_as_asked_and_can_be_read(run, width):
    code, study = run
    for kind in (kind for kind in catalogue.FIGURES.values() if kind.paper == code):
        drawn = svg_text(figure(study, f"{code}:{kind.number}", width=width))
        wide = float(re.findall(r'width="([\d.]+)" height', drawn)[0])
        assert wide <= 1.2 * width, (kind.number, wide)
        points = min(map(float, re.findall(r'font-size="([\d.]+)px"', drawn))) * 72 * INCHES[width] / wide
        assert points >= 7, (kind.number, points)


@pytest.fixture(scope="module")
def strategies(tmp_path_factory):
    return small.run("errica-2025", tmp_path_factory.mktemp("strategies"))


def headings(page):
    """The texts of a page that name a data set and a model."""
    return Counter(re.findall(r">((?:first|second), (?:small|large)[^<]*)<", page))


def test_every_panel_stands_there_once(strategies):
    every = headings(svg_text(figure(strategies, "errica-2025:6")))
    assert set(every.values()) == {1}
    assert len(every) == 2 * 2 * 2


def test_a_figure_of_some_models_and_strategies_says_so(strategies):
    drawn = svg_text(figure(strategies, "errica-2025:4", models=["small"], strategies=["detailed"]))
    assert set(headings(drawn)) == {"first, small, detailed", "second, small, detailed"}
    assert "model: small alone; strategy: detailed alone" in drawn
    one = svg_text(figure(strategies, "errica-2025:2", items=["0"], models=["large"], strategies=["simple"]))
    assert all(heading.endswith(", simple, 0") for heading in headings(one))
    for wrong in ({"models": ["smal"]}, {"strategies": ["simpel"]}):
        with pytest.raises(UnknownName):
            figure(strategies, "errica-2025:4", **wrong)


def test_the_command_writes_what_is_asked_for(strategies, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = str(strategies["first"].folder.parent / "errica-2025.yaml")
    done = CliRunner().invoke(app(["figure"]), ["figure", study, "6", "--model", "small"])
    assert done.exit_code == 0, done.output
    drawn = (tmp_path / "figure-errica-2025-6.svg").read_text(encoding="utf-8")
    assert all(", small" in heading for heading in headings(drawn))
