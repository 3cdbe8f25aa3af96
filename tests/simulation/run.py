"""Live through many histories: ``python -m tests.simulation.run --seeds 10000``; one again: ``--seed 17``."""

import sys

from tests.simulation.history import History
from tests.simulation.many_histories import live, lived_through

__all__ = ["lived"]


def lived(seed):
    """Live through one history; what went wrong, and the way there, or an empty text."""
    return lived_through(History, seed)


if __name__ == "__main__":
    sys.exit(live(lambda seed, _: lived(seed), __doc__, seeds=1000))
