"""How often ``quaver compare --fail-if 'accuracy < 0'`` fails, with and without a true loss.

Pairs are drawn as a multinomial: right before and wrong after (a loss), the other way round (a gain), or
alike. Run it as ``python benchmarks/gate.py [RUNS]``; a row of the table takes about 15 s for 400 runs.

``python benchmarks/gate.py smallest [RUNS]`` takes the smallest loss that runs say they could see, and says
how many runs show a loss of that size: 80% are promised.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from quaver.comparison.smallest_loss import smallest_loss
from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Resampling
from quaver.estimation.paired_differences import paired_differences
from quaver.measures.correctness.accuracy import accuracy

CASES = (
    # items, share of losses, share of gains
    (1000, 0.030, 0.000),
    (1000, 0.040, 0.010),
    (1000, 0.050, 0.020),
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


def compared(
    rng: np.random.Generator,
    items: int,
    losses: float,
    gains: float,
    measure: Callable[..., Sequence[Estimate]] = accuracy,
    group: int = 1,
) -> Estimate:
    """The difference between two sets of simulated answers, in groups of so many items."""
    kind = rng.choice(3, items, p=[losses, gains, 1 - losses - gains])
    right = rng.random(items) < 0.8
    before = np.where(kind == 0, True, np.where(kind == 1, False, right))
    after = np.where(kind == 0, False, np.where(kind == 1, True, right))
    yes = rng.random(items) < 0.5
    author = np.arange(items) // group
    gold = np.where(yes, "a", "b")
    frames = [
        pl.DataFrame(
            {
                "item": np.arange(items),
                "label": np.where(side == yes, "a", "b"),
                "gold": gold,
                "author": author,
            }
        )
        for side in (before, after)
    ]
    resampling = Resampling(resamples=2000, seed=int(rng.integers(2**31)))
    options = {"resamples": resampling.resamples, "seed": resampling.seed}
    options |= {"group": "author"} if group > 1 else {}
    sides = [measure(frame, keep=["draws"], **options)[:1] for frame in frames]
    changed = len(np.unique(author[before != after]))
    (one,) = paired_differences(*sides, resampling, lambda _: changed)
    return one


def shows(one: Estimate) -> bool:
    """Whether a difference is shown to be a loss: the gate fails."""
    return one.high is not None and one.high < 0


def share(runs: int, items: int, losses: float, gains: float, seed: int = 0) -> float:
    """How often it fails in so many runs."""
    rng = np.random.default_rng([seed, items, round(1e6 * losses), round(1e6 * gains)])
    return float(np.mean([shows(compared(rng, items, losses, gains)) for _ in range(runs)]))


def smallest(runs: int, items: int, noise: float, **how: Any) -> tuple[float, float]:
    """The smallest loss that runs without one say they could see, in the mean; how often it is shown."""
    rng = np.random.default_rng([items, round(1e6 * noise)])
    quiet = [smallest_loss(compared(rng, items, noise / 2, noise / 2, **how)) for _ in range(runs // 4)]
    loss = float(np.mean([one for one in quiet if one is not None]))
    shown = [shows(compared(rng, items, loss + noise / 2, noise / 2, **how)) for _ in range(runs)]
    return loss, float(np.mean(shown))


def smallest_table(runs: int) -> None:
    """Print the table of the smallest losses."""
    print("items  changing without a loss  smallest loss  shown")
    for items, noise in itertools.product((40, 100, 300, 1000), (0.0, 0.02, 0.06, 0.2)):
        loss, shown = smallest(runs, items, noise)
        print(f"{items:5}  {noise:23.0%}  {loss:13.4f}  {shown:6.1%}", flush=True)


if __name__ == "__main__":
    runs = int(sys.argv[-1]) if sys.argv[-1].isdigit() else 400
    if "smallest" in sys.argv:
        smallest_table(runs)
        sys.exit()
    print("items  true difference  discordant  fails")
    for items, losses, gains in CASES:
        failed = share(runs, items, losses, gains)
        print(f"{items:5}  {gains - losses:+15.3f}  {losses + gains:10.1%}  {failed:6.1%}", flush=True)
