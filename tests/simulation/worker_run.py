"""Histories of workers: ``python -m tests.simulation.worker_run --seeds 1000``; one again: ``--seed 17``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.simulation.worker_history import WorkerHistory

__all__ = ["lived"]


def lived(seed: int, counts: Counter[str] | None = None) -> str:
    """Live through one history; what went wrong, and the way there, or an empty text."""
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as folder:
        history = WorkerHistory(seed, Path(folder))
        try:
            history.go()
        except Exception:
            return f"seed {seed}\n{history}\n{traceback.format_exc()}"
    if counts is not None:
        counts["kills of the driver"] += sum("ended='None'" in line for line in history.told)
        counts["prompts"] += len(history.server.attempts)
        counts["follow-ups"] += history.cluster.follow_ups
        counts["at home"] += history.cluster.at_home
        counts.update(line.strip() for line in history.told if line.startswith("    "))
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="only this one, with all that happened")
    given = parser.parse_args()
    if given.seed is not None:
        wrong = lived(given.seed)
        print(wrong or "nothing went wrong")
        return bool(wrong)
    began, failed, counts = time.monotonic(), [], Counter[str]()
    for seed in range(given.first, given.first + given.seeds):
        if wrong := lived(seed, counts):
            failed.append(seed)
            print(wrong, flush=True)
    seconds = time.monotonic() - began
    print(
        f"{given.seeds:,} histories in {seconds:,.0f} s, {dict(counts)}, {len(failed)} went wrong: {failed}"
    )
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
