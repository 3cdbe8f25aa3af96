"""Ray workers against this process: calls that wait, and calls that do nothing.

    python benchmarks/workers.py [ADDRESS]

Needs ``quaver[ray]``. Without an address, Ray starts on this machine.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import overhead
from machine import machine

from quaver.study.session import Study

WAIT = 0.05


def waiting(text: str, prompt: str) -> str:
    """A model that takes 50 ms."""
    time.sleep(WAIT)
    return "yes"


def nothing(text: str, prompt: str) -> str:
    """A model that does nothing."""
    return "yes"


def rate(function: object, calls: int, where: dict[str, object]) -> float:
    """Calls a second once the workers have started."""
    with tempfile.TemporaryDirectory() as folder:
        overhead.study(Path(folder), calls)
        study = Study.open(folder, functions={"f": function})  # type: ignore[dict-item]
        arrived: list[tuple[float, int]] = []

        def watch(progress: object) -> None:
            if done := progress.done:  # type: ignore[attr-defined]
                arrived.append((time.monotonic(), done))

        study.run(where=where, watch=watch)
        (first, before), (last, after) = arrived[0], arrived[-1]
        return (after - before) / (last - first)


def main() -> None:
    address = {"address": sys.argv[1]} if sys.argv[1:] else {}
    print(f"Ray workers, on {machine()}")
    one = rate(waiting, 200, {"on": "ray", "workers": 1, **address})
    eight = rate(waiting, 1200, {"on": "ray", "workers": 8, **address})
    print(
        f"  calls of 50 ms: one worker {one:.1f} calls/s, eight {eight:.1f}: {eight / one:.2f} times",
        flush=True,
    )
    here = rate(nothing, 30_000, {})
    two = rate(nothing, 30_000, {"on": "ray", "workers": 2, **address})
    print(
        f"  calls of no time: here {here:,.0f} calls/s, two workers {two:,.0f}: {two / here:.2f} times",
        flush=True,
    )


if __name__ == "__main__":
    main()
