"""Where studies are hard: how often intervals cover, and tests reject, in settings that once failed.

    python benchmarks/hard_settings.py [REPLICATIONS [PROCESSES [FIRST SEED [NAME …]]]]

Rare labels, small groups, clusters, unequal noise, few paraphrases. Each row draws studies whose truth is
known, takes the measure as a user would, and counts: intervals that hold the truth (of those that are
defined), or tests of a true null hypothesis with p < 0.05; and how many came with a warning.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
import polars as pl
from machine import machine

from quaver.core.records import Estimate, Label, LabelSet
from quaver.measures import (
    accuracy,
    brier,
    conclusion,
    consistency,
    distribution_shift,
    ece,
    inter_pss,
    mixed_effects,
    verbal_calibration,
)
from quaver.measures.validity.item_clusters import item_clusters

LABELS = LabelSet(tuple(Label(code, code) for code in "abc"))
Outcome = tuple[float | None, bool, float]
"""1 where the truth is covered (or a true null rejected), None where undefined; warned; the width."""


def covered(one: Estimate, truth: float) -> Outcome:
    """Whether an interval holds the truth."""
    if one.low is None or one.high is None:
        return None, bool(one.warnings), np.nan
    return float(one.low - 1e-9 <= truth <= one.high + 1e-9), bool(one.warnings), one.high - one.low


def rejected(p: float | None) -> Outcome:
    """Whether a true null hypothesis was rejected at 5%."""
    return (None if p is None else float(p < 0.05)), False, np.nan


def long(codes: np.ndarray, **columns: Any) -> pl.DataFrame:
    """A frame of labels, items × prompts; further columns are of the items."""
    items, prompts = codes.shape
    frame = pl.DataFrame(
        {
            "item": np.repeat(np.arange(items), prompts),
            "variant": [f"v{k:02}" for k in range(prompts)] * items,
            "label": np.array(list("abc"))[codes.ravel()],
        }
    )
    return frame.with_columns(pl.Series(name, np.repeat(value, prompts)) for name, value in columns.items())


def clusters_of(items: int, size: int) -> np.ndarray:
    """Each item's group, of so many items."""
    return np.arange(items) // size


def small_group(
    rng: np.random.Generator, items: int, few: int, share: float, size: int = 0, shared: float = 0.0
) -> Outcome:
    """A rare label, a small group of items, no effect: whether a conclusion is drawn all the same.

    Args:
        rng: Of the draw.
        items: How many.
        few: How many of them are in the small group.
        share: The label's.
        size: Items in a cluster, which are declared; 0 for none.
        shared: The intraclass correlation of the label in a cluster.
    """
    chance: Any = share
    if shared:
        known = 1 / shared - 1
        chance = rng.beta(share * known, (1 - share) * known, items // size)[clusters_of(items, size)]
    said = rng.random(items) < chance
    group = np.where(rng.permutation(items) < few, "few", "many")
    frame = pl.DataFrame(
        {
            "item": np.arange(items),
            "label": np.where(said, "a", "b"),
            "side": group,
            "cluster": clusters_of(items, size or 1),
        }
    )
    options = {"group": "cluster"} if size else {}
    one = conclusion(
        frame, formula="share(a) ~ side", effect="side[few] > side[many]", labels=LABELS, **options
    )[0]
    verdict = one.details.get("verdict", "not distinguishable")
    return float(verdict != "not distinguishable"), bool(one.warnings), np.nan


def shift(rng: np.random.Generator, noisy: int, reference: bool, size: int = 0) -> Outcome:
    """Prompts with the same true shares, some of them noisy: whether a shift is found."""
    items, prompts, shares = 200, 8, (0.5, 0.3, 0.2)
    own = rng.choice(3, items, p=shares)
    noise = np.where(np.arange(prompts) < noisy, 0.6, 0.05)
    at = clusters_of(items, size or 1)
    if size:
        own = rng.choice(3, at.max() + 1, p=shares)[at]
    redrawn = rng.random((at.max() + 1, prompts))[at] < noise
    other = rng.choice(3, (at.max() + 1, prompts), p=shares)[at]
    frame = long(np.where(redrawn, other, own[:, None]), cluster=at)
    options = {"group": "cluster"} if size else {}
    found = distribution_shift(
        frame, labels=LABELS, reference="v00" if reference else None, resamples=500, seed=1, **options
    )
    which = "v01" if reference else "v00"
    one = next(e for e in found if e.measure.endswith("_tv") and e.cell["variant"] == which)
    return rejected(one.details.get("p"))


def paraphrased(rng: np.random.Generator, prompts: int, items: int) -> Outcome:
    """Accuracy over random paraphrases: the mean over such paraphrases."""

    def population(size: int) -> np.ndarray:
        return np.clip(0.8 + 0.05 * rng.standard_normal(size), 0, 1)

    right = rng.random((items, prompts)) < population(prompts)
    frame = long(np.where(right, 0, 1), gold=np.full(items, "a"))
    one = accuracy(frame, labels=LABELS, estimand="population")[0]
    return covered(one, 0.8)


def agreement(rng: np.random.Generator, prompts: int, items: int = 200) -> Outcome:
    """Inter-prompt stability, as it comes: the population's alpha is the square of the mean fidelity."""
    own = rng.integers(0, 3, items)
    faithful = rng.uniform(0.65, 0.95, prompts)
    kept = rng.random((items, prompts)) < faithful
    frame = long(np.where(kept, own[:, None], rng.integers(0, 3, (items, prompts))))
    return covered(inter_pss(frame, labels=LABELS)[0], 0.8**2)


def slopes(rng: np.random.Generator, items: int) -> Outcome:
    """Treatments that differ item by item and not on average: whether the model's test finds an effect."""
    treatments, repeats = 3, 5
    logit = 0.5 + rng.standard_normal((items, 1, 1)) + rng.standard_normal((items, treatments, 1))
    right = rng.random((items, treatments, repeats)) < 1 / (1 + np.exp(-logit))
    place = np.indices(right.shape).reshape(3, -1)
    frame = pl.DataFrame(
        {
            "item": place[0],
            "variant": [f"T{k}" for k in place[1]],
            "treatment": [f"T{k}" for k in place[1]],
            "repeat": place[2],
            "label": np.where(right.ravel(), "a", "b"),
            "gold": ["a"] * right.size,
        }
    )
    found = mixed_effects(frame, formula="correct ~ treatment", labels=LABELS)
    one = next(e for e in found if e.cell.get("term", "").endswith("[T1]"))
    return rejected(one.details.get("p"))


def calibrated(rng: np.random.Generator, kind: str) -> Outcome:
    """Expected calibration error of token confidence, whose truth is known."""
    items, answers, size = {"middling": (30, 5, 1), "groups": (150, 1, 10), "near perfect": (100, 10, 1)}[
        kind
    ]
    at = clusters_of(items, size)
    if kind == "near perfect":
        sure = rng.uniform(0.9, 1.0, (items, answers))
        chance, truth = np.broadcast_to(np.float64(0.97), sure.shape), 0.02
    else:
        sure = rng.uniform(0.5, 1.0, (items, answers))
        swing = 0.15 * rng.choice([-1.0, 1.0], at.max() + 1)[at][:, None]
        chance, truth = np.clip(sure - 0.15 + swing, 0, 1), 0.15
    right = rng.random(sure.shape) < chance
    frame = pl.DataFrame(
        {
            "item": np.repeat(np.arange(items), answers),
            "repeat": np.tile(np.arange(answers), items),
            "label": np.where(right.ravel(), "a", "b"),
            "gold": ["a"] * right.size,
            "confidence": sure.ravel(),
            "cluster": np.repeat(at, answers),
        }
    )
    options = {"group": "cluster"} if size > 1 else {}
    return covered(ece(frame, labels=LABELS, **options)[0], truth)


def stated(rng: np.random.Generator) -> Outcome:
    """Stated confidence, perfectly calibrated: the error is 0."""
    sure = rng.choice([0.5, 0.6, 0.7, 0.8, 0.9], 100)
    right = rng.random(100) < sure
    frame = pl.DataFrame(
        {
            "item": np.arange(100),
            "label": np.where(right, "a", "b"),
            "gold": ["a"] * 100,
            "confidence": sure,
        }
    )
    found = verbal_calibration(frame, labels=LABELS)
    return covered(next(e for e in found if e.measure.endswith("_ece")), 0.0)


def grouped(rng: np.random.Generator, declared: bool) -> Outcome:
    """Accuracy of items in 15 groups of 10."""
    chance = rng.beta(8, 2, 15)[clusters_of(150, 10)]
    codes = np.where(rng.random((150, 1)) < chance[:, None], 0, 1)
    frame = long(codes, gold=np.full(150, "a"), cluster=clusters_of(150, 10))
    one = accuracy(frame, labels=LABELS, **({"group": "cluster"} if declared else {}))[0]
    inside, warned, width = covered(one, 0.8)
    if not declared:  # what a study looks for by itself, among the columns of its items
        (found,) = item_clusters(frame, frame.select("item", "cluster").unique(maintain_order=True))
        warned = warned or bool(found.details.get("clustered"))
    return inside, warned, width


def alike(rng: np.random.Generator, groups: int = 20, size: int = 10) -> Outcome:
    """Consistency with groups: items of a class, whose answers' spread goes by group."""
    items, prompts = groups * size, 8
    spread = rng.beta(2, 4, groups)[clusters_of(items, size)]
    other = rng.random((items, prompts)) < spread[:, None] * 0.6
    frame = long(np.where(other, 1, 0), gold=np.full(items, "a"), cluster=clusters_of(items, size))
    return covered(consistency(frame, labels=LABELS, group="cluster", estimand="fixed")[0], _alike(prompts))


_TRUTH: dict[int, float] = {}


def _alike(prompts: int) -> float:
    """The mean of 1 − TVD over pairs of items, from the distribution of how many answers are other ones."""
    if prompts not in _TRUTH:
        rng = np.random.default_rng(0)
        counts = rng.binomial(prompts, rng.beta(2, 4, 4_000_000) * 0.6)
        shares = np.bincount(counts, minlength=prompts + 1) / counts.size
        gaps = np.abs(np.subtract.outer(np.arange(prompts + 1), np.arange(prompts + 1))) / prompts
        _TRUTH[prompts] = float(1 - shares @ gaps @ shares)
    return _TRUTH[prompts]


def squared(rng: np.random.Generator) -> Outcome:
    """The Brier score where errors are rare: (1 − 0.98)² or 0.98²."""
    right = rng.random(100) < 0.97
    frame = pl.DataFrame(
        {
            "item": np.arange(100),
            "label": np.where(right, "a", "b"),
            "gold": ["a"] * 100,
            "confidence": [0.98] * 100,
        }
    )
    return covered(brier(frame, labels=LABELS)[0], 0.97 * 0.02**2 + 0.03 * 0.98**2)


SETTINGS: Mapping[str, tuple[Callable[[np.random.Generator], Outcome], str]] = {
    "conclusion: 1,000 items, group of 30, label 3%": (
        partial(small_group, items=1000, few=30, share=0.03),
        "rejects",
    ),
    "conclusion: 400, 20, 5%": (partial(small_group, items=400, few=20, share=0.05), "rejects"),
    "conclusion: 400, 40, 5%": (partial(small_group, items=400, few=40, share=0.05), "rejects"),
    "conclusion: 100, 20, 5%": (partial(small_group, items=100, few=20, share=0.05), "rejects"),
    "conclusion: 100, 20, 20%, 20 clusters of 5": (
        partial(small_group, items=100, few=20, share=0.2, size=5),
        "rejects",
    ),
    "conclusion: 100, 20, 20%, 10 clusters of 10": (
        partial(small_group, items=100, few=20, share=0.2, size=10),
        "rejects",
    ),
    "conclusion: 100, 20, 20%, 10 clusters of 10, ICC 0.2": (
        partial(small_group, items=100, few=20, share=0.2, size=10, shared=0.2),
        "rejects",
    ),
    "distribution_shift: two of eight noisy, against each other": (
        partial(shift, noisy=2, reference=True),
        "rejects",
    ),
    "distribution_shift: one noisy, no reference": (partial(shift, noisy=1, reference=False), "rejects"),
    "distribution_shift: 20 groups of 10": (partial(shift, noisy=2, reference=True, size=10), "rejects"),
    **{
        f"accuracy, 5 paraphrases, {items} items": (
            partial(paraphrased, prompts=5, items=items),
            "covers",
        )
        for items in (100, 500)
    },
    **{
        f"inter_pss, {prompts} paraphrases": (partial(agreement, prompts=prompts), "covers")
        for prompts in (3, 5, 10, 30)
    },
    "mixed model, item × treatment sd 1, 60 items": (partial(slopes, items=60), "rejects"),
    "ECE: 30 × 5, middling": (partial(calibrated, kind="middling"), "covers"),
    "ECE: 15 groups of 10": (partial(calibrated, kind="groups"), "covers"),
    "ECE: 100 × 10, near perfect": (partial(calibrated, kind="near perfect"), "covers"),
    "ECE of stated confidence, calibrated, n = 100": (stated, "covers"),
    "accuracy, 15 groups of 10, declared": (partial(grouped, declared=True), "covers"),
    "accuracy, 15 groups of 10, not declared": (partial(grouped, declared=False), "covers"),
    "consistency, 20 groups of 10": (alike, "covers"),
    "Brier score, 3% wrong, n = 100": (squared, "covers"),
}


def outcomes(name: str, first: int, count: int) -> list[Outcome]:
    """So many replications of a setting."""
    draw = SETTINGS[name][0]
    return [draw(np.random.default_rng([at, *name.encode()])) for at in range(first, first + count)]


def main() -> None:
    """Print the table."""
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else os.cpu_count() or 1
    start = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    names = [name for name in SETTINGS if not sys.argv[4:] or any(one in name for one in sys.argv[4:])]
    step = 20
    print(f"{machine()}; {replications} replications", flush=True)
    print("| setting | | rate | standard error | undefined | warned | mean width |")
    print("| --- " * 7 + "|")
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        jobs = {
            name: [
                pool.submit(outcomes, name, start + first, min(step, replications - first))
                for first in range(0, replications, step)
            ]
            for name in names
        }
        for name, parts in jobs.items():
            rows = [row for part in parts for row in part.result()]
            known = np.array([row[0] for row in rows if row[0] is not None], float)
            rate = float(known.mean()) if known.size else float("nan")
            error = float(np.sqrt(rate * (1 - rate) / known.size)) if known.size else float("nan")
            warned = np.mean([row[1] for row in rows])
            widths = np.array([row[2] for row in rows], float)
            width = f"{np.nanmean(widths):.3f}" if np.isfinite(widths).any() else ""
            undefined = 1 - known.size / len(rows)
            print(
                f"| {name} | {SETTINGS[name][1]} | {rate:.1%} | {error:.1%} | {undefined:.1%} "
                f"| {warned:.0%} | {width} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
