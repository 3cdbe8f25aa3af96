"""The report as people meet it: by keyboard, with a screen reader, on paper, forwarded without its folder."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.report.page.visit import Visit

from quaver.report.page.html_page import write_report

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def report(study: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("study"), **study.inputs())


@pytest.fixture(scope="module")
def forwarded(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page alone, without the files beside it."""
    return Path(shutil.copy(report, tmp_path_factory.mktemp("forwarded") / "report.html"))


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_axe_finds_no_violation(browser: Any, report: Path, width: int, scheme: str) -> None:
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
def test_the_first_screen_says_what_to_do(browser: Any, report: Path, width: int) -> None:
    with Visit(browser, report, width) as visit:
        for part in ("h1", ".badge", ".facts", ".said"):
            box = visit.page.locator(part).first.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] < 900


def saved(visit: Visit, link: Any) -> Any:
    """A file that the page saves; the page asks for nothing over it."""
    with visit.page.expect_download() as waiting:
        link.click()
    return waiting.value


def test_every_file_is_inside_the_page(browser: Any, report: Path, forwarded: Path, tmp_path: Path) -> None:
    with Visit(browser, forwarded) as visit:
        visit.unfold()
        links = visit.page.locator("a[href]:not([href^='#'])")
        assert all(str(link.get_attribute("href")).startswith("data:") for link in links.all())
        whole = saved(visit, visit.page.locator("#files a.save"))
        assert whole.suggested_filename == "estimates.csv"
        whole.save_as(tmp_path / "saved.csv")
        assert (tmp_path / "saved.csv").read_bytes() == report.with_name("estimates.csv").read_bytes()
        figure = visit.page.locator("#figure-accuracy")
        picture = saved(visit, figure.locator("a.save", has_text="SVG"))
        picture.save_as(tmp_path / "accuracy.svg")
        assert (tmp_path / "accuracy.svg").read_bytes() == (
            report.parent / "figures" / "accuracy.svg"
        ).read_bytes()
        drawn = saved(visit, figure.locator("button.save", has_text="PNG"))
        drawn.save_as(tmp_path / "accuracy.png")
        assert drawn.suggested_filename == "accuracy.png"
        assert (tmp_path / "accuracy.png").read_bytes().startswith(b"\x89PNG")
        table = saved(visit, figure.locator("a.save", has_text="CSV"))
        table.save_as(tmp_path / "accuracy.csv")
        with (tmp_path / "accuracy.csv").open(encoding="utf-8", newline="") as file:
            assert len(list(csv.DictReader(file))) == figure.locator("tbody tr").count()
        assert visit.said == []


def test_files_are_saved_packed_where_nothing_unpacks_them(browser: Any, forwarded: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(forwarded.as_uri())
    link = page.locator("#files a.save")
    assert str(link.get_attribute("download")).endswith("estimates.csv.gz")
    context.close()


def test_a_link_opens_what_is_folded_in(browser: Any, report: Path) -> None:
    with Visit(browser, report) as visit:
        part = visit.page.locator("#unmeasured > details")
        assert part.get_attribute("open") is None
        visit.page.locator("#stability p.missing a").first.focus()
        visit.page.keyboard.press("Enter")
        visit.page.locator("#unmeasured > details[open]").wait_for()


def test_the_keyboard_goes_through_the_page_in_its_order(browser: Any, report: Path) -> None:
    with Visit(browser, report, 1440) as visit:
        places = []
        for _ in range(12):
            visit.page.keyboard.press("Tab")
            top = "document.activeElement.getBoundingClientRect().top + scrollY"
            places.append(visit.page.evaluate(f"[document.activeElement.tagName, {top}]"))
        assert places[0][0] == "A"  # to skip to the results
        assert "BODY" not in [tag for tag, _ in places]
        assert [top for _, top in places[1:3]] == sorted(top for _, top in places[1:3])


def test_it_prints_on_paper_in_light_colours(browser: Any, report: Path, tmp_path: Path) -> None:
    with Visit(browser, report, scheme="dark") as visit:
        visit.page.pdf(path=tmp_path / "report.pdf", format="A4", prefer_css_page_size=True)
        visit.page.emulate_media(media="print", color_scheme="dark")
        colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        assert visit.page.evaluate(colours) == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    content = (tmp_path / "report.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert content.count(b"/Type /Page\n") + content.count(b"/Type /Page ") >= 2
