"""Several coders judge by hand from `quaver start`, blind to each other."""

import pytest
from tests.chromium import browser
from tests.start.started import started
from tests.start.walk import Walk
from tests.view.page.conftest import collect

__all__ = ["browser"]

pytestmark = pytest.mark.long
pytest.importorskip("nicegui")

ITEMS = "id,text,truth,side\n" + "".join(f"i{n},Thing no. {n} is fine.,,a\n" for n in range(4))


def _named(page, who):
    page.get_by_label("Your name").fill(who)
    page.get_by_label("Your name").press("Enter")
    page.keyboard.press("Tab")


def _label(page, item, key):
    page.locator(f".judged b:text-is('{item}')").wait_for()
    page.keyboard.press(key)


def test_coders_do_not_see_each_other_and_their_labels_become_gold(browser, tmp_path):
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
        _label(page, "i3", "1")
        page.wait_for_timeout(1000)
        page.click("button:has-text('Make them gold labels')")
        page.locator(".all-marks > p[role=status]:has-text('8 labels taken')").wait_for()
        walk.context.close()
    assert walk.wrong == []
    kept = (tmp_path / "tones" / "gold" / "labels.csv").read_text(encoding="utf-8")
    assert kept.count("ada") == kept.count("ben") == 4
