"""How often the intervals of sets and of numbers hold the truth: the table in docs/fields.md.

Usage: python benchmarks/fields.py [runs [part of a setting's name]]

Studies are drawn from the list of conditions below, and the truth from very many items by arithmetic of
its own: no measure of Quaver's takes part in either. Items are alone, in 20 groups of one size, or in 24
groups whose sizes differ sixtyfold; items of a group share a quarter of the variance of what they are and of
how they are answered.

Sets: an item has each label with its share, which are 40% each, or 50, 30, 10 and 3%. Three prompts answer:
a label is left out, or put in, in 3% of cases, and in 25% where the item is hard, which 30% are. A tenth of
the answers is missing.

Numbers: gold numbers are normal or lognormal. Errors are normal, lognormal (the answer is the gold number
times a factor of median 1), or as heavy-tailed as Student's with three degrees of freedom, and above 0 on
average. Of amounts, six of ten are zero; one of twelve answers is zero where the amount is not, or is not
where it is. Gold samples are of 60 or 200 items of 1,000, whose numbers go with a covariate.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
from machine import machine
from numpy.typing import NDArray
from scipy import special

from quaver.core.label_values import occurring_numbers
from quaver.core.records import Estimate, Label, LabelSet
from quaver.measures import accuracy, conclusion, corrected_score, f1, inter_pss

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

UNEQUAL = np.geomspace(1, 60, 24)
SHARED = 0.25
SHARES = {"balanced": (0.4, 0.4, 0.4, 0.4), "rare": (0.5, 0.3, 0.1, 0.03)}
HARD, OFTEN, SELDOM, MISSING = 0.3, 0.25, 0.03, 0.1
SHAPES = ("normal", "lognormal", "lognormal gold", "heavy", "zeros")
AMOUNTS, SWAPPED = 0.4, 1 / 12
MANY = 400_000


def groups_of(rng: np.random.Generator, items: int, kind: str) -> NDArray[np.int64] | None:
    """The group of each item; None where items are alone."""
    if kind == "alone":
        return None
    sizes = UNEQUAL if kind == "unequal" else np.ones(20)
    ends = np.round(np.cumsum(sizes) / sizes.sum() * items)
    return rng.permutation(np.searchsorted(ends, np.arange(items), side="right"))


def latent(rng: np.random.Generator, items: int, group: NDArray[np.int64] | None, columns: int = 1) -> Floats:
    """Standard normal numbers that items of a group share in part, shape (items, columns)."""
    own = rng.standard_normal((items, columns))
    if group is None:
        return own
    shared = rng.standard_normal((int(group.max()) + 1, columns))[group]
    return SHARED**0.5 * shared + (1 - SHARED) ** 0.5 * own


def sets_of(
    rng: np.random.Generator, items: int, shares: str, group: NDArray[np.int64] | None
) -> tuple[Bools, Bools, Bools]:
    """Gold sets (items × labels), answers (items × prompts × labels), and which answers are missing."""
    chance = np.array(SHARES[shares])
    gold = special.ndtr(latent(rng, items, group, chance.size)) < chance
    hard = special.ndtr(latent(rng, items, group)[:, 0]) < HARD
    swapped = rng.random((items, 3, chance.size)) < np.where(hard, OFTEN, SELDOM)[:, None, None]
    return gold, gold[:, None] ^ swapped, rng.random((items, 3)) < MISSING


def numbers_of(
    rng: np.random.Generator, items: int, shape: str, group: NDArray[np.int64] | None, prompts: int = 3
) -> tuple[Floats, Floats]:
    """Gold numbers and each prompt's answers, shape (items, prompts)."""
    own, error = latent(rng, items, group)[:, 0], latent(rng, items, group, prompts)
    amount = np.exp(3 + 0.6 * own)
    if shape == "zeros":
        there = special.ndtr(latent(rng, items, group)[:, 0]) < AMOUNTS
        swapped = rng.random((items, prompts)) < SWAPPED
        said = np.where(there[:, None] ^ swapped, amount[:, None] * np.exp(0.15 * error), 0.0)
        return np.where(there, amount, 0.0), said
    gold = amount if shape.startswith("lognormal") else 50 + 10 * own
    if shape == "lognormal":
        return gold, gold[:, None] * np.exp(0.3 * error)
    if shape == "heavy":
        return gold, gold[:, None] + 1 + 4 * special.stdtrit(3, special.ndtr(error))
    return gold, gold[:, None] + 1 + 6 * error


# The truth, by arithmetic of its own


def jaccard(one: Bools, other: Bools) -> Floats:
    both, either = (one & other).sum(-1), (one | other).sum(-1)
    return np.where(either > 0, 1 - both / np.maximum(either, 1), 0.0)


def masi(one: Bools, other: Bools) -> Floats:
    within = (one <= other).all(-1) | (other <= one).all(-1)
    equal = (one == other).all(-1)
    touching = (one & other).any(-1)
    weight = np.where(equal, 1.0, np.where(within, 2 / 3, np.where(touching, 1 / 3, 0.0)))
    return 1 - weight * (1 - jaccard(one, other))


def squared(one: Floats, other: Floats) -> Floats:
    return (one - other) ** 2


def relative(one: Floats, other: Floats) -> Floats:
    return np.where(one == other, 0.0, ((one - other) / np.maximum(one + other, 1e-300)) ** 2)


def alpha(answers: Any, distance: Callable[[Any, Any], Floats]) -> float:
    """1 − the mean distance of two answers to an item over that of two answers to any items."""
    items, prompts = answers.shape[:2]
    within = np.mean(
        [distance(answers[:, i], answers[:, j]).mean() for i, j in combinations(range(prompts), 2)]
    )
    pooled = answers.reshape(items * prompts, *answers.shape[2:])
    other = np.random.default_rng(1).permutation(len(pooled))
    return float(1 - within / distance(pooled, pooled[other]).mean())


@cache
def truth_of_sets(shares: str) -> dict[str, float]:
    gold, said, _ = sets_of(np.random.default_rng(0), MANY, shares, None)
    one, wide = said[:, 0], gold
    both, sizes = (one & wide).sum(1), one.sum(1) + wide.sum(1)
    return {
        "accuracy": float((one == wide).all(1).mean()),
        "accuracy_hamming": float((one != wide).mean()),
        "f1_sample": float(np.where(sizes > 0, 2 * both / np.maximum(sizes, 1), 1.0).mean()),
        "alpha, jaccard": alpha(said, jaccard),
        "alpha, masi": alpha(said, masi),
    }


@cache
def truth_of_numbers(shape: str) -> dict[str, float]:
    gold, said = numbers_of(np.random.default_rng(0), 10 * MANY, shape, None, 2)
    error = said[:, 0] - gold
    bias, sd = error.mean(), error.std()
    x, y = said[:, 0], gold
    total = x.var() + y.var() + (x.mean() - y.mean()) ** 2
    return {
        "accuracy_mean_error": float(np.abs(error).mean()),
        "accuracy_bias": float(bias),
        "accuracy_lower_limit": float(bias - 1.96 * sd),
        "accuracy_upper_limit": float(bias + 1.96 * sd),
        "accuracy_correlation": float(np.corrcoef(x, y)[0, 1]),
        "accuracy_intraclass": float(2 * np.cov(x, y)[0, 1] / total),
        "alpha, interval": alpha(said, squared),
        "alpha, ratio": alpha(np.abs(said), relative),
    }


# One simulated study, as it is measured


def columns(group: NDArray[np.int64] | None, prompts: int) -> tuple[dict[str, Any], dict[str, Any]]:
    if group is None:
        return {}, {}
    return {"author": np.repeat(group, prompts)}, {"group": "author"}


def study_of_sets(
    rng: np.random.Generator, items: int, shares: str, groups: str
) -> Iterator[tuple[str, Estimate]]:
    group = groups_of(rng, items, groups)
    gold, said, missing = sets_of(rng, items, shares, group)
    names = np.array(["tax", "war", "health", "other"])[: gold.shape[1]]

    def text(held: Bools) -> list[str]:
        return [";".join(names[one]) or "[]" for one in held.reshape(-1, names.size)]

    more, options = columns(group, 3)
    label = pl.Series(text(said)).set(pl.Series(missing.ravel()), None)
    frame = pl.DataFrame(
        {
            "item": np.repeat(np.arange(items), 3),
            "variant": [f"v{k}" for k in range(3)] * items,
            "label": label,
            "gold": np.repeat(text(gold), 3),
            **more,
        }
    )
    occurring = dict.fromkeys([*names, *frame["label"].drop_nulls(), *frame["gold"]])
    for level in ("jaccard", "masi"):
        labels = LabelSet(tuple(Label(one, one) for one in occurring), level)  # type: ignore[arg-type]
        yield f"alpha, {level}", inter_pss(frame, labels=labels, estimand="fixed", **options)[0]
    first = frame.filter(pl.col("variant") == "v0")
    for measure in (accuracy, f1):
        for one in measure(first, labels=labels, missing="drop", **options):
            yield one.measure, one


def of_numbers(*some: Any) -> LabelSet:
    known = sorted({one for column in some for one in column if one is not None}, key=float)
    return occurring_numbers(known, "interval")


def study_of_numbers(
    rng: np.random.Generator, items: int, shape: str, groups: str
) -> Iterator[tuple[str, Estimate]]:
    group = groups_of(rng, items, groups)
    gold, said = numbers_of(rng, items, shape, group, 2)
    more, options = columns(group, 2)
    frame = pl.DataFrame(
        {
            "item": np.repeat(np.arange(items), 2),
            "variant": [f"v{k}" for k in range(2)] * items,
            "label": [repr(one) for one in said.ravel().tolist()],
            "gold": np.repeat([repr(one) for one in gold.tolist()], 2),
            **more,
        }
    )
    labels = of_numbers(frame["label"], frame["gold"])
    first = frame.filter(pl.col("variant") == "v0")
    for one in accuracy(first, labels=labels, **options):
        yield one.measure, one
    yield "alpha, interval", inter_pss(frame, labels=labels, estimand="fixed", **options)[0]
    if shape in ("lognormal", "zeros"):  # elsewhere an answer may be below 0
        ratio = replace(labels, level="ratio")
        yield "alpha, ratio", inter_pss(frame, labels=ratio, estimand="fixed", **options)[0]


def study_of_a_sample(
    rng: np.random.Generator, gold: int, shape: str, groups: str
) -> Iterator[tuple[str, float, Estimate]]:
    items = 1000
    group = groups_of(rng, items, groups)
    x = latent(rng, items, group)[:, 0]
    true, said = numbers_of(rng, items, shape, group, 4)
    amounts = shape not in ("normal", "heavy")
    factor, shift = (np.exp(0.1 * x), 0.0) if amounts else (1.0, 2 * x)
    true, said = true * factor + shift, said * np.reshape(factor, (-1, 1)) + np.reshape(shift, (-1, 1))
    drawn = np.zeros(items, bool)
    drawn[rng.choice(items, gold, replace=False)] = True
    more, options = columns(group, 4)
    texts = [repr(one) for one in true.tolist()]
    frame = pl.DataFrame(
        {
            "item": np.repeat(np.arange(items), 4),
            "variant": [f"v{k}" for k in range(4)] * items,
            "label": [repr(one) for one in said.ravel().tolist()],
            "gold": np.repeat(np.where(drawn, texts, None), 4).tolist(),
            "gold_drawn": np.repeat(drawn, 4),
            "gold_probability": gold / items,
            "x": np.repeat(x, 4),
            **more,
        }
    )
    labels = of_numbers(frame["label"], frame["gold"])
    yield "corrected_score", corrected_score(frame, labels=labels, **options)[0]
    for formula, effect_of in (("label ~ 1", "Intercept > 0"), ("label ~ x", "x > 0")):
        found = conclusion(frame, formula=formula, effect=effect_of, labels=labels, **options)
        yield f"conclusion_corrected, {formula}", found[0]


@cache
def truth_of_a_sample(shape: str) -> dict[str, float]:
    """E of the gold numbers, and the slope of their regression on the covariate: E[y x] / E[x²]."""
    if shape not in ("normal", "heavy"):
        spread = 0.6**2 + 0.1**2
        mean = float(np.exp(3 + spread / 2)) * (AMOUNTS if shape == "zeros" else 1.0)
        slope = 0.1 * mean  # E[exp(a x) x] = a exp(a² / 2)
    else:
        mean, slope = 50.0, 2.0
    return {
        "corrected_score": mean,
        "conclusion_corrected, label ~ 1": mean,
        "conclusion_corrected, label ~ x": slope,
    }


@dataclass(frozen=True)
class Setting:
    """One population: its name, what draws and measures a study of it, and its true values."""

    name: str
    study: Callable[[np.random.Generator], Iterator[tuple[str, Estimate]]]
    truth: Callable[[], dict[str, float]]


def settings() -> Iterator[Setting]:
    for items, shares, groups in product((50, 150, 500), SHARES, ("alone", "equal", "unequal")):
        if items > 50 or groups == "alone":
            name = f"sets, {items} items, {shares}, {groups}"
            study = partial(study_of_sets, items=items, shares=shares, groups=groups)
            yield Setting(name, study, partial(truth_of_sets, shares))
    for items, shape, groups in product((50, 150, 500), SHAPES, ("alone", "equal", "unequal")):
        if items > 50 or groups == "alone":
            name = f"numbers, {items} items, {shape}, {groups}"
            study = partial(study_of_numbers, items=items, shape=shape, groups=groups)
            yield Setting(name, study, partial(truth_of_numbers, shape))
    for gold, shape, groups in product((60, 200), SHAPES, ("alone", "equal", "unequal")):
        name = f"sample, {gold} gold, {shape}, {groups}"
        study = partial(study_of_a_sample, gold=gold, shape=shape, groups=groups)
        yield Setting(name, study, partial(truth_of_a_sample, shape))


def main() -> None:
    """Print a line for each measure and setting, as they are ready."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{machine()}; {runs} studies each", flush=True)
    print("| setting | measure | covers | without a warning | warned | no interval |\n" + "| --- " * 6 + "|")
    for setting in settings():
        if not all(part in setting.name for part in sys.argv[2:]):
            continue
        truth = setting.truth()
        held: dict[str, list[tuple[bool, bool]]] = {}
        for run in range(runs):
            rng = np.random.default_rng([run, *setting.name.encode()])
            for name, one in setting.study(rng):
                if name in truth:
                    known = one.low is not None and one.high is not None
                    held.setdefault(name, [])
                    if known:
                        inside = one.low <= truth[name] <= one.high  # type: ignore[operator]
                        held[name].append((inside, bool(one.warnings)))
        for name, outcomes in held.items():
            inside = np.array(outcomes, bool).reshape(-1, 2)
            calm = inside[~inside[:, 1], 0]
            print(
                f"| {setting.name} | {name} | {inside[:, 0].mean():.1%} "
                f"| {calm.mean() if calm.size else np.nan:.1%} | {inside[:, 1].mean():.0%} "
                f"| {1 - len(inside) / runs:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
