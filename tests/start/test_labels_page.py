"""A promise about errors is made in the browser: a sheet goes out, comes back, and labels are accepted."""

import csv
import shlex

import pytest
from tests.chromium import browser
from tests.stance_server import stance_server, truth
from tests.start.conftest import posts
from tests.start.started import started
from tests.start.walk import Walk

from quaver.design.items.table_files import read_rows

__all__ = ["browser"]

pytestmark = pytest.mark.long
pytest.importorskip("nicegui")


def by_hand(sheet):
    """A coder's sheet with the labels that the posts deserve, as it comes back."""
    rows = read_rows(sheet, sheet="Labels")
    back = sheet.with_name(f"back-{sheet.stem}.csv")
    with back.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "label": truth(row.text("text"))} for row in rows)
    return back


def test_a_promise_is_made_with_the_sheet_that_came_back(browser, tmp_path):
    with stance_server() as server, started(tmp_path, {"OPENAI_BASE_URL": server}) as address:
        walk = Walk(browser, address)
        walk.upload(posts(tmp_path / "posts.xlsx", 12))
        walk.to_the_model()
        walk.to_the_verdict()
        walk.click("button:has-text('Label all texts')")
        walk.at("labels")
        walk.fill("[aria-label^='Largest share of wrong labels']", "10")
        walk.click("text=Prepare the labels")
        walk.click("button:has-text('Ask ')")
        walk.click("text=Write the labelled table")
        state = walk.page.locator(".qv-state")
        state.wait_for()
        before = state.inner_text()
        assert "can be accepted" not in before
        with walk.page.expect_download() as download:
            walk.click(".qv-files a:has-text('.xlsx') >> nth=1")
        sheet = tmp_path / download.value.suggested_filename
        download.value.save_as(sheet)
        walk.page.set_input_files("input[type=file]", by_hand(sheet))
        walk.page.wait_for_function(
            "old => document.querySelector('.qv-state')?.innerText.includes('can be accepted')", arg=before
        )
        typed = shlex.split(walk.page.inner_text(".qv-command"))
        assert typed[typed.index("--error") + 1] == "10%"
        assert typed[typed.index("--returned") + 1].startswith("posts-check/returned-")
        walk.context.close()
    assert walk.wrong == []
    rows = read_rows(tmp_path / "posts-labelled.xlsx")
    model = [row for row in rows if row.text("labelled by") == "the model" and not row.text("needs a person")]
    assert len(model) > 80
    assert sum(row.text("label") != truth(row.text("tweet")) for row in model) <= 0.1 * len(model)
