"""The papers' figures fit a page: size, letters, panels over all pages, and what is said to be left out."""

import re
from collections import Counter

import pytest
from tests.papers import small
from tests.samples import drawn
from typer.testing import CliRunner

from quaver.cli.main import app
from quaver.errors import QuaverError, UnknownName
from quaver.papers import catalogue, figure
from quaver.papers.paper_figures import PAGE
from quaver.report.charts.svg import svg_text

INCHES = {720: 7.0, 360: 3.5}
"""How wide a picture of so many pixels is printed: across a page, or in a column."""


@pytest.fixture(scope="module", params=small.STUDIES)
def run(request, tmp_path_factory):
    return request.param, small.run(request.param, tmp_path_factory.mktemp(request.param))


def pages_of(study, name, **chosen):
    """Every page as SVG, as its caption counts them."""
    pages = [svg_text(figure(study, name, **chosen))]
    count = re.search(r"page 1 of (\d+)", pages[0])
    more = range(2, int(count[1]) + 1) if count else ()
    return [*pages, *(svg_text(figure(study, name, page=page, **chosen)) for page in more)]


@pytest.mark.long
def test_every_page_is_no_longer_than_a_page_and_can_be_read(run):
    """Each figure at one width, at the other the next day."""
    code, study = run
    kinds = [kind for kind in catalogue.FIGURES.values() if kind.paper == code]
    for number, kind in enumerate(kinds):
        places = [
            (width, page)
            for width in drawn(INCHES, 2, number)
            for page in pages_of(study, f"{code}:{kind.number}", width=width)
        ]
        for width, page in places:
            wide, high = (float(end) for end in re.findall(r'width="([\d.]+)" height="([\d.]+)"', page)[0])
            assert high <= 1.06 * PAGE, (kind.number, high)
            assert wide <= 1.2 * width, (kind.number, wide)
            points = min(map(float, re.findall(r'font-size="([\d.]+)px"', page))) * 72 * INCHES[width] / wide
            assert points >= 7, (kind.number, points)


@pytest.fixture(scope="module")
def strategies(tmp_path_factory):
    return small.run("errica-2025", tmp_path_factory.mktemp("strategies"))


def headings(page):
    """The texts of a page that name a data set and a model."""
    return Counter(re.findall(r">((?:first|second), (?:small|large)[^<]*)<", page))


def test_the_pages_have_every_panel_once(strategies):
    whole = pages_of(strategies, "errica-2025:6")
    narrow = pages_of(strategies, "errica-2025:6", columns=1)
    assert len(narrow) > len(whole)
    every = sum((headings(page) for page in narrow), Counter())
    assert every == sum((headings(page) for page in whole), Counter())
    assert set(every.values()) == {1}
    assert len(every) == 2 * 2 * 2
    with pytest.raises(QuaverError, match="no such page") as error:
        figure(strategies, "errica-2025:6", columns=1, page=len(narrow) + 1)
    assert error.value.expected == f"1 to {len(narrow)}"


def test_a_figure_of_some_models_strategies_and_classes_says_so(strategies):
    (page,) = pages_of(strategies, "errica-2025:4", models=["small"], strategies=["detailed"], classes=["A"])
    assert set(headings(page)) == {"first, small, detailed", "second, small, detailed"}
    assert {">A<", ">B<"} & {*re.findall(r">[AB]<", page)} == {">A<"}
    assert "model: small alone; strategy: detailed alone; class: A alone" in page
    (one,) = pages_of(strategies, "errica-2025:2", items=["0"], models=["large"], strategies=["simple"])
    assert all(heading.endswith(", simple, 0") for heading in headings(one))
    for wrong in ({"models": ["smal"]}, {"strategies": ["simpel"]}, {"classes": ["C"]}):
        with pytest.raises(UnknownName):
            figure(strategies, "errica-2025:4", **wrong)


def test_a_class_is_given_by_its_items_gold_label_in_every_figure(strategies):
    page = svg_text(figure(strategies, "errica-2025:3-classes", classes=["B"]))
    assert {*re.findall(r">[AB]<", page)} == {">B<"}
    drawn = [figure(strategies, "errica-2025:6", classes=some).to_dict() for some in ((), ["A"], ["B"])]
    whole, *parts = (sum(map(len, one["datasets"].values())) for one in drawn)
    assert whole == sum(parts) > max(parts)


def test_the_command_writes_the_page_that_is_asked_for(strategies, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = str(strategies["first"].folder.parent / "errica-2025.yaml")
    asked = "--columns 1 --page 2 --model small --class A"
    done = CliRunner().invoke(app(["figure"]), ["figure", study, "6", *asked.split()])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "figure-errica-2025-6-2.svg").read_text(encoding="utf-8")
    assert "page 2 of 2" in page
    assert all(", small" in heading for heading in headings(page))
