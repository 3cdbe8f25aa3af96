"""The picture of the demo's first screen, made by ``python -m docs.demo_picture`` on the bundled model."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parent / "images" / "first-screen.png"


def main(study: str | None = None) -> None:
    """Photograph the first screen of the demo's report, from a folder that holds it or a new one."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        if study is None:
            subprocess.run([sys.executable, "-m", "quaver", "demo"], cwd=folder, check=True)
        report = Path(study or Path(folder, "demo")) / "report.html"
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1000})
        page.goto(report.resolve().as_uri())
        page.locator(".first-screen").screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
