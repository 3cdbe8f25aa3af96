"""``quaver view`` beside inspect-ai's viewer, on the same answers, in the same browser, in one run.

    python benchmarks/view_studies.py /tmp/some --items 1000 --repeats 5      # 100,000 answers
    python benchmarks/view_beside_inspect.py /tmp/some ... [--inspect VENV] [--limit SECONDS]

inspect-ai needs an environment of its own (its dependencies differ): ``python -m venv VENV`` and
``VENV/bin/pip install inspect-ai``. Its log of a study is written beside the study, once.

Measured, for each viewer with a server of its own: seconds from asking for the list of answers until it is
there, seconds from a click on an answer until its text is there (the first, and the median of five), the
peak memory of server and page, and the processor time of both, which other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

from machine import machine

from view import megabytes, page_processes, served

HEAVY = Path(__file__).parents[1] / ".venv-heavy"
LOG = "answers.eval"


@dataclass
class Viewer:
    """A viewer that runs, and where its page shows what."""

    name: str
    process: int
    address: str
    row: str
    opened: str
    beside: bool = True
    """Whether an answer opens beside the list."""


@contextmanager
def ours(study: Path) -> Iterator[Viewer]:
    """``quaver view``, once its index is there."""
    with served(study) as (address, process, _):
        while json.load(urlopen(f"{address}api/studies"))["studies"][0]["index"]["state"] != "ready":
            time.sleep(0.5)
        yield Viewer(
            "Quaver", process, f"{address}#/answers", ".answer-row", ".panel .answer, .panel .missing"
        )


@contextmanager
def theirs(study: Path, environment: Path) -> Iterator[Viewer]:
    """``inspect view``, on a log of the same answers."""
    logs = study / "inspect"
    if not (logs / LOG).exists():
        logs.mkdir(exist_ok=True)
        writer = Path(__file__).with_name("inspect_log.py")
        subprocess.run([environment / "bin" / "python", writer, study, logs / LOG], check=True)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = [environment / "bin" / "inspect", "view", "start", "--log-dir", logs, "--port", str(port)]
    server = subprocess.Popen([*command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        address = f"http://127.0.0.1:{port}/#/logs/{quote(LOG)}/samples"
        yield Viewer(
            "inspect", server.pid, address, ".sample-input", ".assistant .markdown-content", "go back"
        )
    finally:
        server.terminate()
        server.wait(10)


def processor_seconds(process: int) -> float:
    """What a process has taken of the processor so far."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Watch(threading.Thread):
    """Looks at a server and at the pages that begin from now on, also at those that do not survive."""

    def __init__(self, server: int) -> None:
        super().__init__(daemon=True)
        self.server, self.others, self.ended = server, set(page_processes()), threading.Event()
        self.before = processor_seconds(server)
        self.peaks: dict[int, float] = {}
        self.seconds: dict[int, float] = {}

    def run(self) -> None:
        """Look until it is ended."""
        while not self.ended.wait(0.1):
            for one in [self.server, *(page for page in page_processes() if page not in self.others)]:
                self.peaks[one] = max(self.peaks.get(one, 0.0), megabytes(one, "VmHWM"))
                took = processor_seconds(one) - (self.before if one == self.server else 0.0)
                self.seconds[one] = max(self.seconds.get(one, 0.0), took)

    def memory(self) -> str:
        """The most that the server and the largest page had, in words."""
        page = max((peak for one, peak in self.peaks.items() if one != self.server), default=0.0)
        return f"server {self.peaks.get(self.server, 0.0):.0f} MB, page {page:.0f} MB"


@contextmanager
def watched(server: int) -> Iterator[Watch]:
    """A watch that ends with the block."""
    watch = Watch(server)
    watch.start()
    try:
        yield watch
    finally:
        watch.ended.set()
        watch.join()


def looked_at(viewer: Viewer, limit: float) -> str:
    """One viewer's line: what it took, or how it stopped."""
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright, watched(viewer.process) as seen:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        crashed: list[Any] = []
        page.on("crash", lambda _: crashed.append(True))
        page.set_default_timeout(1000 * limit)
        begun = time.perf_counter()
        said = ""
        try:
            page.goto(viewer.address)
            page.locator(viewer.row).first.wait_for()
            said = f"list {time.perf_counter() - begun:.2f} s"
            said += f", {_opening(page, viewer)}"
        except Error as error:
            how = "page crashed" if crashed else f"gave up ({error.message.splitlines()[0]})"
            said = f"{said} {how} after {time.perf_counter() - begun:.0f} s".strip()
        time.sleep(0.5)
        browser.close()
    return f"{said}; {seen.memory()}, {sum(seen.seconds.values()):.1f} s of processor time"


def _opening(page: Any, viewer: Viewer) -> str:
    """Seconds from a click on an answer until it is there: of the first, and the median of five."""
    times = []
    for at in range(5):
        page.wait_for_timeout(1000)  # a list that is being drawn loses clicks
        begun = time.perf_counter()
        page.locator(viewer.row).nth(at).click()
        page.locator(viewer.opened).first.wait_for()
        times.append(time.perf_counter() - begun)
        page.keyboard.press("Escape") if viewer.beside else page.go_back()
        page.locator(viewer.opened).first.wait_for(state="hidden")
        page.locator(viewer.row).nth(at + 1).wait_for()
    return f"first answer {times[0]:.2f} s, median of five {statistics.median(times):.2f} s"


def main() -> None:
    """Compare on each study."""
    how = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=how)
    parser.add_argument("studies", type=Path, nargs="+")
    parser.add_argument("--inspect", type=Path, default=HEAVY, help="an environment that has inspect-ai")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds to wait for a page")
    given = parser.parse_args()
    if not (given.inspect / "bin" / "inspect").exists():
        sys.exit(f"inspect-ai is not installed in {given.inspect} (see --help)")
    known = next((given.inspect / "lib").glob("python*/site-packages/inspect_ai-*.dist-info")).name
    print(
        f"Quaver {importlib.metadata.version('quaver')} and {known.removesuffix('.dist-info')}, {machine()}"
    )
    for study in given.studies:
        print(study.name, flush=True)
        with ours(study) as viewer:
            print(f"  {viewer.name:8} {looked_at(viewer, given.limit)}", flush=True)
        with theirs(study, given.inspect) as viewer:
            print(f"  {viewer.name:8} {looked_at(viewer, given.limit)}", flush=True)


if __name__ == "__main__":
    main()
