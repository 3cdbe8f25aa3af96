"""Runs a study in eight shards, kills two of them in the middle, and a merge as well; then all again.

Run as a program, so that the processes that are killed are not the tests' own::

    python shards.py STUDY SEED
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path

from quaver.study.merging import merge
from quaver.study.session import Study

SHARDS = 8
PAUSE = 0.0
ASKED: list[str] = []
FAILING: set[str] = set()
"""What was asked, and texts that the model fails at."""
KILLED = (2, 7)


def annotate(text: str, prompt: str) -> str:
    """A model that answers the same to the same."""
    time.sleep(PAUSE)
    ASKED.append(text)
    if text in FAILING:
        raise OSError("the model failed")
    return ("positive", "negative", "it depends")[sha256(f"{text}|{prompt}".encode()).digest()[0] % 3]


def opened(study: Path, shard: str | None = None) -> Study:
    return Study.open(study, functions={"fake": annotate}, shard=shard)


def run(study: Path, number: int) -> None:
    opened(study, f"{number}/{SHARDS}").run()


def forked(what: Callable[[], object]) -> int:
    """Do something in a process of its own: one that has run a study has threads, and cannot fork again."""
    process = os.fork()
    if not process:
        try:
            what()
        finally:
            os._exit(0)
    return process


def killed(what: Callable[[], object], begun: Callable[[], bool], pause: float) -> bool:
    """Do something in a process that is killed a while after it began; whether it was."""
    process = forked(what)
    while not begun():
        if os.waitpid(process, os.WNOHANG)[0]:
            return False
        time.sleep(0.001)
    time.sleep(pause)
    if os.waitpid(process, os.WNOHANG)[0]:
        return False
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return True


def main(study: Path, seed: int) -> None:
    """Eight shards, two of them killed and run again; merges killed at random moments."""
    global PAUSE
    PAUSE = 0.005
    _ = opened(study, "1/8").experiment
    moments = random.Random(seed)
    kills = {"shards": 0, "merges": 0}
    for number in [*range(1, SHARDS + 1), *KILLED]:
        part = study.parent / "shards" / f"{number}-of-{SHARDS}"
        if number in KILLED and not part.exists():
            spill = part / "responses.spill"
            kills["shards"] += killed(partial(run, study, number), spill.exists, moments.uniform(0, 0.05))
            assert not (part / "shard.json").exists() or '"finished"' not in (part / "shard.json").read_text()
        else:
            os.waitpid(forked(partial(run, study, number)), 0)
        if number % 3 == 1:
            lock, wait = study.parent / ".run.lock", moments.uniform(0.0, 0.02)
            kills["merges"] += killed(lambda: merge(opened(study)), lock.exists, wait)
    json.dump(kills, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
