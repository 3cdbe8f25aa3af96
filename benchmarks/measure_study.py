"""Every registered measure on a study of 3,000,000 annotations: seconds each, and the process's peak memory.

500 items × 250 wordings × 3 repeats × 8 conditions (two models at four temperatures), with intervals of
1000 resamples. Name measures on the command line to run these alone.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import polars as pl
from machine import machine

from quaver import registry
from quaver.records import Label, LabelSet

ITEMS, WORDINGS, REPEATS, MODELS, DECODINGS = 500, 250, 3, 2, 4
LABELS = ("agree", "disagree", "neither", "unclear", "none")
LABEL_SET = LabelSet(tuple(Label(code, code) for code in LABELS))


def study(seed: int = 0) -> pl.DataFrame:
    """Annotations with the columns that every measure needs, three in four of them right."""
    rng = np.random.default_rng(seed)
    shape = (MODELS, WORDINGS, DECODINGS, ITEMS, REPEATS)
    size = int(np.prod(shape))
    model, wording, decoding, item, repeat = (at.ravel() for at in np.indices(shape, np.int32))
    gold = rng.integers(0, len(LABELS), ITEMS)[item]
    label = np.where(rng.random(size) < 0.7, gold, rng.integers(0, len(LABELS), size))
    valid = rng.random(size) < 0.98
    chances = rng.random((size, len(LABELS)), np.float32)
    chances[np.arange(size), label] += 2
    chances /= chances.sum(1, keepdims=True)

    def named(codes: np.ndarray, names: list[str]) -> pl.Series:
        return (
            pl.Series(codes.astype(np.uint32))
            .replace_strict(list(range(len(names))), names, return_dtype=pl.Enum(names))
            .cast(pl.Categorical)
        )

    labels = named(label, list(LABELS))
    return pl.DataFrame(
        {
            "model": named(model, [f"model {k}" for k in range(MODELS)]),
            "variant": named(wording, [f"wording {k:03}" for k in range(WORDINGS)]),
            "decoding": named(decoding, [f"temperature {k / 2}" for k in range(DECODINGS)]),
            "item": named(item, [f"i{k:03}" for k in range(ITEMS)]),
            "repeat": repeat,
            "label": labels.set(pl.Series(~valid), None),
            "status": named(valid.astype(int), ["no_label", "valid"]),
            "gold": named(gold, list(LABELS)),
            "confidence": chances.max(1).astype(np.float64),
            "mass_coverage": rng.uniform(0.8, 1.0, size),
            "probabilities": pl.Series(chances.astype(np.float64)).cast(pl.List(pl.Float64)),
        }
    )


def peak() -> float:
    """The process's largest resident size so far, GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    print(machine())
    start = time.perf_counter()
    frame = study()
    made = time.perf_counter() - start
    print(f"{frame.height:,} annotations made in {made:.1f} s, {peak():.2f} GB")
    total = 0.0
    for name in sys.argv[1:] or registry.names("measures"):
        measure = registry.load("measures", name)
        start = time.perf_counter()
        found = measure(frame, labels=LABEL_SET)
        seconds = time.perf_counter() - start
        total += seconds
        told = f"{len(found):4} estimates, peak {peak():.2f} GB"
        print(f"{name:22} {seconds:6.2f} s  {told}", flush=True)
    print(f"{'all':22} {total:6.2f} s, peak {peak():.2f} GB")


if __name__ == "__main__":
    main()
