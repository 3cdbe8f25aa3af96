"""Simulated histories of batches: ``python -m tests.simulation.batch_run --seeds 500``, or ``--seed 17``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.simulation.batch_history import BatchHistory

__all__ = ["lived"]


def lived(seed: int, counts: dict[str, int] | None = None) -> str:
    """Live through one history; what went wrong, and the way there, or an empty text."""
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as folder:
        history = BatchHistory(seed, Path(folder))
        try:
            history.go()
        except Exception:
            return f"seed {seed}\n{history}\n{traceback.format_exc()}"
        if counts is not None:
            counts["kills"] = counts.get("kills", 0) + sum("killed at" in line for line in history.told)
            counts["batches"] = counts.get("batches", 0) + len(history.farm.jobs)
            counts["answers"] = counts.get("answers", 0) + len(history.farm.paid)
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
    began, failed, counts = time.perf_counter(), [], dict[str, int]()
    for seed in range(given.first, given.first + given.seeds):
        if wrong := lived(seed, counts):
            failed.append(seed)
            print(wrong, flush=True)
    seconds = time.perf_counter() - began
    print(f"{given.seeds:,} histories in {seconds:,.0f} s, {counts}, {len(failed)} went wrong: {failed}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
