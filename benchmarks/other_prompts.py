"""How often intervals for other prompts cover: the mean over prompts like these.

    python benchmarks/other_prompts.py [REPLICATIONS [PROCESSES [NAME …]]]

Prompts differ in how faithfully they give an item's own label; items in how easily it is lost. Of a number
that a set of prompts has, the truth is its mean over sets of as many prompts, each asked about many items.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import itertools
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import polars as pl
from machine import machine

from quaver.core.records import Estimate, Label, LabelSet
from quaver.measures import (
    accuracy,
    compliance,
    consistency,
    f1,
    inter_pss,
    label_shares,
    sensitivity,
    spread,
)

LABELS = LabelSet(tuple(Label(code, code) for code in "abc"))
CODES = pl.Series(["a", "b", "c", None])
PROMPTS, ITEMS = (3, 5, 10, 30), (100, 300)
MANY = 4000
"""Items of a set of prompts whose numbers are taken for their true ones."""

MEASURES: Mapping[str, Callable[..., list[Estimate]]] = {
    "accuracy": accuracy,
    "f1": f1,
    "compliance": compliance,
    "label_shares": label_shares,
    "inter_pss": inter_pss,
    "sensitivity": sensitivity,
    "consistency": consistency,
    "spread": spread,
}
OF_A_SET = ("inter_pss", "sensitivity", "consistency", "spread")


def frame_of(rng: np.random.Generator, prompts: int, items: int) -> pl.DataFrame:
    """Labels of some prompts, drawn from all that there might be."""
    gold = rng.choice(3, items, p=[0.5, 0.3, 0.2])
    faithful = rng.uniform(0.65, 0.95, prompts) - rng.uniform(-0.05, 0.15, (items, 1))
    label = np.where(
        rng.random((items, prompts)) < faithful, gold[:, None], rng.integers(0, 3, (items, prompts))
    )
    label = np.where(rng.random((items, prompts)) < rng.uniform(0.0, 0.1, prompts), 3, label)
    return pl.DataFrame(
        {
            "item": np.repeat(np.arange(items), prompts),
            "variant": [f"v{k:02}" for k in range(prompts)] * items,
            "label": CODES.gather(label.ravel()),
            "gold": CODES.gather(np.repeat(gold, prompts)),
        }
    )


def number(name: str, frame: pl.DataFrame, **options: object) -> Estimate:
    """The first number of a measure."""
    return MEASURES[name](frame, labels=LABELS, **options)[0]


def truths(name: str, prompts: int, sets: int = 60) -> list[float]:
    """The numbers of sets of prompts, or of single ones."""
    rng = np.random.default_rng([prompts, *name.encode()])
    size = prompts if name in OF_A_SET else 1
    drawn = (frame_of(rng, size, MANY) for _ in range(sets * prompts // size))
    return [float(number(name, one, resamples=0, estimand="fixed").value or 0.0) for one in drawn]


def counted(name: str, prompts: int, items: int, replications: int) -> float:
    """How often the intervals hold the mean."""
    mean, held = float(np.mean(truths(name, prompts))), []
    for seed in range(replications):
        rng = np.random.default_rng([seed, prompts, items, *name.encode()])
        one = number(name, frame_of(rng, prompts, items), estimand="population")
        held.append(one.low is not None and one.high is not None and one.low <= mean <= one.high)
    return float(np.mean(held))


def main() -> None:
    """Print the table."""
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else os.cpu_count() or 1
    names = [name for name in MEASURES if not sys.argv[3:] or name in sys.argv[3:]]
    print(f"{machine()}; {replications} studies", flush=True)
    print("| number | items | " + " | ".join(f"{count} prompts" for count in PROMPTS) + " |")
    print("| --- " * (2 + len(PROMPTS)) + "|")
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        rows = {
            (name, items): [pool.submit(counted, name, prompts, items, replications) for prompts in PROMPTS]
            for name, items in itertools.product(names, ITEMS)
        }
        for (name, items), found in rows.items():
            cells = " | ".join(f"{one.result():.1%}" for one in found)
            print(f"| `{name}` | {items} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
