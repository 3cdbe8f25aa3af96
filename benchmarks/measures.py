"""How fast the measures are: ``python benchmarks/measures.py``. Ratios come from the same data in one run."""

from __future__ import annotations

import itertools
import os
import resource
import time
from collections.abc import Callable
from typing import Any

# One thread for the other packages too: Quaver's measures take one by themselves (`one_thread`).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import krippendorff
import numpy as np
import polars as pl
from large_study import study
from machine import machine

from quaver.agreement.coefficients import cohen_kappa, krippendorff_alpha
from quaver.core import registry
from quaver.estimation.coded_columns import label_counts
from quaver.measures.stability.prompt_stability import intra_pss
from quaver.measures.stability.stability_curves import intra_pss_cumulative
from quaver.measures.variation.item_sensitivity import Pairs

seeds = itertools.count(1)
"""A seed for every call, so that no call finds its bootstrap weights made already."""


def best(call: Callable[[], Any], times: int = 5) -> float:
    """The shortest of several runs, in seconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def ratings(items: int = 500, raters: int = 30, labels: int = 4) -> np.ndarray[Any, Any]:
    """Labels around one that each item has."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, labels, items)
    noise = rng.integers(0, labels, (items, raters))
    return np.where(rng.random((items, raters)) < 0.7, truth[:, None], noise)


def alpha() -> None:
    """One alpha with its interval, against the krippendorff package in a loop over resamples."""
    codes = ratings()
    counts = label_counts(codes, 4)
    samples = [np.delete(np.arange(500), index) for index in range(500)]

    def loop() -> list[float]:
        return [
            krippendorff.alpha(
                value_counts=counts[rows], value_domain=range(4), level_of_measurement="nominal"
            )
            for rows in samples
        ]

    ours = best(lambda: krippendorff_alpha(codes))
    theirs = best(loop, 3)
    print(f"alpha, 500 x 30, with each of 500 items left out: {ours * 1000:.1f} ms")
    print(
        f"  krippendorff in a loop over value counts: {theirs * 1000:.1f} ms; "
        f"ratio {theirs / ours:.1f} (at least 8)"
    )


def kappa() -> None:
    """Cohen's kappa of all pairs of raters against alpha, with ratings missing and without."""
    whole = ratings().astype(float)
    holes = np.where(np.random.default_rng(5).random(whole.shape) < 0.02, np.nan, whole)
    for name, data in (("complete", whole), ("2% missing", holes)):
        pair = [
            best(lambda f=f, data=data: f(data, seed=next(seeds))) for f in (krippendorff_alpha, cohen_kappa)
        ]
        print(
            f"cohen_kappa, 500 x 30, {name}: {pair[1] * 1000:.0f} ms; "
            f"ratio to alpha {pair[1] / pair[0]:.1f}" + (" (at most 15)" if data is whole else "")
        )


def cumulative() -> None:
    """All cumulative alphas of 30 repeats, against one alpha of the same frame."""
    codes = ratings()
    items, repeats = codes.shape
    frame = pl.DataFrame(
        {
            "item": np.repeat(np.arange(items), repeats),
            "repeat": np.tile(np.arange(repeats), items),
            "label": codes.ravel(),
        }
    )
    one = best(lambda: intra_pss(frame, seed=next(seeds)))
    every = best(lambda: intra_pss_cumulative(frame, seed=next(seeds)))
    print(
        f"one alpha of 30 repeats: {one * 1000:.1f} ms; all 29 cumulative ones: {every * 1000:.1f} ms; "
        f"ratio {every / one:.1f} (at most 10)"
    )


def double_loop(shares: np.ndarray[Any, Any], classes: np.ndarray[Any, Any]) -> float:
    """Mean consistency of all pairs of two items of one class, a pair at a time."""
    means = []
    for code in np.unique(classes):
        own = shares[classes == code]
        total, pairs = 0.0, 0
        for i in range(len(own)):
            for j in range(i + 1, len(own)):
                total += 1 - 0.5 * np.abs(own[i] - own[j]).sum()
                pairs += 1
        means.append(total / pairs)
    return float(np.mean(means))


def consistency() -> None:
    """The point estimate of consistency, against the double loop."""
    rng = np.random.default_rng(2)
    for items in (5_000, 100_000):
        classes = rng.integers(0, 14, items)
        codes = np.where(rng.random((items, 10)) < 0.6, classes[:, None], rng.integers(0, 14, (items, 10)))
        counts, ones = label_counts(codes, 14), np.ones((1, items))
        found = best(lambda counts=counts, classes=classes, ones=ones: Pairs(counts, classes).overall(ones))
        print(
            f"consistency of {items:,} items, 14 classes: {found:.3f} s"
            + (" (at most 1)" if items > 5000 else "")
        )
        if items == 5_000:
            start = time.perf_counter()
            direct = double_loop(counts / 10, classes)
            slow = time.perf_counter() - start
            assert abs(direct - float(Pairs(counts, classes).overall(ones)[0, 0])) < 1e-9
            print(f"  the double loop: {slow:.1f} s; ratio {slow / found:.0f} (at least 100)")


def whole_study() -> None:
    """Every registered measure of 3,000,000 annotations."""
    frame = study()
    print(f"a study of {frame.height:,} annotations, by condition (the data take {_memory():.1f} GB):")
    total = 0.0
    for name in registry.names("measures"):
        measure = registry.load("measures", name)
        start = time.perf_counter()
        found = measure(frame, by=["model"], seed=next(seeds))
        taken = time.perf_counter() - start
        total += taken
        print(f"  {name}: {taken:.2f} s, {len(found)} estimates", flush=True)
    print(f"  together {total:.1f} s (at most 60), peak memory {_memory():.1f} GB (at most 3)")


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    print(machine())
    alpha()
    kappa()
    cumulative()
    consistency()
    whole_study()


if __name__ == "__main__":
    main()
