"""A real browser, as a fixture; tests that need one are skipped where chromium is not installed."""

import shutil

import pytest
from tests.samples import drawn

__all__ = ["assert_accessible", "browser", "violations"]

_OPENED = "document.querySelectorAll('details').forEach(one => { one.open = true })"


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed (apt-get install chromium)")
    sync = pytest.importorskip("playwright.sync_api")
    with sync.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


def violations(page):
    """What axe finds wrong with a page as it is now: each rule's name, with the elements that break it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]


def assert_accessible(page, place="", *, widest=True):
    """Axe finds nothing, all folds open, on a wide and a small screen, one in the light and one in the dark.

    Which is which changes from day to day and from place to place.

    Args:
        page: Of a context that bypasses the page's policy, which forbids axe.
        place: What is shown.
        widest: Whether nothing may be wider than the screen.
    """
    screens = [(1280, "light"), (390, "light"), (390, "dark"), (1280, "dark")]
    for width, scheme in drawn(screens, 2, len(place)):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.wait_for_timeout(300)
        page.evaluate(_OPENED)
        page.wait_for_timeout(200)
        where = (place, width, scheme)
        found = violations(page)
        assert not found, f"{where}: {found}"
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width or not widest, f"{where}: {wide} pixels"
