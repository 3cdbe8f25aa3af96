"""Simulated histories of batches: ``python -m tests.simulation.batch_run --seeds 500``, or ``--seed 17``."""

import sys

from tests.simulation.batch_history import BatchHistory
from tests.simulation.many_histories import live, lived_through

__all__ = ["lived"]


def lived(seed, counts=None):
    """Live through one history; what went wrong, and the way there, or an empty text."""

    def tally(history):
        if counts is not None:
            counts["kills"] += sum("killed at" in line for line in history.told)
            counts["batches"] += len(history.farm.jobs)
            counts["answers"] += len(history.farm.paid)

    return lived_through(BatchHistory, seed, tally)


if __name__ == "__main__":
    sys.exit(live(lived, __doc__, seeds=500))
