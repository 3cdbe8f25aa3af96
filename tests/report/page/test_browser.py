"""The report as people meet it: by keyboard, with a screen reader, on paper."""

import pytest
from tests.chromium import assert_accessible
from tests.gold_study import labelled_study
from tests.report.page.visit import Visit

from quaver.comparison.paired_comparison import compare
from quaver.report.page.html_page import write_report

pytestmark = pytest.mark.long

NOTEBOOK = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>A notebook</title>
<style>body.light {{ background: #fff; color: #111 }} body.dark {{ background: #111; color: #eee }}</style>
</head><body><main><h1>What the labels are worth</h1>{}</main></body></html>
"""


@pytest.fixture(scope="module")
def report(study, tmp_path_factory):
    return write_report(tmp_path_factory.mktemp("study"), **study.inputs())


def test_axe_finds_no_violation(browser, report):
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto(report.as_uri())
    assert_accessible(page)
    context.close()


def test_axe_finds_no_violation_in_what_a_notebook_shows(browser, tmp_path):
    """Its own headings and colours are around the cards; a heading of a card follows them."""
    study = labelled_study(tmp_path / "s", items=60, gold=40)
    other = labelled_study(tmp_path / "t", items=60, gold=40, seed=2)
    whole, pair = study.measure("accuracy"), compare(study, other)
    cards = [study, study.verdict(), whole, whole[0], pair, study.status(), study.variants, study.paper()]
    shown = "".join(f"<div>{card._repr_html_()}</div>" for card in cards)
    path = tmp_path / "notebook.html"
    path.write_text(NOTEBOOK.format(shown), encoding="utf-8")
    page = browser.new_page()
    for scheme in ("light", "dark"):  # of the notebook, whatever the system's is
        page.goto(path.as_uri())
        page.evaluate(f"document.body.className = '{scheme}'")
        assert_accessible(page, scheme, widest=False)
    page.close()


@pytest.mark.parametrize("width", [390, 768, 1280, 1440])
def test_the_first_screen_says_what_to_do(browser, report, width):
    with Visit(browser, report, width) as visit:
        for part in ("h1", ".badge", ".facts", ".prompts"):
            box = visit.page.locator(part).first.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] < 900


def test_a_link_opens_what_is_folded_in(browser, report):
    with Visit(browser, report) as visit:
        part = visit.page.locator("#unmeasured > details")
        assert part.get_attribute("open") is None
        visit.page.locator("#stability > details > summary").click()
        visit.page.locator("#stability p.missing a").first.focus()
        visit.page.keyboard.press("Enter")
        visit.page.locator("#unmeasured > details[open]").wait_for()


def test_the_keyboard_goes_through_the_page_in_its_order(browser, report):
    with Visit(browser, report, 1440) as visit:
        places = []
        for _ in range(12):
            visit.page.keyboard.press("Tab")
            top = "document.activeElement.getBoundingClientRect().top + scrollY"
            places.append(visit.page.evaluate(f"[document.activeElement.tagName, {top}]"))
        assert places[0][0] == "A"  # to skip to the results
        assert "BODY" not in [tag for tag, _ in places]
        assert [top for _, top in places[1:3]] == sorted(top for _, top in places[1:3])


def test_it_prints_on_paper_in_light_colours(browser, report, tmp_path):
    with Visit(browser, report, scheme="dark") as visit:
        visit.page.pdf(path=tmp_path / "report.pdf", format="A4", prefer_css_page_size=True)
        visit.page.emulate_media(media="print", color_scheme="dark")
        colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        assert visit.page.evaluate(colours) == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    content = (tmp_path / "report.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert content.count(b"/Type /Page\n") + content.count(b"/Type /Page ") >= 2
