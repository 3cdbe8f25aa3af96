"""A study with every chart: each drawn from its estimates, in a browser, at two widths, light and dark."""

import csv
import json
import re

import pytest
from tests.report.every_chart import every_chart
from tests.report.page.visit import Visit

from quaver.core import registry
from quaver.core.records import Estimate
from quaver.report.charts.figures import figures, gallery
from quaver.report.estimate_index import Results
from quaver.report.page.html_page import write_report

NAMES = {
    *("label-shares", "factors", "reliability", "intra-pss", "inter-pss", "intra-pss-cumulative"),
    *("sensitivity", "consistency", "accuracy", "spread", "answer-entropy", "strict-stability"),
    *("factor-effects-accuracy-difference", "distribution-shift-tv", "inter-model", "f1-macro", "f1-label"),
}

VERDICT = {"verdict": "holds", "effect": "a minus b", "threshold": 0.0}
CONCLUSIONS = [
    Estimate("conclusion", value, value - 0.1, value + 0.1, cell={"conclusion": "C"}, details=VERDICT)
    for value in (0.2, 0.4)
]


@pytest.fixture(scope="module")
def every():
    return every_chart()


@pytest.fixture(scope="module")
def results(every):
    return Results(every.lock, every.annotations, [*every.estimates, *CONCLUSIONS], audit=every.audit)


@pytest.fixture(scope="module")
def drawn(results):
    return {one.name: one for one in figures(results)}


@pytest.fixture(scope="module")
def report(every, tmp_path_factory):
    return write_report(tmp_path_factory.mktemp("every"), **every.inputs())


def rows(figure, width=720):
    """Every row that a chart was given to draw."""
    return list(figure.chart(width)["data"]["values"])


def numbers(thing):
    if isinstance(thing, (int, float)) and not isinstance(thing, bool):
        yield float(thing)
    elif isinstance(thing, dict):
        yield from (number for value in thing.values() for number in numbers(value))
    elif isinstance(thing, list):
        yield from (number for value in thing for number in numbers(value))


def test_every_chart_is_there_and_its_title_says_what_it_shows(drawn, results):
    assert gallery(results)[1] == {}
    assert set(drawn) >= NAMES
    for figure in drawn.values():
        assert len(figure.alternative) > 30
        assert figure.title
        assert figure.subtitle
        assert not figure.title.endswith(", with intervals"), figure.title
        assert "_" not in figure.title + figure.subtitle


@pytest.mark.parametrize("name", registry.names("charts"))
def test_every_registered_chart_is_drawn_in_some_study(results, name):
    made = list(registry.load("charts", name)(results))
    assert made
    for one in made:
        assert one.subtitle.endswith(".")
        assert not re.search(r"_|  |\d %|None", one.title + one.subtitle)


def test_bins_of_confidence_are_those_of_the_estimates(drawn):
    figure = drawn["reliability"]
    known = {(b["confidence"], b["right"]) for e in figure.estimates for b in e.details["curve"]}
    assert {(row["x"], row["y"]) for row in rows(figure) if "low" in row and "size" in row} == known


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_chart_is_drawn_in_a_browser(browser, report, width, scheme):
    with Visit(browser, report, width, scheme) as visit:
        visit.unfold()
        assert (visit.said, visit.asked) == ([], [report.as_uri()])
        page = visit.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        shown = {one.get_attribute("id").removeprefix("figure-") for one in page.locator("figure").all()}
        assert shown >= NAMES
        for figure in page.locator("figure").all():
            picture = figure.locator("svg:visible")
            assert picture.count() == 1
            box = picture.bounding_box()
            assert 150 < box["width"] <= width
            assert picture.locator("path").count() > 2
            assert figure.locator("table").count() == 1


@pytest.mark.long
def test_numbers_are_those_of_the_csv(browser, report):
    with report.with_name("estimates.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    known = {float(row[end]) for row in table for end in ("value", "low", "high") if row[end]}
    known |= {number for row in table if row["details"] for number in numbers(json.loads(row["details"]))}
    page = browser.new_page()
    page.goto(report.as_uri())
    shown = page.evaluate("[...document.querySelectorAll('figure data')].map(e => e.getAttribute('value'))")
    page.close()
    assert len(shown) > 1000
    assert {float(value) for value in shown} <= known | {0.25}  # a quarter of the gold labels each


@pytest.mark.long
def test_one_class_and_one_item_draw_what_they_can(tmp_path):
    every = every_chart()
    alone = every.annotations.filter(every.annotations["item"] == "i0")
    for name, frame in (("item", alone), ("none", every.annotations.clear())):
        study = every_chart(annotations=frame)
        path = write_report(tmp_path / name, **study.inputs())
        assert path.stat().st_size > 1000
