"""Marks of charts on the page say what they stand for."""

import pytest
from tests.report.page.visit import Visit
from tests.report.test_hostile import hostile_study

from quaver.report.page.html_page import write_report
from quaver.report.page_words import printed, sentence


@pytest.fixture(scope="module")
def report(study, tmp_path_factory):
    return write_report(tmp_path_factory.mktemp("marks"), **study.inputs())


CHART = "#figure-accuracy"


def described(visit, figure="accuracy", width="wide"):
    visit.unfold()
    return visit.page.locator(f"#figure-{figure} .{width} .described")


@pytest.mark.long
def test_every_mark_of_accuracy_says_its_estimate(browser, report, study):
    with Visit(browser, report) as visit:
        marks = described(visit)
        said = {marks.nth(at).get_attribute("aria-label") for at in range(marks.count())}
    results = study.results()
    assert said == {sentence(one, results) for one in results.main("accuracy")}
    one = results.main("accuracy")[0]
    interval = f"95% interval {printed(0.3, True)} to {printed(0.7, True)}"
    assert f"plain · names: {printed(one.value, True)} correct, {interval}, 8 items" in said


def test_pointing_at_a_mark_shows_its_words(browser, report):
    with Visit(browser, report) as visit:
        mark, tip = described(visit).first, visit.page.locator("#tip")
        assert not tip.is_visible()
        mark.hover()
        assert tip.inner_text() == mark.get_attribute("aria-label")
        visit.page.mouse.move(2, 2)
        assert not tip.is_visible()


def test_keys_go_from_mark_to_mark(browser, report):
    with Visit(browser, report) as visit:
        marks, tip = described(visit), visit.page.locator("#tip")
        assert visit.page.locator(f"{CHART} .wide .described[tabindex='0']").count() == 1
        marks.first.focus()
        assert tip.inner_text() == marks.first.get_attribute("aria-label")
        visit.page.keyboard.press("ArrowRight")
        assert tip.inner_text() == marks.nth(1).get_attribute("aria-label")
        visit.page.keyboard.press("Escape")
        assert not tip.is_visible()


def test_a_tap_shows_the_words(browser, report):
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(report.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    mark = page.locator(f"{CHART} .narrow .described").first
    mark.scroll_into_view_if_needed()
    mark.tap()
    assert page.locator("#tip").inner_text() == mark.get_attribute("aria-label")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_a_hostile_prompt_is_text_in_the_words(browser, make, tmp_path):
    with Visit(browser, write_report(tmp_path, **hostile_study(make).inputs())) as visit:
        described(visit).first.hover()
        assert "<script>alert(1)</script>" in visit.page.locator("#tip").inner_text()
        assert visit.said == []


@pytest.mark.parametrize("at", ["#prompt-0", "#prompt-999", "#prompt-1-9", "#prompt-<b>", "#%E0%A4%A"])
def test_odd_addresses_do_no_harm(browser, report, at):
    with Visit(browser, report, at=at) as visit:
        assert visit.said == []


def test_without_the_script_marks_keep_their_words(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    mark = page.locator(f"{CHART} .wide .described").first
    assert "correct" in (mark.locator("title").text_content() or "")
    context.close()


@pytest.mark.parametrize(("width", "which"), [(390, "narrow"), (1440, "wide")])
def test_text_in_charts_can_be_read(browser, report, width, which):
    with Visit(browser, report, width) as visit:
        sizes = visit.page.evaluate(
            "which => [...document.querySelectorAll(`figure .${which} svg text`)]"
            ".filter(e => e.getClientRects().length)"
            ".map(e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)",
            which,
        )
    assert len(sizes) > 40
    assert min(sizes) >= 12
