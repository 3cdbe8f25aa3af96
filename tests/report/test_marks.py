"""Marks of charts on the page: what they say, where they lead, and which of them a model's filter leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.report.test_hostile import hostile_study, opened_in_silence

from quaver.core.records import Estimate
from quaver.report.page.html_page import write_report
from quaver.report.page_words import printed, sentence


@pytest.fixture(scope="module")
def report(study: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("marks"), **study.inputs())


@pytest.fixture(scope="module")
def two_models(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = make(models=("one", "two"), repeats=1)
    study.estimates += [
        Estimate("f1", value, value - 0.1, value + 0.1, n=8, cell={"model": model, "paraphrase": name})
        for model, value in (("one", 0.5), ("two", 0.75))
        for name in ("plain", "polite")
    ]
    return write_report(tmp_path_factory.mktemp("models"), **study.inputs())


def described(page: Any, figure: str) -> Any:
    return page.locator(f"#figure-{figure} .wide .described")


@pytest.mark.long
def test_every_mark_of_accuracy_says_its_estimate(browser: Any, report: Path, study: Any) -> None:
    page = opened_in_silence(browser, report)
    marks = described(page, "accuracy")
    said = {marks.nth(at).get_attribute("aria-label") for at in range(marks.count())}
    results = study.results()
    assert said == {sentence(one, results) for one in results.main("accuracy")}
    one = results.main("accuracy")[0]
    interval = f"95% interval {printed(0.3, True)} to {printed(0.7, True)}"
    assert f"plain · names: {printed(one.value, True)} correct, {interval}, 8 items" in said
    page.close()


def test_pointing_at_a_mark_shows_its_words(browser: Any, report: Path) -> None:
    page = opened_in_silence(browser, report)
    mark, tip = described(page, "accuracy").first, page.locator("#tip")
    assert not tip.is_visible()
    mark.hover()
    assert tip.inner_text() == mark.get_attribute("aria-label")
    page.mouse.move(2, 2)
    assert not tip.is_visible()
    page.close()


def test_keys_go_from_mark_to_mark_and_to_the_prompt(browser: Any, report: Path) -> None:
    page = opened_in_silence(browser, report)
    marks = described(page, "accuracy")
    assert page.locator("#figure-accuracy .wide .described[tabindex='0']").count() == 1
    marks.first.focus()
    assert page.locator("#tip").inner_text() == marks.first.get_attribute("aria-label")
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").inner_text() == marks.nth(1).get_attribute("aria-label")
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()
    page.keyboard.press("Enter")
    assert page.locator("#prompt-panel").is_visible()
    page.wait_for_url("**" + marks.nth(1).get_attribute("href"))
    page.close()


def test_a_click_opens_the_prompt_and_back_closes_it(browser: Any, report: Path) -> None:
    page = opened_in_silence(browser, report)
    described(page, "accuracy").first.click()
    panel = page.locator("#prompt-panel")
    name = "plain · names"
    assert panel.locator("h2").inner_text() == name
    assert "Which? (plain, names)" in panel.locator("pre").last.inner_text()
    page.go_back()
    panel.wait_for(state="hidden")
    page.go_forward()
    panel.wait_for(state="visible")
    page.keyboard.press("Escape")
    panel.wait_for(state="hidden")
    assert not page.evaluate("location.hash")
    assert not panel.is_visible()
    page.close()


def test_a_tap_shows_the_words_and_a_second_one_the_prompt(browser: Any, report: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(report.as_uri())
    mark = page.locator("#figure-accuracy .narrow .described").first
    mark.scroll_into_view_if_needed()
    mark.tap()
    assert page.locator("#tip").inner_text() == mark.get_attribute("aria-label")
    assert not page.locator("#prompt-panel").is_visible()
    page.mouse.wheel(0, 12)  # the words go when the page moves, and the next tap is the second all the same
    page.locator("#tip").wait_for(state="hidden")
    mark.tap()
    assert page.locator("#prompt-panel").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


@pytest.mark.long
def test_the_filter_leaves_one_model_in_charts_and_tables(browser: Any, two_models: Path) -> None:
    page = opened_in_silence(browser, two_models)
    page.evaluate("document.querySelectorAll('details.closer').forEach(one => one.open = true)")
    page.locator("#model-filter select").select_option("two")
    left = page.locator("#figure-f1 .wide .described:visible")
    said = [left.nth(at).get_attribute("aria-label") for at in range(left.count())]
    assert [words.count("two") for words in said] == [1, 1]
    assert all("75%" in words or "0.75" in words for words in said)
    page.locator("#figure-f1 summary").click()
    cells = page.locator("#figure-f1 tbody tr:visible").all_inner_texts()
    assert len(cells) == 2
    assert all("two" in row for row in cells)
    page.locator("#model-filter select").select_option("all models")
    assert left.count() == 4
    page.locator("#model-filter select").select_option("one")
    places = page.evaluate(
        "[...document.querySelectorAll('#figure-f1 .wide g[data-panel]')].map(e => [e.dataset.panel,"
        " e.classList.contains('off'), e.firstElementChild.getAttribute('transform')])"
    )
    page.locator("#model-filter select").select_option("two")
    moved = page.locator("#figure-f1 .wide g[data-panel='2'] > g").first.get_attribute("transform")
    assert [(panel, off) for panel, off, _ in places] == [("1", False), ("2", True)]
    assert moved == places[0][2] != places[1][2]  # the panel that is left stands where the first one stood
    page.close()


def test_one_model_needs_no_filter(browser: Any, report: Path) -> None:
    page = opened_in_silence(browser, report)
    assert page.locator("#model-filter select").count() == 0
    page.close()


def test_a_hostile_prompt_is_text_in_the_words_and_in_the_panel(
    browser: Any, make: Any, tmp_path: Path
) -> None:
    path = write_report(tmp_path, **hostile_study(make).inputs())
    page = opened_in_silence(browser, path)
    described(page, "accuracy").first.hover()
    assert "<script>alert(1)</script>" in page.locator("#tip").inner_text()
    described(page, "accuracy").first.click()
    panel = page.locator("#prompt-panel")
    assert "<script>alert(1)</script>" in panel.inner_text()
    assert panel.locator("script, img, svg, iframe, b, i, u").count() == 0
    page.close()


@pytest.mark.parametrize("address", ["#prompt-0", "#prompt-999", "#prompt-1-9", "#prompt-1e5", "#prompt-<b>"])
def test_odd_addresses_do_no_harm(browser: Any, report: Path, address: str) -> None:
    page = browser.new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(report.as_uri() + address)
    assert said == []
    assert page.locator("#prompt-panel").is_visible() is False
    page.close()


def test_without_the_script_marks_keep_words_and_links(browser: Any, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    mark = described(page, "accuracy").first
    assert "correct" in (mark.locator("title").text_content() or "")
    mark.click()
    page.wait_for_url("**#prompt-1")
    assert page.locator("#prompt-1 summary").is_visible()
    context.close()


@pytest.mark.parametrize(("width", "which"), [(390, "narrow"), (1440, "wide")])
def test_text_in_charts_can_be_read(browser: Any, report: Path, width: int, which: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(report.as_uri())
    sizes = page.evaluate(
        "which => [...document.querySelectorAll(`figure .${which} svg text`)]"
        ".filter(e => e.getClientRects().length)"
        ".map(e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)",
        which,
    )
    assert len(sizes) > 40
    assert min(sizes) >= 12
    page.close()
