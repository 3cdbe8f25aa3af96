"""20,000 calls to a server that faults on purpose, killed with ``kill -9`` in the middle and run again.

    python benchmarks/faults.py [CALLS] [CALLS A SECOND]

The server faults at random in 30% of calls, in every way that it knows, stalls, answers out of order, and
takes no more than so many calls a second. Every call must end in exactly one stored response, none that
was stored may be asked again, and the calls a second must settle within a fifth of the limit.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from machine import machine
from tests.models.serving import Process
from tests.models.test_served_faults import check, study


def run(folder: Path, url: str, items: int) -> None:
    outcome = study(folder, url, items, timeout=2, retries=12).run()
    print(json.dumps({"done": outcome.done, "errors": outcome.errors}))


def started(folder: Path, url: str, items: int) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--run", str(folder), url, str(items)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def stored_at(folder: Path) -> dict[tuple[str, int], float]:
    """When each prompt and seed was stored."""
    with sqlite3.connect(folder / "study" / "responses.db") as db:
        rows = db.execute(
            "SELECT p.messages, r.seed, r.received FROM responses r JOIN prompts p ON p.id = r.prompt"
        )
        return {(json.loads(messages)[-1][1], seed): received for messages, seed, received in rows}


def answered(log: Path) -> list[tuple[float, str, int]]:
    return [tuple(json.loads(line)) for line in log.read_text().splitlines() if line.endswith("]")]  # type: ignore[misc]


def a_second(moments: list[float]) -> str:
    """Answers a second in each ten seconds."""
    tens = Counter(int((at - moments[0]) // 10) for at in moments)
    return " ".join(f"{tens[ten] / 10:.0f}" for ten in range(max(tens) + 1))


def main() -> None:
    if sys.argv[1:2] == ["--run"]:
        run(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
        return
    calls = int(sys.argv[1]) if sys.argv[1:] else 20_000
    rate = float(sys.argv[2]) if sys.argv[2:] else 200.0
    print(f"{calls:,} calls, 30% faults, at most {rate:g} calls/s, on {machine()}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = Process(folder / "log", faults=0.3, rate=rate, latency=0.05, stall=4.0)
        server.start()
        try:
            first = started(folder, server.url, calls // 2)
            while not (folder / "log").exists() or len(answered(folder / "log")) < calls // 2:
                time.sleep(0.2)
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            kept, killed = stored_at(folder), time.time()
            last = started(folder, server.url, calls // 2)
            outcome = json.loads(last.communicate()[0])
        finally:
            server.kill()
        check(folder, calls)
        good = answered(folder / "log")
        again = [(prompt, seed) for at, prompt, seed in good if at > killed and (prompt, seed) in kept]
        twice = sum(count > 1 for count in Counter((prompt, seed) for _, prompt, seed in good).values())
        first_run = a_second([at for at, *_ in good if at <= killed])
        last_run = a_second([at for at, *_ in good if at > killed])
    print(
        f"  killed when {len(kept):,} were stored; then {outcome['done']:,} more, {outcome['errors']} errors"
    )
    print(f"  stored before the kill and asked again: {len(again)} (at most 0)")
    print(f"  answered twice (under way at the kill, or given up as too late): {twice}")
    print(f"  the limit, less the faults, is {0.7 * rate:.0f} good answers/s; in each ten seconds came")
    print(f"    first run: {first_run}\n    last run: {last_run}")


if __name__ == "__main__":
    main()
