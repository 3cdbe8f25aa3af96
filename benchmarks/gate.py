"""How often ``quaver compare --fail-if 'accuracy < 0'`` fails, with and without a true loss.

Pairs are drawn as a multinomial: right before and wrong after (a loss), the other way round (a gain), or
alike. Run it as ``python benchmarks/gate.py [RUNS]``; a row of the table takes about 15 s for 400 runs.

``python benchmarks/gate.py losses [RUNS]`` plants what a change may do (nothing but answers given afresh,
losses of accuracy, a rare class or a group that is lost, refusals, corrected gold labels) and says how often
guards fail without a loss, and from how many items on 90% of the losses are found.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from quaver.comparison.alignment import Pair, by_one_gold
from quaver.comparison.bounds import read_bounds
from quaver.comparison.comparison_result import Comparison
from quaver.comparison.paired_comparison import compared as compared_task
from quaver.core.records import Estimate, Label, LabelSet
from quaver.estimation.jackknife import Resampling
from quaver.estimation.paired_differences import paired_differences
from quaver.measures.correctness.accuracy import accuracy
from quaver.measures.correctness.f1 import recall
from quaver.measures.validity.answer_quality import compliance
from quaver.study.sources.study_plugins import Measurement

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
    sides = [measure(frame, keep_draws=True, **options)[:1] for frame in frames]
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


LABELS = ("bug", "billing", "question", "legal")
KEYS = ("model", "decoding", "variant", "evaluator")
GUARDS = ("--fail-if loss", "--fail-if accuracy < 0", "--fail-unless accuracy > -0.02")
QUIET = (0.0, 0.02, 0.05, 0.1)
CHANGES = {
    "a loss of 1 point": {"loss": 0.01},
    "a loss of 2 points": {"loss": 0.02},
    "a loss of 4 points": {"loss": 0.04},
    "a loss of 8 points": {"loss": 0.08},
    "a class of 2% is never answered": {"lost": True},
    "a group of 20% loses 15 points": {"north": 0.15},
    "4 points more refusals": {"refused": 0.04},
}
SIZES = (100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600)


def planted(
    rng: np.random.Generator,
    items: int,
    churn: float,
    *,
    loss: float = 0.0,
    lost: bool = False,
    north: float = 0.0,
    refused: float = 0.0,
    corrected: float = 0.0,
) -> Pair:
    """The answers to so many items before and after a change, nine in ten of them right before.

    Twice ``churn`` of the items waver: each time, they are answered rightly or wrongly by a toss of a coin,
    so that ``churn`` of all items differ without a change.
    """
    gold = rng.choice(4, items, p=[0.32, 0.33, 0.33, 0.02])
    wavers = rng.random(items) < 2 * churn
    stable = rng.random(items) < (0.9 - churn) / (1 - 2 * churn)
    wrong = (gold + rng.integers(1, 4, items)) % 4
    wrong = np.where(wrong == 3, (gold + 1) % 3, wrong)  # nobody says legal where it is not
    region = rng.choice(["north", "south", "west"], items, p=[0.2, 0.3, 0.5])
    answers = [
        np.where(np.where(wavers, rng.random(items) < 0.5, stable), gold, wrong).astype(np.int64)
        for _ in range(2)
    ]
    after = answers[1]
    spoilt = (rng.random(items) < loss / 0.9) | ((region == "north") & (rng.random(items) < north / 0.9))
    after = np.where(spoilt & (after == gold), (gold + 1) % 3, after)
    after = np.where(lost & (after == 3), 0, after)
    silent = rng.random(items) < refused
    mistaken = rng.random(items) < corrected
    frames = []
    for at, codes in enumerate((answers[0], after)):
        truth = np.where(mistaken & (at == 0), (gold + 1) % 3, gold)
        frame = pl.DataFrame(
            {
                "item": [f"i{number}" for number in range(items)],
                "label": np.take(LABELS, codes),
                "gold": np.take(LABELS, truth),
                "region": region,
                "repeat": np.zeros(items, np.int32),
                "quiet": silent if at else np.zeros(items, bool),
            }
        ).with_columns(pl.lit(name).alias(name) for name in KEYS)
        label = pl.when(~pl.col("quiet")).then(pl.col("label"))
        status = pl.when(pl.col("quiet")).then(pl.lit("refused")).otherwise(pl.lit("valid"))
        frames.append(frame.with_columns(label.alias("label"), status.alias("status")))
    return by_one_gold(Pair(frames[0], frames[1], (), KEYS))[0]


def guarded(sides: Pair, fail_if: Sequence[str], fail_unless: Sequence[str]) -> Comparison:
    """What `quaver compare` makes of two sides."""

    def asked(measure: Any, by: Sequence[str] = KEYS) -> Measurement:
        return Measurement(measure.name, measure, None, {"by": by, "seed": 0})

    family = [asked(accuracy), asked(recall), asked(compliance), asked(accuracy, (*KEYS, "region"))]
    evaluator = sides.before["evaluator"][0]
    classes = LabelSet(tuple(Label(name, name) for name in LABELS))
    pair = replace(sides, asked=[asked(accuracy)], family=family, evaluator=evaluator, classes=classes)
    begun = Comparison("before", "after", items=sides.before.height), [pair]
    return compared_task(begun, read_bounds(fail_if, fail_unless), Resampling(resamples=100))


def alarms(runs: int) -> None:
    """Print how often guards fail where nothing is lost."""
    print("| items | answered differently | gold labels corrected |", " | ".join(GUARDS), "|")
    for items, churn, corrected in (*itertools.product((240, 1000), QUIET, (0.0,)), (240, 0.05, 0.02)):
        rng = np.random.default_rng([items, round(1e4 * churn), round(1e4 * corrected)])
        failed = np.zeros(len(GUARDS))
        for _ in range(runs):
            sides = planted(rng, items, churn, corrected=corrected)
            made = guarded(sides, ["loss", "accuracy < 0"], ["accuracy > -0.02"])
            gone = any(one.kind == "loss" for one in made.lost)
            failed += [gone or not one.held for one in made.judgements]
        shares = " | ".join(f"{one / runs:.1%}" for one in failed)
        print(f"| {items:,} | {churn:.0%} | {corrected:.0%} | {shares} |", flush=True)


def enough(runs: int) -> None:
    """Print from how many items on the bound by losses finds nine in ten of what was planted."""
    print("| planted |", " | ".join(f"{churn:.0%}" for churn in QUIET), "|")
    for name, change in CHANGES.items():
        cells = []
        for churn in QUIET:
            rng = np.random.default_rng([len(name), round(1e4 * churn)])
            cells.append(
                next((f"{size:,}" for size in SIZES if found(rng, runs, size, churn, change)), "more")
            )
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def found(rng: np.random.Generator, runs: int, items: int, churn: float, change: dict[str, Any]) -> bool:
    """Whether nine in ten such changes fail the bound by losses; no more runs than it takes to tell."""
    missed = 0
    for _ in range(runs):
        missed += guarded(planted(rng, items, churn, **change), ["loss"], []).held
        if missed > runs / 10:
            return False
    return True


if __name__ == "__main__":
    runs = int(sys.argv[-1]) if sys.argv[-1].isdigit() else 400
    if "losses" in sys.argv:
        alarms(runs)
        enough(runs // 10)
        sys.exit()
    print("items  true difference  discordant  fails")
    for items, losses, gains in CASES:
        failed = share(runs, items, losses, gains)
        print(f"{items:5}  {gains - losses:+15.3f}  {losses + gains:10.1%}  {failed:6.1%}", flush=True)
