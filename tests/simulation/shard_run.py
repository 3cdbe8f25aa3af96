"""Histories of shards: ``python -m tests.simulation.shard_run --seeds 1000``; one again: ``--seed 17``."""

from __future__ import annotations

import sys
from collections import Counter

from tests.simulation.many_histories import live, lived_through
from tests.simulation.shard_history import ShardHistory

__all__ = ["lived"]


def lived(seed: int, counts: Counter[str] | None = None) -> str:
    """Live through one history; what went wrong, and the way there, or an empty text."""

    def tally(history: ShardHistory) -> None:
        if counts is not None:
            counts["runs of shards"] += sum(line.startswith("shard ") for line in history.told)
            counts["merges"] += sum(line.startswith("merge ") for line in history.told)
            counts["asked anew elsewhere"] += sum(line.startswith("anew ") for line in history.told)
            counts["kills"] += history.kills

    return lived_through(ShardHistory, seed, tally)


if __name__ == "__main__":
    sys.exit(live(lived, __doc__, seeds=500))
