"""Conditions that Quaver does not simulate by itself: how often intervals hold the truth, and warn.

    python benchmarks/hard_conditions.py [STUDIES [FIRST SEED [NAME …]]]

Groups of very unequal sizes, prompts of which some are broken, labels that hardly occur. The generator and
the truths are written from this list alone and share no code with the measures. The oracle knows the standard
deviation of the estimate over studies, and takes 1.96 of it on either side.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl
import scipy
from machine import machine

from quaver.core.records import Estimate, Label, LabelSet
from quaver.measures import accuracy, consistency, f1, inter_pss, sensitivity

MEASURES: Mapping[str, Callable[..., list[Estimate]]] = {
    "accuracy": accuracy,
    "sensitivity": sensitivity,
    "inter_pss": inter_pss,
    "consistency": consistency,
    "macro f1": f1,
}

SIZES: Mapping[str, list[int]] = {
    "20 of 10": [10] * 20,
    "10 of 20": [20] * 10,
    "1 to 60": np.geomspace(1, 60, 24).round().astype(int).tolist(),
    "1 to 60, by a power law": [60, 42, 30, 21, 15, 10, 7, 5, 5, 4, 4, 3, 3, 3, 2, 2, 2] + [1] * 13,
    "one of 100, twenty of 5": [100] + [5] * 20,
    "eight of 2 to 62": np.linspace(2, 62, 8).round().astype(int).tolist(),
}


def frame_of(codes: np.ndarray, **columns: Any) -> pl.DataFrame:
    """Labels, items × prompts, in rows; further columns are of the items."""
    items, prompts = codes.shape
    names = {
        "item": np.repeat(np.arange(items), prompts),
        "variant": [f"v{k:02}" for k in range(prompts)] * items,
        "label": [f"c{code:02}" for code in codes.ravel()],
    }
    return pl.DataFrame(
        names | {name: np.repeat(np.asarray(value), prompts) for name, value in columns.items()}
    )


def gold_of(codes: np.ndarray) -> list[str]:
    """The names of true labels."""
    return [f"c{code:02}" for code in codes]


def alpha_of(chances: np.ndarray, weights: np.ndarray) -> float:
    """Krippendorff's alpha of endless items: chances of each label, kinds × prompts × labels."""
    prompts = chances.shape[1]
    each = chances.sum(1)
    pairs = (each**2).sum(1) - (chances**2).sum((1, 2))
    alike = float(weights @ pairs) / (prompts * (prompts - 1))
    shares = np.einsum("k,kpl->l", weights, chances) / prompts
    return float((alike - shares @ shares) / (1 - shares @ shares))


def entropy_of(codes: np.ndarray, labels: int) -> float:
    """The mean entropy of the items' labels over that of an even spread."""
    shares = np.stack([(codes == label).mean(1) for label in range(labels)], 1)
    return float(scipy.special.entr(shares).sum(1).mean() / np.log(labels))


def alike_in(codes: np.ndarray, gold: np.ndarray) -> float:
    """The mean over classes of how alike the shares of labels of two texts of a class are."""
    alike = []
    for true in np.unique(gold):
        some = codes[gold == true]
        pairs = some[: len(some) // 2 * 2].reshape(-1, 2, codes.shape[1])
        gaps = [np.abs(np.diff((pairs == label).mean(2), axis=1)) for label in range(codes.max() + 1)]
        alike.append(1 - float(np.sum(gaps, 0).mean()) / 2)
    return float(np.mean(alike))


# Groups: how often a text is labelled wrong, and how often its label is the second, go by group.
WRONG, SECOND, ALIKE, PROMPTS = (0.15, 0.4, 0.2, 5)


def of_groups(rng: np.random.Generator, sizes: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels of items in groups, the true ones, and the groups."""
    known = 1 / ALIKE - 1
    groups = np.repeat(np.arange(len(sizes)), sizes)
    wrong, second = (
        rng.beta(mean * known, (1 - mean) * known, len(sizes))[groups] for mean in (WRONG, SECOND)
    )
    gold = (rng.random(groups.size) < second).astype(int)
    missed = rng.random((groups.size, PROMPTS)) < wrong[:, None]
    return np.where(missed, 1 - gold[:, None], gold[:, None]), gold, groups


@cache
def grouped_truth(name: str) -> float:
    """Of endlessly many groups."""
    known = 1 / ALIKE - 1
    a, b = WRONG * known, (1 - WRONG) * known
    if name == "accuracy":
        return 1 - WRONG
    if name == "inter_pss":
        differ = 2 * a * b / ((a + b) * (a + b + 1))
        share = SECOND * (1 - WRONG) + (1 - SECOND) * WRONG
        return 1 - differ / (2 * share * (1 - share))
    ways = np.arange(PROMPTS + 1)
    chance = scipy.stats.betabinom(PROMPTS, a, b).pmf(ways)
    even = scipy.special.entr(ways / PROMPTS) + scipy.special.entr(1 - ways / PROMPTS)
    return float(chance @ even / np.log(2))


def grouped(rng: np.random.Generator, sizes: str, name: str) -> tuple[Estimate, float]:
    """A study of items in declared groups."""
    codes, gold, groups = of_groups(rng, SIZES[sizes])
    frame = frame_of(codes, gold=gold_of(gold), author=groups)
    options = {"labels": labels_of(2), "group": "author", "estimand": "fixed"}
    return MEASURES[name](frame, **options)[0], grouped_truth(name)


def labels_of(count: int) -> LabelSet:
    """So many labels."""
    return LabelSet(tuple(Label(f"c{code:02}", f"c{code:02}") for code in range(count)))


# Prompts: each gives a text's own label with a chance of its own, the others by chance. A population of
# prompts has kinds; the mean over prompts like those tried is over the kinds that occur among them.
Faithful = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def _of_a_long_tail(rng: np.random.Generator, kinds: np.ndarray) -> np.ndarray:
    return np.asarray(scipy.special.expit(2.0 + 0.5 * rng.standard_t(2, kinds.size)))


KINDS: Mapping[str, tuple[float, Faithful]] = {
    "near normal": (0.0, lambda rng, kinds: np.clip(rng.normal(0.8, 0.06, kinds.size), 0, 1)),
    "a seventh broken": (
        1 / 7,
        lambda rng, kinds: np.where(kinds, 0.05, np.clip(rng.normal(0.85, 0.03, kinds.size), 0, 1)),
    ),
    "two kinds": (
        1 / 2,
        lambda rng, kinds: np.where(kinds, 0.55, 0.9) + rng.normal(0, 0.02, kinds.size),
    ),
    "skewed": (0.0, lambda rng, kinds: 0.9 - 0.9 * rng.beta(0.5, 4, kinds.size)),
    "of a long tail": (0.0, _of_a_long_tail),
    "log-normally worse": (
        0.0,
        lambda rng, kinds: 1 - np.minimum(0.02 + 0.08 * rng.lognormal(0, 0.9, kinds.size), 0.95),
    ),
}
"""The share of the second kind, and how faithful prompts of the kinds are."""
THREE = 3
SHARES = np.array([0.5, 0.3, 0.2])


def of_prompts(rng: np.random.Generator, faithful: np.ndarray, items: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels by prompts, and the true ones."""
    gold = rng.choice(THREE, items, p=SHARES)
    kept = rng.random((items, faithful.size)) < faithful
    return np.where(kept, gold[:, None], rng.integers(0, THREE, kept.shape)), gold


@cache
def prompted_truth(kind: str, prompts: int, name: str, second: float) -> float:
    """The mean over sets of as many prompts, so many of the second kind, of endless items."""
    rng = np.random.default_rng(20_261_126)
    found = []
    for _ in range(2000 if name == "inter_pss" else 400):
        faithful = KINDS[kind][1](rng, rng.random(prompts) < second)
        if name == "accuracy":
            found.append(float((faithful + (1 - faithful) / THREE).mean()))
        elif name == "sensitivity":
            found.append(entropy_of(of_prompts(rng, faithful, 2000)[0], THREE))
        elif name == "consistency":
            found.append(alike_in(*of_prompts(rng, faithful, 6000)))
        else:
            chances = (1 - faithful)[None, :, None] / THREE + np.eye(THREE)[:, None] * faithful[:, None]
            found.append(alpha_of(chances, SHARES))
    return float(np.mean(found))


def prompted(
    rng: np.random.Generator, kind: str, prompts: int, name: str, tried: bool
) -> tuple[Estimate, float]:
    """A study of some prompts, for the mean over prompts of the kinds tried, or of every kind."""
    share, faithful = KINDS[kind]
    second = rng.random(prompts) < share
    codes, gold = of_prompts(rng, faithful(rng, second), 150)
    frame = frame_of(codes, gold=gold_of(gold))
    one = MEASURES[name](frame, labels=labels_of(THREE), estimand="population")[0]
    if tried and (second.all() or not second.any()):
        share = float(second.all())
    return one, prompted_truth(kind, prompts, name, share)


# A rare label: each of five prompts gives a text another label than its own at 2%.
SLIP = 0.02


def rare(rng: np.random.Generator, share: float, items: int, name: str) -> tuple[Estimate, float]:
    """A study of a label that hardly occurs."""
    gold = (rng.random(items) < share).astype(int)
    wrong = np.where(gold == 1, 0.15, SLIP * share * 5)[:, None]
    codes = np.where(rng.random((items, PROMPTS)) < wrong, 1 - gold[:, None], gold[:, None])
    frame = frame_of(codes, gold=gold_of(gold))
    one = MEASURES[name](frame, labels=labels_of(2), estimand="fixed")[0]
    return one, rare_truth(share, name)


@cache
def rare_truth(share: float, name: str) -> float:
    """Of endless items."""
    slip = SLIP * share * 5
    if name == "inter_pss":
        chances = np.array([[1 - slip, slip], [0.15, 0.85]])[:, None].repeat(PROMPTS, 1)
        return alpha_of(chances, np.array([1 - share, share]))
    alike = []  # of two texts of a class, less the mean distance of their shares of labels
    for wrong in (slip, 0.15):
        chance = scipy.stats.binom(PROMPTS, wrong).pmf(np.arange(PROMPTS + 1))
        gaps = np.abs(np.subtract.outer(np.arange(PROMPTS + 1), np.arange(PROMPTS + 1))) / PROMPTS
        alike.append(1 - float(chance @ gaps @ chance))
    return float(np.mean(alike))


def many(rng: np.random.Generator, labels: int, items: int) -> tuple[Estimate, float]:
    """Macro F1 of labels whose frequencies go by Zipf's law."""
    shares = 1 / np.arange(1, labels + 1)
    shares /= shares.sum()
    gold = rng.choice(labels, items, p=shares)
    right = rng.random((items, PROMPTS)) < 0.8
    codes = np.where(right, gold[:, None], rng.choice(labels, (items, PROMPTS), p=shares))
    frame = frame_of(codes, gold=gold_of(gold))
    found = f1(frame, labels=labels_of(labels), estimand="fixed")
    one = next(e for e in found if e.measure == "f1_macro")
    hit = 0.8 + 0.2 * shares  # as many are given each label as have it, so that F1 is the recall
    return one, float(hit.mean())


SETTINGS: dict[str, Callable[[np.random.Generator], tuple[Estimate, float]]] = {
    **{
        f"groups {sizes}: {name}": partial(grouped, sizes=sizes, name=name)
        for sizes in SIZES
        for name in ("accuracy", "sensitivity", "inter_pss")
    },
    **{
        f"{prompts} prompts, {kind}{'' if tried else ', untried kinds too'}: {name}": partial(
            prompted, kind=kind, prompts=prompts, name=name, tried=tried
        )
        for kind, (second, _) in KINDS.items()
        for tried in ([True, False] if second else [True])
        for prompts in (5, 8, 12)
        for name in ("accuracy", "sensitivity", "inter_pss", "consistency")
    },
    **{
        f"label in 1 of {round(1 / share)}, n {items:,}: {name}": partial(
            rare, share=share, items=items, name=name
        )
        for share, items in ((1 / 500, 2000), (1 / 100, 2000), (1 / 20, 500))
        for name in ("inter_pss", "consistency")
    },
    "40 labels, n 150: macro f1": partial(many, labels=40, items=150),
}


def rows(names: list[str], studies: int, first: int) -> Iterator[str]:
    """A line of the table for each setting."""
    for name in names:
        found: dict[str, list[float]] = defaultdict(list)
        for seed in range(first, first + studies):
            one, truth = SETTINGS[name](np.random.default_rng([seed, *name.encode()]))
            found["warned"].append(bool(one.warnings))
            if one.low is None or one.high is None or one.value is None:
                found["none"].append(1)
                continue
            held = one.low - 1e-9 <= truth <= one.high + 1e-9
            found["held"].append(held)
            if not one.warnings:
                found["silent"].append(held)
            found["value"].append(one.value)
            found["width"].append(one.high - one.low)
        silent = f"{np.mean(found['silent']):.1%}" if found["silent"] else "none"
        oracle = 2 * 1.96 * np.std(found["value"])
        yield (
            f"| {name} | {np.mean(found['held']):.1%} | {silent} | {np.mean(found['warned']):.0%} "
            f"| {len(found['none']) / studies:.0%} | {np.mean(found['width']) / oracle:.2f} |"
        )


def main() -> None:
    """Print the table."""
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    names = [name for name in SETTINGS if not sys.argv[3:] or any(one in name for one in sys.argv[3:])]
    print(f"{machine()}; {studies} studies, seeds from {first}", flush=True)
    print("| setting | holds | holds where not warned | warned | no interval | width / oracle's |")
    print("| --- " * 6 + "|")
    for row in rows(names, studies, first):
        print(row, flush=True)


if __name__ == "__main__":
    main()
