"""The pictures of the tutorial without a terminal: ``python -m docs.start_pictures`` makes them."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright
from tests.stance_server import stance_server
from tests.start.started import started
from tests.start.walk import REFORM, Walk

PICTURES = Path(__file__).parent / "images" / "start"


def main() -> None:
    """Walk the path once, with a picture of each page."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory() as folder,
        stance_server() as server,
        started(Path(folder), {"OPENAI_BASE_URL": server}) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        walk = Walk(browser, address, viewport={"width": 1000, "height": 640}, reduced_motion="reduce")

        def picture(name: str) -> None:
            walk.page.wait_for_timeout(800)
            walk.page.screenshot(path=PICTURES / f"{name}.png")

        picture("begin")
        walk.upload(REFORM)
        picture("texts")
        walk.click("text=Next: the codebook")
        walk.at("codebook")
        walk.fill("textarea", "Where does this post stand on the reform of the old town?")
        walk.fill("[aria-label='Definition of label 1']", "The author does not want the reform")
        walk.fill("[aria-label='Definition of label 2']", "The author wants the reform")
        walk.fill("[aria-label='Definition of label 3']", "The post is about something else")
        picture("codebook")
        walk.click("text=Next: the model")
        walk.at("model")
        picture("model")
        walk.click("text=Next: the plan")
        walk.at("plan")
        picture("plan")
        walk.click("button:has-text('Ask ')")
        walk.at("run")
        walk.page.locator(".qv-progress:has-text('a second')").wait_for()
        picture("run")
        walk.click("text=See the verdict")
        walk.at("verdict")
        picture("verdict")
        walk.to_the_table()
        picture("labels")
        walk.page.goto(address)
        picture("studies")
        browser.close()


if __name__ == "__main__":
    main()
