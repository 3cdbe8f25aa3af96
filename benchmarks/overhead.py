"""What Quaver itself costs: calls a second with a model that does nothing, resuming, and memory.

    python benchmarks/overhead.py [CALLS …]

Each size runs in a process of its own, whose peak memory is the operating system's figure.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import machine

from quaver.study.session import Study

VARIANTS = 100
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


def one(folder: Path, calls: int) -> None:
    started = time.perf_counter()
    outcome = study(folder, calls).run()
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"done": outcome.done, "seconds": seconds, "peak": peak}))


def run(folder: str, calls: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", folder, str(calls)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # type: ignore[no-any-return]


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        one(Path(sys.argv[2]), int(sys.argv[3]))
        return
    print(f"Overhead with a function that does nothing, on {machine()}")
    for calls in [int(size) for size in sys.argv[1:]] or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            first, again = run(folder, calls), run(folder, calls)
        print(
            f"  {calls:>9,} calls: {calls / first['seconds']:>7,.0f} calls/s, peak {first['peak']} MB; "
            f"run again when finished: {again['seconds']:.2f} s"
        )


if __name__ == "__main__":
    main()
