"""The report as people meet it: by keyboard, with a screen reader, on paper."""

import pytest
from tests.report.page.visit import Visit

from quaver.report.page.html_page import write_report

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def report(study, tmp_path_factory):
    return write_report(tmp_path_factory.mktemp("study"), **study.inputs())


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_axe_finds_no_violation(browser, report, width, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    page.goto(report.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    found = axe.run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
    context.close()


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
