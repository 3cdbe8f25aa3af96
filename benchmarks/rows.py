"""How often two intervals hold alpha: over rows, as promptstability has it, and over items.

Items of a known population are asked repeatedly. A share of them is hard, and gets either label at each
repeat with the same probability; the others keep their label but for a few slips. Each study draws some
items. ``python benchmarks/rows.py`` takes a minute; the table is in docs/promptstability.md.
"""

from __future__ import annotations

import numpy as np

from quaver.agreement.coefficients import krippendorff_alpha
from quaver.agreement.stratified_alpha import alphas_of_rows
from quaver.estimation.intervals import percentile
from quaver.estimation.jackknife import Resampling

STUDIES, RESAMPLES = 200, 400
HARD, SLIP = 0.2, 0.02


def chances(rng: np.random.Generator, items: int) -> np.ndarray:
    """The probability of the label 1 for each item."""
    easy = np.where(rng.random(items) < 0.5, SLIP, 1 - SLIP)
    return np.where(rng.random(items) < HARD, 0.5, easy)


def truth() -> float:
    """Alpha of the population: one less the disagreement within items over that between any labels."""
    disagree = HARD * 0.5 + (1 - HARD) * 2 * SLIP * (1 - SLIP)
    return 1 - disagree / 0.5


def study(
    rng: np.random.Generator, items: int, repeats: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Both intervals of one study."""
    codes = (rng.random((items, repeats)) < chances(rng, items)[:, None]).astype(np.int64)
    place = np.arange(codes.size)
    resampling = Resampling(resamples=RESAMPLES, seed=int(rng.integers(2**31)))
    rows = percentile(
        alphas_of_rows(place, codes.ravel(), codes.shape, labels=2, resampling=resampling), 0.025
    )
    own = krippendorff_alpha(codes)
    assert rows is not None
    assert own.low is not None
    assert own.high is not None
    return (rows.low, rows.high), (own.low, own.high)


def main() -> None:
    """Print a row for each size of study."""
    alpha = truth()
    print(f"alpha {alpha:.3f}, {STUDIES} studies a row, nominal 95%")
    print("| items | repeats | rows: coverage | width | items: coverage | width |")
    print("| --- | --- | --- | --- | --- | --- |")
    for items in (30, 100):
        for repeats in (5, 20):
            rng = np.random.default_rng([items, repeats])
            found = np.array([study(rng, items, repeats) for _ in range(STUDIES)])
            covers = ((found[..., 0] <= alpha) & (alpha <= found[..., 1])).mean(0)
            width = np.ptp(found, -1).mean(0)
            cells = (f"{covers[0]:.0%}", f"{width[0]:.3f}", f"{covers[1]:.0%}", f"{width[1]:.3f}")
            print(f"| {items} | {repeats} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
