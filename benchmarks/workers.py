"""Ray workers: calls that wait, calls that do nothing, and the embedded model.

    python benchmarks/workers.py [waiting|nothing|embedded]

Needs ``quaver[ray]``; Ray starts on this machine. Calls that do nothing are compared with the bare loop of
``overhead.py`` and with this process, in two sizes: the bare loop slows down as its index grows. Rates count
from the first stored answers on; what is compared takes turns. Calls of 50 ms are so slow that the first
workers answer many while the last ones start: their rates are given from a quarter of the calls on, too. By
processor time, what counts is this process alone: the workers share the machine's cores with it here, and
have others on a cluster.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import overhead
from machine import machine

from quaver.study.session import Study

WAIT, ROUNDS = 0.05, 2
SIZES = (100_000, 400_000)
"""Calls that take no time."""
ITEMS = 16


def waiting(text: str, prompt: str) -> str:
    """A model that takes 50 ms."""
    time.sleep(WAIT)
    return "yes"


def nothing(text: str, prompt: str) -> str:
    """A model that does nothing."""
    return "yes"


def calling(function: Callable[[str, str], str], calls: int) -> Callable[[Path], Study]:
    """Opens a study of so many calls to a function."""

    def opened(folder: Path) -> Study:
        overhead.study(folder, calls)
        return Study.open(folder, functions={"f": function})

    return opened


def embedded(threads: int) -> Callable[[Path], Study]:
    """Opens a study that asks the bundled model."""

    def opened(folder: Path) -> Study:
        overhead.study(folder, ITEMS * overhead.VARIANTS)
        document = json.loads((folder / "study.yaml").read_text())
        texts = dict(list(document["variants"][0]["texts"].items())[:4])
        document["variants"][0]["texts"] = texts
        model = "smollm2-135m-instruct"
        document["models"] = [{"name": "f", "use": "llamacpp", "model": model, "threads": threads}]
        (folder / "study.yaml").write_text(json.dumps(document))
        return Study.open(folder)

    return opened


class Rate(NamedTuple):
    """Calls a second once the workers have started: by the clock, and by this process's processor time."""

    clock: float
    processor: float
    late: float
    """By the clock, from a quarter of the calls on."""


def rate(opened: Callable[[Path], Study], where: dict[str, Any]) -> Rate:
    """How fast a study is asked."""
    with tempfile.TemporaryDirectory() as folder:
        study = opened(Path(folder))
        arrived: list[tuple[float, float, int]] = []

        def watch(progress: Any) -> None:
            if done := progress.done:
                arrived.append((time.monotonic(), time.process_time(), done))

        study.run(where=where, watch=watch)
        (first, began, before), (last, ended, after) = arrived[0], arrived[-1]
        at, _, quarter = next(one for one in arrived if one[2] >= after / 4)
        clock, processor = last - first, ended - began
        return Rate((after - before) / clock, (after - before) / processor, (after - quarter) / (last - at))


def ray(workers: int) -> dict[str, Any]:
    return {"on": "ray", "workers": workers}


def compare_waiting() -> None:
    one, eight = rate(calling(waiting, 200), ray(1)), rate(calling(waiting, 1600), ray(8))
    print(
        f"  calls of 50 ms: one worker {one.late:.1f} calls/s, eight {eight.late:.1f}: "
        f"{eight.late / one.late:.2f} times; {eight.clock / one.clock:.2f} times while the last ones start"
    )


def compare_nothing() -> None:
    for calls in SIZES:
        bare, here, two = [], [], []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                least = overhead.run(folder, calls, "--bare")
                loop = calls / least["seconds"]
                bare.append(Rate(loop, calls / least["used"], loop))
            here.append(rate(calling(nothing, calls), {}))
            two.append(rate(calling(nothing, calls), ray(2)))
        for name in ("clock", "processor"):
            loop, process, workers = (max(getattr(one, name) for one in some) for some in (bare, here, two))
            print(
                f"  {calls:,} of no time, by the {name}: bare loop {loop:,.0f}, here {process:,.0f}, two "
                f"workers {workers:,.0f} a second: {workers / loop:.2f} of the loop, "
                f"{workers / process:.2f} of here",
                flush=True,
            )


def compare_embedded() -> None:
    threads, workers = [], []
    for _ in range(ROUNDS):
        threads.append(rate(embedded(2), {}).clock)
        workers.append(rate(embedded(1), ray(2)).clock)
    one, two = max(threads), max(workers)
    print(
        f"  embedded model: two threads {one:.1f} calls/s, two workers of one thread {two:.1f}: "
        f"{two / one:.2f} times"
    )


def main() -> None:
    parts = {"waiting": compare_waiting, "nothing": compare_nothing, "embedded": compare_embedded}
    print(f"Ray workers, on {machine()}")
    for name in sys.argv[1:] or parts:
        parts[name]()
        sys.stdout.flush()


if __name__ == "__main__":
    main()
