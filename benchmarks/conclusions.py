"""How often conclusions from simulated labels come out as they should, and what Dawid & Skene's labels add.

Of each item the truth is drawn with log-odds ``slope`` times a covariate; a prompt gives it with a
certain accuracy. ``backwards`` prompts take the covariate the wrong way round. Run it as
``python benchmarks/conclusions.py [RUNS [linear | logistic]]``; 100 runs of the linear take a minute.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

from quaver.estimation.bootstrap import Resampling, Units, bootstrap
from quaver.estimation.intervals import bca
from quaver.estimation.regression import linear, logistic
from quaver.measures.validity.claims import read_effect
from quaver.measures.validity.consensus import dawid_skene, majority

CASES = (
    # items, slope, accuracy of the prompt, whether it reads the covariate backwards
    (400, 0.5, 0.95, False),
    (400, 0.5, 0.75, False),
    (400, 0.5, 0.60, False),
    (400, 0.5, 0.95, True),
    (400, 0.0, 0.95, False),
    (100, 0.0, 0.95, False),
    (400, 0.5, 0.50, False),
)
ACCURACIES = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)
EFFECT = read_effect("x > 0", ["Intercept", "x"])


def labels(rng: np.random.Generator, items: int, slope: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The covariate, the truth, and what the truth would be with the covariate turned round."""
    x = rng.integers(1, 8, items) - 4.0
    truth, backwards = (rng.random(items) < 1 / (1 + np.exp(-sign * slope * x)) for sign in (1, -1))
    return x, truth, backwards


def verdict(
    rng: np.random.Generator, items: int, slope: float, accuracy: float, turned: bool, fit: str
) -> str:
    """What one prompt's labels say of the claim that the effect is positive."""
    x, truth, backwards = labels(rng, items, slope)
    base = backwards if turned else truth
    said = np.where(rng.random(items) < accuracy, base, ~base).astype(float)
    matrix = np.stack([np.ones(items), x], 1)
    statistic = (linear if fit == "linear" else logistic)(matrix, said, EFFECT.contrast)
    draws = bootstrap(statistic, Units(items), Resampling(resamples=1000, seed=int(rng.integers(2**31))))
    ends = bca(float(draws.point[0]), draws.values[:, 0], draws.jackknife[:, 0], 0.025, items)
    return EFFECT.verdict(*(ends or (None, None)))


def together(rng: np.random.Generator, items: int, shared: float) -> tuple[float, float, float, float]:
    """Accuracy of the median and the best prompt, of the majority's and of Dawid & Skene's labels.

    Args:
        rng: Of the draw.
        items: How many.
        shared: The share of items on which all prompts that err err together.
    """
    _, truth, _ = labels(rng, items, 0.5)
    common, together = rng.random(items), rng.random(items) < shared
    wrong = [np.where(together, common, rng.random(items)) > accuracy for accuracy in ACCURACIES]
    says = np.stack([np.where(one, ~truth, truth) for one in wrong], 1).astype(int)
    counts = np.eye(2)[says]
    right = sorted(float((says[:, k] == truth).mean()) for k in range(says.shape[1]))
    gold = truth.astype(int)
    most = float(majority(counts)[np.arange(items), gold].mean())
    skene = float((dawid_skene(counts).posterior.argmax(1) == gold).mean())
    return right[len(right) // 2], right[-1], most, skene


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    fits = sys.argv[2:] or ["linear", "logistic"]
    for fit in fits:
        rows = []
        for items, slope, accuracy, turned in CASES:
            rng = np.random.default_rng([items, round(100 * slope), round(100 * accuracy), turned])
            said = [verdict(rng, items, slope, accuracy, turned, fit) for _ in range(runs)]
            shares = {
                f"{one}": said.count(one) / runs for one in ("holds", "reverses", "not distinguishable")
            }
            rows.append({"items": items, "slope": slope, "accuracy": accuracy, "backwards": turned, **shares})
        print(fit, pl.DataFrame(rows), flush=True)
    rows = []
    for items in (50, 400):
        for shared in (0.0, 0.5, 1.0):
            rng = np.random.default_rng([items, round(10 * shared)])
            found = np.array([together(rng, items, shared) for _ in range(runs)])
            names = ("median prompt", "best prompt", "majority", "Dawid-Skene")
            means = dict(zip(names, found.mean(0).round(3).tolist(), strict=True))
            better = float((found[:, 3] > found[:, 0]).mean())
            rows.append({"items": items, "shared": shared, **means, "beats the median": better})
    pl.Config.set_tbl_cols(-1)
    print(pl.DataFrame(rows))
