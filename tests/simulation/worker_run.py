"""Histories of workers: ``python -m tests.simulation.worker_run --seeds 1000``; one again: ``--seed 17``."""

from __future__ import annotations

import sys
from collections import Counter

from tests.simulation.many_histories import live, lived_through
from tests.simulation.worker_history import WorkerHistory

__all__ = ["lived"]


def lived(seed: int, counts: Counter[str] | None = None) -> str:
    """Live through one history; what went wrong, and the way there, or an empty text."""

    def tally(history: WorkerHistory) -> None:
        if counts is not None:
            counts["kills of the driver"] += sum("ended='None'" in line for line in history.told)
            counts["prompts"] += len(history.server.attempts)
            counts.update(line.strip() for line in history.told if line.startswith("    "))

    return lived_through(WorkerHistory, seed, tally)


if __name__ == "__main__":
    sys.exit(live(lived, __doc__, seeds=500))
