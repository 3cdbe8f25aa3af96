"""How often a difference of nothing has a p value under a level: that of its interval, and a bootstrap's.

    python benchmarks/p_values.py [REPLICATIONS]

Each unit's paired difference is 1 or -1, as likely either, with the probability of the second column; else 0.
In groups, it is the mean of ten such differences, whose probability has an intraclass correlation of 0.3.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from machine import machine

from quaver.estimation.bootstrap import Floats
from quaver.estimation.multiple_testing import bootstrap_p, level_of
from quaver.estimation.statistic import within

LEVELS = (0.05, 0.01, 0.0025)
DRAWS = 1000


def of_items(units: int, changed: float, rng: np.random.Generator) -> Floats:
    """Differences of single items."""
    return (rng.random(units) < changed) * rng.choice([-1.0, 1.0], units)


def of_groups(units: int, changed: float, rng: np.random.Generator) -> Floats:
    """Mean differences of groups of ten items."""
    half = changed / 2
    sides = rng.binomial(10, rng.beta(half * (1 / 0.3 - 1), (1 - half) * (1 / 0.3 - 1), (2, units)))
    return (sides[0] - sides[1]) / 10


def shares(
    units: int, changed: float, grouped: bool, replications: int, rng: np.random.Generator
) -> list[str]:
    """The shares under each level, of both."""
    found = np.empty((2, replications))
    weights = rng.multinomial(units, np.full(units, 1 / units), DRAWS) / units
    for at in range(replications):
        each = (of_groups if grouped else of_items)(units, changed, rng)
        value, variance = float(each.mean()), float(each.var(ddof=1)) / units
        interval = partial(within, value, variance, units - 1, (-1.0, 1.0))
        p = level_of(interval, 0.0) if variance > 0 else 1.0
        found[:, at] = p, bootstrap_p(value, weights @ each, units)
    return [" / ".join(f"{100 * np.mean(one < level):.2f}%" for level in LEVELS) for one in found]


def main() -> None:
    """Print the table."""
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rng = np.random.default_rng(1)
    print(f"{machine()}; {replications} replications, {DRAWS} draws; under {LEVELS}")
    print("| units | of which differ | of the interval | bootstrap_p |")
    print("| --- | --- | --- | --- |")
    for grouped, sizes in ((False, (12, 30, 200)), (True, (10, 20))):
        for units in sizes:
            for changed in (0.1, 0.3, 0.8):
                ours, drawn = shares(units, changed, grouped, replications, rng)
                print(
                    f"| {units} {'groups of 10' if grouped else 'items'} | {changed:.0%} | {ours} | {drawn} |"
                )


if __name__ == "__main__":
    main()
