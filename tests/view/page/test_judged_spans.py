"""Words are marked in the viewer, by mouse and by keyboard, and become gold labels."""

import json

import polars as pl
import pytest
from tests.chromium import assert_accessible, browser
from tests.studies import written
from tests.view.page.conftest import serving
from tests.view.test_shown_spans import STUDY, _answer

import quaver

__all__ = ["browser"]

pytestmark = pytest.mark.long

TEXT = "Ada \U0001f642 met\r\nBabbage in London."


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    rows = [{"id": "a", "text": TEXT, "marked": ""}, {"id": "b", "text": "Nobody.", "marked": ""}]
    path = written(tmp_path_factory.mktemp("spans"), STUDY, "\n".join(map(json.dumps, rows)), "items.jsonl")
    quaver.Study.open(path, functions={"m": _answer}).run(watch=lambda _: None)
    return path


def test_words_are_marked_and_become_gold(browser, study):
    with serving(study) as address:
        context = browser.new_context(bypass_csp=True)
        page = context.new_page()
        page.goto(f"{address}#/judge?what=items&blind=1")
        text = page.get_by_label("The text: select words, then press a label")
        page.get_by_role("button", name="1 Person").click()
        page.get_by_text("No words are selected").wait_for()
        text.dblclick(position={"x": 12, "y": 12})
        page.get_by_role("button", name="2 place").click()
        page.get_by_role("button", name="Remove place: Ada").wait_for()
        assert_accessible(page, "spans")
        text.focus()
        for key in ("Control+Home", "ArrowDown", "Home", *["Shift+ArrowRight"] * 8, "1"):
            page.keyboard.press(key)
        page.get_by_role("button", name="Remove Person: Babbage").wait_for()
        page.get_by_role("button", name="Remove place: Ada").press("Enter")
        page.get_by_role("button", name="Remove place: Ada").wait_for(state="detached")
        page.reload()
        page.get_by_role("button", name="Remove Person: Babbage").wait_for()
        assert page.locator(".span-field mark").all_text_contents() == ["Babbage"], "marked below its words"
        page.get_by_role("button", name="Next", exact=True).click()
        page.get_by_text("2 of 2", exact=True).wait_for()
        page.get_by_role("button", name="Nothing to mark").click()
        page.locator("button[aria-pressed=true]", has_text="Nothing to mark").wait_for()
        page.get_by_role("button", name="Make them gold labels").click()
        page.get_by_text("2 labels taken").wait_for(timeout=120_000)  # by a process of its own
        context.close()
    kept = pl.read_csv(study.parent / "gold" / "labels.csv", infer_schema=False)
    assert {*kept.select("item", "label").iter_rows()} == {("a", "person[11:18]"), ("b", "[]")}
