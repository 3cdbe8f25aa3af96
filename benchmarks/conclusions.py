"""How often conclusions from simulated labels come out as they should, one by one.

`groups` compares two groups of items, with few labels or few groups on one side, beside a z test that knows
the true shares; `prompts` draws the truth with log-odds ``slope`` times a covariate, which a prompt gives
with a certain accuracy, perhaps with the covariate turned round. Run it as
``python benchmarks/conclusions.py [RUNS]``; 400 runs take some minutes.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
from scipy.special import ndtri

from quaver.estimation.score_tests import ScoreTest
from quaver.measures.validity.conclusion_formula import read_effect

GROUPS = (
    # items, of which in the smaller group, share of the label in the larger one, in the smaller one
    (1000, 30, 0.03, 0.03),
    (1000, 30, 0.03, 0.15),
    (400, 20, 0.05, 0.05),
    (400, 20, 0.05, 0.25),
    (400, 40, 0.05, 0.05),
    (400, 40, 0.05, 0.20),
    (100, 20, 0.05, 0.05),
    (100, 20, 0.05, 0.30),
    (100, 5, 0.3, 0.3),
    (1000, 500, 0.01, 0.01),
    (100, 50, 0.5, 0.5),
)
CLUSTERED = (
    # groups, items in each, groups treated (0: items, within groups), correlation within a group, effect
    (20, 5, 10, 0.0, 0.0),
    (20, 5, 10, 0.3, 0.0),
    (20, 5, 10, 0.1, 0.3),
    (10, 10, 5, 0.0, 0.0),
    (10, 10, 5, 0.3, 0.0),
    (10, 10, 5, 0.1, 0.3),
    (20, 5, 0, 0.3, 0.0),
    (20, 5, 0, 0.1, 0.3),
    (40, 10, 8, 0.3, 0.0),
    (40, 10, 8, 0.1, 0.3),
)
PROMPTS = (
    # items, slope, accuracy of the prompt, whether it reads the covariate backwards
    (400, 0.5, 0.95, False),
    (400, 0.5, 0.75, False),
    (400, 0.5, 0.60, False),
    (400, 0.5, 0.50, False),
    (400, 0.5, 0.95, True),
    (400, 0.0, 0.95, False),
    (100, 0.0, 0.95, False),
)
EFFECT = read_effect("x > 0", ["Intercept", "x"])
Z = -float(ndtri(0.025))


def percent(decided: np.ndarray) -> float:
    """How many of the runs, in percent."""
    return round(100 * float(decided.mean()), 1)


def groups(items: int, few: int, share: float, other: float, runs: int) -> dict[str, object]:
    """Verdicts on two groups of items, and those of a z test with the variance under no difference known."""
    rng = np.random.default_rng([items, few, round(1000 * share), round(1000 * other)])
    small = np.arange(items) < few
    labels = (rng.random((items, runs)) < np.where(small, other, share)[:, None]) * 1.0
    matrix = np.stack([np.ones(items), small], 1) * 1.0
    pooled = (few * other + (items - few) * share) / items
    error = (pooled * (1 - pooled) * (1 / few + 1 / (items - few))) ** 0.5
    found = {"items": items, "smaller group": few, "share": share, "its share": other}
    statistics = [ScoreTest(matrix, column, EFFECT.contrast).statistic(0.0) for column in labels.T]
    found["verdicts"] = percent(np.abs(statistics) > Z)
    apart = labels[small].mean(0) - labels[~small].mean(0)
    return {**found, "knows the shares": percent(np.abs(apart) > Z * error)}


def clustered(
    count: int, size: int, treated: int, correlation: float, effect: float, runs: int
) -> dict[str, object]:
    """Verdicts on items in groups, and those of a z test that knows how far the estimates spread."""
    rng = np.random.default_rng([count, size, treated, round(100 * correlation), round(100 * effect)])
    codes = np.repeat(np.arange(count), size)
    x = (codes < treated if treated else rng.random(codes.size) < 0.3) * 1.0
    score = correlation**0.5 * rng.standard_normal((count, runs))[codes]
    score += (1 - correlation) ** 0.5 * rng.standard_normal((codes.size, runs))
    labels = (score < ndtri(0.3 + effect * x)[:, None]) * 1.0
    matrix = np.stack([np.ones(codes.size), x], 1)
    tests = [ScoreTest(matrix, column, EFFECT.contrast, codes) for column in labels.T]
    statistics, values = np.array([(test.statistic(0.0), test.value) for test in tests]).T
    return {
        "groups": f"{count} of {size}",
        "treated": treated or "items",
        "correlation": correlation,
        "effect": effect,
        "verdicts": percent(np.abs(statistics) > Z),
        "knows the spread": percent(np.abs(values) > Z * values.std()),
    }


def truths(rng: np.random.Generator, items: int, slope: float, runs: int) -> tuple[np.ndarray, ...]:
    """The covariate, the truth, and what the truth would be with the covariate turned round."""
    x = rng.integers(1, 8, items) - 4.0
    chance = (1 / (1 + np.exp(-sign * slope * x)) for sign in (1, -1))
    truth, backwards = (rng.random((items, runs)) < one[:, None] for one in chance)
    return x, truth, backwards


def prompts(items: int, slope: float, accuracy: float, turned: bool, runs: int) -> dict[str, object]:
    """What one prompt's labels say of the claim that the effect is positive."""
    rng = np.random.default_rng([items, round(100 * slope), round(100 * accuracy), turned])
    x, truth, backwards = truths(rng, items, slope, runs)
    base = backwards if turned else truth
    said = np.where(rng.random(base.shape) < accuracy, base, ~base) * 1.0
    found = {"items": items, "slope": slope, "accuracy": accuracy, "backwards": turned}
    matrix = np.stack([np.ones(items), x], 1)
    statistic = np.array([ScoreTest(matrix, one, EFFECT.contrast).statistic(0.0) for one in said.T])
    found["verdicts"] = f"{percent(statistic > Z)} / {percent(statistic < -Z)}"
    return found


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    pl.Config.set_tbl_cols(-1)
    pl.Config.set_tbl_rows(-1)
    print("two groups: verdicts in percent", pl.DataFrame([groups(*case, 5 * runs) for case in GROUPS]))
    print("items in groups", pl.DataFrame([clustered(*case, 5 * runs) for case in CLUSTERED], strict=False))
    print("prompts: holds / reverses", pl.DataFrame([prompts(*case, runs) for case in PROMPTS]), flush=True)
