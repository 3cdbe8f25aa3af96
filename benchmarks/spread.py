"""How far the spread, and each way of correcting it, is from the truth; and what its interval covers.

Items differ in how easy they are (log odds, sd 1.2), variants by effects of a given sd; the true spread is
that of the expected accuracies. Takes half a minute; the table is in docs/measures-correctness.md.
"""

from __future__ import annotations

import numpy as np

from quaver.estimation.grouped_items import level_deviations
from quaver.estimation.jackknife import Resampling, Units
from quaver.estimation.paired_differences import gap
from quaver.measures.correctness.robustness import corrected_spread

REPLICATIONS = 300
POPULATION = 4000


def chances(ease: np.ndarray, effects: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-(ease[:, None] + effects)))


def replication(items: int, variants: int, sd: float, rng: np.random.Generator) -> tuple[float, ...]:
    """The truth; the spread; corrected by F, by the bootstrap, by the floor; whether the low end is right."""
    effects = rng.normal(0, sd, variants) if sd else np.zeros(variants)
    truth = float(np.ptp(chances(rng.normal(0.3, 1.2, POPULATION), effects).mean(0)))
    right = (rng.random((items, variants)) < chances(rng.normal(0.3, 1.2, items), effects)).astype(float)
    value = float(np.ptp(right.mean(0)))
    corrected = corrected_spread(right, np.ones_like(right))
    apart = level_deviations(right[..., None], np.ones((items, variants, 1)))
    reach, _ = gap(apart, Units(items), lambda x: np.ptp(x, 1)[:, 0], Resampling(resamples=400))
    assert reach is not None
    drawn = rng.multinomial(items, np.full(items, 1 / items), 200) @ right / items
    dealt = [np.ptp(rng.permuted(right, axis=1).mean(0)) for _ in range(40)]
    covered = max(0.0, value - reach) - 1e-9 <= truth
    bootstrap = 2 * value - float(np.ptp(drawn, axis=1).mean())
    return truth, value, corrected, bootstrap, value - float(np.mean(dealt)), float(covered)


def main() -> None:
    rng = np.random.default_rng(0)
    print(
        "| items | variants | sd | true | spread | by F | by bootstrap | less floor | not above the truth |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for items in (50, 200):
        for variants in (3, 10, 40):
            for sd in (0.0, 0.1, 0.3, 1.0):
                rows = [replication(items, variants, sd, rng) for _ in range(REPLICATIONS)]
                means = " | ".join(f"{value:.3f}" for value in np.mean(rows, 0)[:-1])
                print(f"| {items} | {variants} | {sd} | {means} | {np.mean(rows, 0)[-1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
