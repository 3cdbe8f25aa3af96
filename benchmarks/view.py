"""How fast ``quaver view`` is, in a real browser, on a study of any size (see ``view_studies.py``).

    python benchmarks/view_studies.py /tmp/ten --items 100000 --repeats 5
    python benchmarks/view.py /tmp/ten

Measured: seconds from the server's address to the first screen, with an index that was made before;
milliseconds of each filter, in the browser, from request to parsed answer with the first window of rows and
cells; memory of the server and of the page.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

QUERIES = (
    *("", "label:pos", "no:label", "status:empty", "is:flip", "is:wrong", "-label:pos", "gold:pos"),
    *("is:right label:neg", "modal:neu", "side:a is:flip", "instability>0.4", "accuracy<0.3", "labels>=3"),
    *("prompt:p7", "wording:p3,p4 is:flip", "repeat=2 label:neg", "item:item-0123*"),
    *("length>20", "is:flip -gold:pos", 'answer:"not sure"', '"number 123"'),
    'text:"Review 777"',
)
SORTS = ("item", "instability", "gold", "accuracy")
_ASK = """async ([place, params]) => {
    const begun = performance.now();
    const grid = await (await fetch(`${place}/grid?${params}`)).json();
    if (grid.error) throw new Error(grid.error.problem);
    const answered = performance.now();
    await (await fetch(`${place}/rows?${params}&from=0&count=60`)).json();
    await (await fetch(`${place}/cells?${params}&from=0&count=60&left=0&width=120&match=1`)).arrayBuffer();
    return [answered - begun, performance.now() - begun, grid.rows, grid.matched];
}"""


@contextmanager
def served(study: Path) -> Iterator[tuple[str, int, float]]:
    """A server of its own; its address, its process, and when it answered."""
    command = [sys.executable, "-m", "quaver", "view", str(study), "--no-open"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        yield address, server.pid, time.perf_counter()
    finally:
        server.terminate()
        server.wait(10)


def megabytes(process: int, field: str = "VmRSS") -> float:
    """The memory of a process: now (VmRSS), or the most that it had (VmHWM)."""
    with suppress(OSError):  # it may just have ended
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    return 0.0


def page_processes() -> list[int]:
    """The browser's pages."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def renderers() -> float:
    """The memory of the browser's largest page, in megabytes."""
    return max(map(megabytes, page_processes()), default=0.0)


def measured(study: Path) -> Iterator[str]:
    """The lines of a report."""
    from playwright.sync_api import sync_playwright

    with served(study) as (address, process, up), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        launched = time.perf_counter()
        page.goto(address)
        page.wait_for_selector("#page nav, #page h1", timeout=60_000)
        first = time.perf_counter() - launched
        yield f"first screen {first:.2f} s (the browser took {launched - up:.2f} s to start)"
        begun = time.perf_counter()
        page.reload()
        page.wait_for_selector("#page nav, #page h1", timeout=60_000)
        yield f"first screen again {time.perf_counter() - begun:.2f} s"
        (known,) = page.evaluate("async () => (await (await fetch('api/studies')).json()).studies")
        yield f"{known['answers']:,} answers to {known['items']:,} items, index {known['index']['state']}"
        yield from _filters(page, f"api/studies/{quote(known['id'])}", process)
        page.goto(f"{address}#/grid?study={quote(known['id'])}")
        page.wait_for_timeout(3000)
        yield f"server {megabytes(process):.0f} MB, at most {megabytes(process, 'VmHWM'):.0f} MB"
        yield f"page {renderers():.0f} MB"
        browser.close()


def _filters(page: Any, place: str, process: int) -> Iterator[str]:
    times = []
    for query in QUERIES:
        took, whole, rows, matched = page.evaluate(_ASK, [place, f"q={quote(query)}"])
        times.append(whole)
        found = f"{rows:,} rows, {matched:,} answers"
        yield f"{took:7.0f} ms, {whole:7.0f} with rows and cells: {query!r}: {found}"
    yield f"filters: median {statistics.median(times):.0f} ms, worst {max(times):.0f} ms"
    for sort in SORTS:
        took, whole, rows, _ = page.evaluate(_ASK, [place, f"sort={sort}"])
        yield f"{took:7.0f} ms, {whole:7.0f} with rows and cells: in the order {sort}"
    yield f"server {megabytes(process):.0f} MB, at most {megabytes(process, 'VmHWM'):.0f} MB"


def main() -> None:
    """Measure one study."""
    how = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=how)
    parser.add_argument("study", type=Path)
    for line in measured(parser.parse_args().study):
        print(line, flush=True)


if __name__ == "__main__":
    main()
