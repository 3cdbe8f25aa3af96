"""A part of a study as one file that opens from disk: the same page, without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.view.page.conftest import Opened, serving
from tests.view.page.test_axe import violations

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def file(study: Path, browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file as the page saves it."""
    path = tmp_path_factory.mktemp("file") / "shown.html"
    with serving(study) as address, Opened(browser, address, "#/grid?q=item:i*") as view:
        view.page.locator(".legend button").first.wait_for()
        view.page.get_by_role("button", name="Export").click()
        with view.page.expect_download() as waiting:
            view.page.get_by_role("link", name="One HTML file").click()
        waiting.value.save_as(path)
    return path


@pytest.fixture
def opened(browser: Any, file: Path) -> Any:
    def open_file(at: str, width: int = 1440) -> Opened:
        return Opened(browser, file.as_uri(), at, width)

    return open_file


def test_the_file_shows_verdict_grid_and_answer(opened: Any) -> None:
    with opened("#/overview") as view:
        assert view.read(".card .study") == "tones"
    with opened("#/grid?item=i5&column=2") as view:
        panel = view.page.locator(".panel")
        panel.locator("h2").wait_for()
        assert panel.locator("pre.answer").inner_text() == "negative"
        panel.locator(".prompted ins").first.wait_for()
        assert panel.locator(".sibling").count() == 6
        view.page.keyboard.press("j")
        view.until("document.querySelector('.panel h2').textContent === 'Item i6'")
        assert panel.locator(".verdicts").count() == 0  # nobody keeps marks here


def test_the_file_filters_and_sorts(opened: Any) -> None:
    with opened("#/answers?q=label:neg&sort=-id") as view:
        page = view.page
        page.locator(".answer-row").first.wait_for()
        labels = {one.split("\n")[0] for one in page.locator(".row-label").all_inner_texts()}
        assert labels == {"negative"}
        items = [one.split(" ")[0] for one in page.locator(".row-of").all_inner_texts()]
        assert items == sorted(items, reverse=True)
        page.get_by_label("Filter answers").fill('words:plain -is:right "Thing no. 10"')
        page.keyboard.press("Enter")
        view.until("document.querySelectorAll('.answer-row').length === 2")
        page.get_by_label("Filter answers").fill("wrods:curt")
        page.keyboard.press("Enter")
        page.locator(".query-said", has_text="wrods").wait_for()


def test_the_file_compares_two_prompts(opened: Any) -> None:
    with opened("#/compare") as view:
        view.page.locator(".headline").wait_for()
        assert view.read(".headline") == "5 of 30 items have different labels (17%)."
        assert view.page.locator(".flips-list > li").count() == 5


def test_axe_finds_no_violation_in_the_file(browser: Any, file: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 900}, bypass_csp=True)
    page = context.new_page()
    for view, there in (("#/overview", ".card"), ("#/grid?item=i5&column=2", ".panel h2")):
        page.goto(file.as_uri() + view)
        page.locator(there).first.wait_for()
        page.wait_for_timeout(200)
        assert (view, violations(page)) == (view, [])
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()
