"""How often ``quaver compare --fail-if 'accuracy < 0'`` fails, with and without a true loss.

Pairs are drawn as a multinomial: right before and wrong after (a loss), the other way round (a gain), or
alike. Run it as ``python benchmarks/gate.py [RUNS]``; a row of the table takes about 15 s for 400 runs.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

from quaver.estimation.bootstrap import Resampling
from quaver.estimation.paired_differences import paired_differences
from quaver.measures.correctness.accuracy import accuracy

CASES = (
    # items, share of losses, share of gains
    (1000, 0.030, 0.000),
    (1000, 0.040, 0.010),
    (1000, 0.060, 0.030),
    (1000, 0.130, 0.100),
    (300, 0.030, 0.000),
    (300, 0.060, 0.030),
    (1000, 0.015, 0.015),
    (1000, 0.100, 0.100),
    (300, 0.010, 0.010),
    (100, 0.020, 0.020),
    (100, 0.100, 0.100),
)


def fails(rng: np.random.Generator, items: int, losses: float, gains: float) -> bool:
    """One comparison of simulated answers: whether the gate fails."""
    kind = rng.choice(3, items, p=[losses, gains, 1 - losses - gains])
    right = rng.random(items) < 0.8
    before = np.where(kind == 0, True, np.where(kind == 1, False, right))
    after = np.where(kind == 0, False, np.where(kind == 1, True, right))
    frames = [
        pl.DataFrame({"item": np.arange(items), "label": np.where(side, "a", "b"), "gold": ["a"] * items})
        for side in (before, after)
    ]
    resampling = Resampling(resamples=2000, seed=int(rng.integers(2**31)))
    options = {"resamples": resampling.resamples, "seed": resampling.seed}
    sides = [accuracy(frame, keep=["draws"], **options) for frame in frames]
    changed = int((before != after).sum())
    (one,) = paired_differences(*sides, resampling, lambda _: changed)
    return one.high is not None and one.high < 0


def share(runs: int, items: int, losses: float, gains: float, seed: int = 0) -> float:
    """How often it fails in so many runs."""
    rng = np.random.default_rng([seed, items, round(1e6 * losses), round(1e6 * gains)])
    return float(np.mean([fails(rng, items, losses, gains) for _ in range(runs)]))


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print("items  true difference  discordant  fails")
    for items, losses, gains in CASES:
        failed = share(runs, items, losses, gains)
        print(f"{items:5}  {gains - losses:+15.3f}  {losses + gains:10.1%}  {failed:6.1%}", flush=True)
