"""Whoever sees little, hears the page, moves it by keyboard or has a small screen."""

import pytest
from tests.chromium import assert_accessible

pytestmark = pytest.mark.long

VIEWS = {
    "overview": "#/overview",
    "grid": "#/grid?q=is:flip&item=i5&column=3",
    "answers": "#/answers?item=i5&column=3",
    "judge": "#/judge",
    "blind": "#/judge?what=items&blind=1",
}
THERE = {
    "overview": ".run .pairs",
    "grid": ".panel h2",
    "answers": ".panel h2",
    "judge": ".judged",
    "blind": ".judged",
}


def test_axe_finds_no_violation(browser, address):
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    for name, view in VIEWS.items():
        page.goto(address + view)
        page.locator(THERE[name]).first.wait_for()
        assert_accessible(page, name)
    context.close()


def test_axe_finds_no_violation_in_what_opens(browser, address):
    context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
    page = context.new_page()
    page.goto(address + "#/grid")
    page.locator(".legend button").first.wait_for()
    page.keyboard.press("t")
    page.locator(".as-table table").wait_for()
    assert_accessible(page, "table")
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    assert_accessible(page, "keys")
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    context.close()


@pytest.mark.parametrize("view", ["#/overview", "#/grid", "#/answers", "#/judge"])
def test_what_has_the_focus_is_seen(browser, address, view):
    """Twenty presses of the tab key; each stops at something that is marked."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address + view)
    page.locator("main > *").first.wait_for()
    page.wait_for_timeout(400)
    for _ in range(20):
        page.keyboard.press("Tab")
        style = page.evaluate(
            "(() => { const one = document.activeElement, style = getComputedStyle(one);"
            " return [one.tagName, one.className, style.outlineStyle, style.outlineWidth]; })()"
        )
        assert style[0] == "BODY" or (style[2] != "none" and style[3] != "0px"), style
    page.close()


def test_keys_of_one_letter_can_be_turned_off(opened):
    with opened("#/grid") as view:
        page = view.page
        page.locator(".legend button").first.wait_for()
        page.keyboard.press("?")
        page.get_by_label("Use keys of one letter or sign").uncheck()
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
        page.keyboard.press("t")
        page.keyboard.press("?")
        assert page.locator(".as-table").is_hidden()
        assert page.get_by_role("dialog").count() == 0
        page.evaluate("localStorage.clear()")


def test_nothing_moves_for_those_who_want_that(browser, address):
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(address + "#/overview")
    page.locator(".run .pairs").wait_for()
    running = page.evaluate("document.getAnimations().length")
    assert running == 0
    context.close()


def test_a_small_screen_shows_the_answer_alone(opened):
    with opened("#/answers", width=390) as view:
        page = view.page
        page.locator(".answer-row").first.click()
        page.locator(".panel h2").wait_for()
        box = page.locator(".panel").bounding_box()
        assert (box["x"], box["width"]) == (0, 390)
        page.get_by_role("button", name="Close").click()
        page.locator(".answer-row").first.wait_for()
        page.get_by_role("button", name="Filters").click()
        page.locator("#facets button").first.wait_for()
