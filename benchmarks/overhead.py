"""What Quaver itself costs beside a bare loop: calls a second with a model that does nothing, and memory.

    python benchmarks/overhead.py [CALLS …]

The bare loop hashes each call and stores it in SQLite, in synced groups of 500. Processor seconds are
compared, too: on a busy machine they say more than the clock. Each size runs in a process of its own, whose
peak memory is the operating system's figure.
"""

from __future__ import annotations

import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from hashlib import blake2b
from pathlib import Path

from machine import machine

from quaver.study.session import Study

VARIANTS, GROUP = 100, 500
SIZES = (10_000, 100_000, 1_000_000)


def answer(text: str, prompt: str) -> str:
    """The model that does nothing."""
    return "yes"


def study(folder: Path, calls: int) -> Study:
    items = folder / "items.csv"
    if not items.exists():
        rows = (
            f'{n},"Text {n}: about as long as a short message, give or take."'
            for n in range(calls // VARIANTS)
        )
        items.write_text("id,text\n" + "\n".join(rows) + "\n")
        paraphrases = {str(n): f"Is this a greeting? Think of case {n}." for n in range(VARIANTS - 1)}
        document = {
            "task": {"labels": ["yes", "no"]},
            "items": {"source": "items.csv", "id": "id", "text": "{{ text }}"},
            "prompt": {"instruction": "Is this a greeting?"},
            "variants": [{"use": "instructions", "texts": paraphrases}],
            "models": [{"name": "f", "use": "function"}],
        }
        (folder / "study.yaml").write_text(json.dumps(document))
    return Study.open(folder, functions={"f": answer})


def bare(folder: Path, calls: int) -> None:
    """The least that can be done: a hash and a row for each call."""
    db = sqlite3.connect(folder / "bare.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE responses (key BLOB PRIMARY KEY, prompt TEXT, text TEXT, received REAL)")
    started, used = time.perf_counter(), time.process_time()
    for first in range(0, calls, GROUP):
        rows = []
        for n in range(first, min(first + GROUP, calls)):
            text = f"Text {n // VARIANTS}: about as long as a short message, give or take."
            prompt = f"Is this a greeting? Think of case {n % VARIANTS}.\n\n{text}"
            key = blake2b(prompt.encode(), digest_size=16).digest()
            rows.append((key, prompt, answer(text, prompt), time.time()))
        db.execute("BEGIN")
        db.executemany("INSERT INTO responses VALUES (?, ?, ?, ?)", rows)
        db.execute("COMMIT")
    print(json.dumps({"seconds": time.perf_counter() - started, "used": time.process_time() - used}))


def one(folder: Path, calls: int) -> None:
    opened = study(folder, calls)
    started, used = time.perf_counter(), time.process_time()
    outcome = opened.run()
    seconds, used = time.perf_counter() - started, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"done": outcome.done, "seconds": seconds, "used": used, "peak": peak}))


def run(folder: str, calls: int, what: str = "--one") -> dict[str, float]:
    command = [sys.executable, __file__, what, folder, str(calls)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # type: ignore[no-any-return]


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        one(Path(sys.argv[2]), int(sys.argv[3]))
        return
    if sys.argv[1:2] == ["--bare"]:
        bare(Path(sys.argv[2]), int(sys.argv[3]))
        return
    print(f"Overhead with a function that does nothing, on {machine()}")
    for calls in [int(size) for size in sys.argv[1:]] or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            least, first, again = run(folder, calls, "--bare"), run(folder, calls), run(folder, calls)
        print(
            f"  {calls:>9,} calls: {calls / first['seconds']:>7,.0f} calls/s, peak {first['peak']} MB; "
            f"run again when finished: {again['seconds']:.2f} s; "
            f"a bare loop: {calls / least['seconds']:,.0f} calls/s, "
            f"{least['seconds'] / first['seconds']:.2f} of it, "
            f"{least['used'] / first['used']:.2f} by processor time"
        )


if __name__ == "__main__":
    main()
