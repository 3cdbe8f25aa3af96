"""How often a difference of nothing has a p value under a level, by its interval.

    python benchmarks/p_values.py [REPLICATIONS]

Each unit's paired difference is 1 or -1, as likely either, with the probability of the second column; else 0.
In groups, it is the mean of ten such differences, whose probability has an intraclass correlation of 0.3.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from machine import machine

from quaver.estimation.intervals import effective, level_of
from quaver.estimation.jackknife import Floats

LEVELS = (0.05, 0.01, 0.0025)


def of_items(units: int, changed: float, rng: np.random.Generator) -> Floats:
    """Differences of single items."""
    return (rng.random(units) < changed) * rng.choice([-1.0, 1.0], units)


def of_groups(units: int, changed: float, rng: np.random.Generator) -> Floats:
    """Mean differences of groups of ten items."""
    half = changed / 2
    sides = rng.binomial(10, rng.beta(half * (1 / 0.3 - 1), (1 - half) * (1 / 0.3 - 1), (2, units)))
    return (sides[0] - sides[1]) / 10


def shares(units: int, changed: float, grouped: bool, replications: int, rng: np.random.Generator) -> str:
    """The shares under each level."""
    found = np.empty(replications)
    for at in range(replications):
        each = (of_groups if grouped else of_items)(units, changed, rng)
        value, variance = float(each.mean()), float(each.var(ddof=1)) / units
        interval = partial(effective, value, variance, units - 1, ends=(-1.0, 1.0))
        found[at] = level_of(interval, 0.0) if variance > 0 else 1.0
    return " / ".join(f"{100 * np.mean(found < level):.2f}%" for level in LEVELS)


def main() -> None:
    """Print the table."""
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rng = np.random.default_rng(1)
    print(f"{machine()}; {replications} replications; under {LEVELS}")
    print("| units | of which differ | p under each |")
    print("| --- | --- | --- |")
    for grouped, sizes in ((False, (12, 30, 200)), (True, (10, 20))):
        for units in sizes:
            for changed in (0.1, 0.3, 0.8):
                under = shares(units, changed, grouped, replications, rng)
                print(f"| {units} {'groups of 10' if grouped else 'items'} | {changed:.0%} | {under} |")


if __name__ == "__main__":
    main()
