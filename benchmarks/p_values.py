"""How often a difference of nothing has a p value under a level: `bootstrap_p`, and counting alone.

    python benchmarks/p_values.py [REPLICATIONS]

Each item's paired difference is 1 or -1, as likely either, with the probability of the second column; else 0.
"""

from __future__ import annotations

import sys

import numpy as np
from machine import machine

from quaver.estimation.bootstrap import Floats
from quaver.estimation.multiple_testing import bootstrap_p

LEVELS = (0.05, 0.01, 0.0025)
DRAWS = 1000


def by_counting(draws: Floats) -> float:
    """The level at which the percentile interval just reaches zero."""
    least = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
    return min(1.0, 2 * (1 + least) / (1 + draws.size))


def shares(items: int, discordant: float, replications: int, rng: np.random.Generator) -> list[str]:
    """The shares under each level, of both."""
    found = np.empty((2, replications))
    weights = rng.multinomial(items, np.full(items, 1 / items), DRAWS) / items
    for at in range(replications):
        each = (rng.random(items) < discordant) * rng.choice([-1.0, 1.0], items)
        draws = weights @ each
        found[:, at] = bootstrap_p(float(each.mean()), draws, items), by_counting(draws)
    return [" / ".join(f"{100 * np.mean(one < level):.2f} %" for level in LEVELS) for one in found]


def main() -> None:
    """Print the table."""
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    rng = np.random.default_rng(1)
    print(f"{machine()}; {replications} replications, {DRAWS} draws; under {LEVELS}")
    print("| items | of which differ | bootstrap_p | by counting |")
    print("| --- | --- | --- | --- |")
    for items in (8, 12, 30, 200):
        for discordant in (0.1, 0.3, 0.8):
            ours, counted = shares(items, discordant, replications, rng)
            print(f"| {items} | {discordant:.0%} | {ours} | {counted} |")


if __name__ == "__main__":
    main()
