"""Several coders judge by hand from `quaver start`, blind to each other until all are done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.chromium import browser
from tests.start.started import started
from tests.start.walk import Walk
from tests.view.page.conftest import collect

__all__ = ["browser"]

pytestmark = pytest.mark.long
pytest.importorskip("nicegui")

ITEMS = "id,text,truth,side\n" + "".join(f"i{n},Thing no. {n} is fine.,,a\n" for n in range(4))


def _named(page: Any, who: str) -> None:
    page.get_by_label("Your name").fill(who)
    page.get_by_label("Your name").press("Enter")
    page.keyboard.press("Tab")


def _label(page: Any, item: str, key: str) -> None:
    page.locator(f".judged b:text-is('{item}')").wait_for()
    page.keyboard.press(key)


def _agreement(page: Any) -> str:
    page.click("text=See what that would do")
    said = page.locator(".all-marks > p[role=status]")
    page.wait_for_function("one => one.innerText.includes('would have')", arg=said.element_handle())
    return str(said.inner_text())


def test_how_well_coders_agree_is_shown_when_all_are_done(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "tones").mkdir()
    collect(tmp_path / "tones", rows=ITEMS)
    with started(tmp_path) as address:
        walk = Walk(browser, address)
        walk.page.goto(f"{address}study/tones/verdict")
        with walk.context.expect_page() as opened:
            walk.click("text=Judge texts by hand")
        page = opened.value
        page.locator(".judged").wait_for()
        _named(page, "ada")
        for number in range(4):
            _label(page, f"i{number}", "1")
        page.wait_for_timeout(1000)  # the last mark is kept
        _named(page, "ben")
        page.wait_for_timeout(1000)  # whose marks count is looked up
        page.click("button:has-text('Next without a mark')")  # what ada marked is open for ben
        for number in range(3):
            _label(page, f"i{number}", "12"[number == 0])
            assert "ada" not in page.locator(".judged").inner_text()
        page.wait_for_timeout(1000)  # the page's own part about marks is drawn anew
        before = _agreement(page)
        assert "ben has 1 item left" in before
        assert "alpha" not in before
        assert "disagree on" not in before
        _label(page, "i3", "1")
        page.wait_for_timeout(1000)
        after = _agreement(page)
        assert "People disagree on 1 item" in after
        assert "75% of the pairs agree" in after
        walk.context.close()
    assert walk.wrong == []
