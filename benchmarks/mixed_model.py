"""How often ``mixed_effects`` holds the truth: ``python benchmarks/mixed_model.py [RUNS [SEED]]``.

Each item has a difficulty of its own, normal with a standard deviation; a treatment that half of an item's
answers get moves the log odds of a right one by 0.5. A line for each setting: the share of answers that are
right, how often the 95% intervals of intercept, effect and standard deviation hold the truth (of those that
there are), and how often there is none.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

from quaver.measures import mixed_effects

EFFECT = 0.5
SETTINGS = (
    # items, answers to each, intercept, standard deviation
    (50, 6, 0.3, 1.0),
    (50, 12, 1.0, 0.5),
    (100, 6, 2.0, 1.5),
    (200, 6, 0.0, 2.0),
    (200, 6, 2.5, 1.0),
    (200, 6, 4.5, 1.5),
    (200, 12, 4.0, 1.5),
)
TERMS = ("intercept", "effect", "sd")


def studied(
    rng: np.random.Generator, items: int, answers: int, intercept: float, spread: float
) -> tuple[float, list[bool | None]]:
    """One study: the share of right answers, and whether each interval holds the truth; None: no interval."""
    item, asked = np.divmod(np.arange(items * answers), answers)
    treated = asked % 2
    odds = intercept + EFFECT * treated + rng.normal(0, spread, items)[item]
    right = rng.random(odds.size) < 1 / (1 + np.exp(-odds))
    frame = pl.DataFrame(
        {
            "item": item,
            "repeat": asked,
            "treatment": np.where(treated, "t", "control"),
            "label": np.where(right, "a", "b"),
            "gold": "a",
        }
    )
    found = mixed_effects(frame, formula="correct ~ treatment")
    true = (intercept, EFFECT, spread)
    held: list[bool | None] = []
    for one, value in zip(found[:3], true, strict=True):
        ends = one.interval if one.value is not None else None
        held.append(None if ends is None else bool(ends[0] <= value <= ends[1]))
    return float(right.mean()), held


def main(runs: int, seed: int) -> None:
    """Print the table."""
    print(f"| items × answers | sd | right | {' | '.join(TERMS)} | without an interval |")
    for setting in SETTINGS:
        items, answers, _, spread = setting
        rng = np.random.default_rng([seed, *(round(10 * one) for one in setting)])
        studies = [studied(rng, *setting) for _ in range(runs)]
        cells, none = [], []
        for at in range(len(TERMS)):
            known = [held[at] for _, held in studies if held[at] is not None]
            cells.append(f"{100 * np.mean(known):.1f}%" if known else "–")
            none.append(f"{100 * (1 - len(known) / runs):.0f}%")
        right = f"{100 * np.mean([share for share, _ in studies]):.0f}%"
        row = f"{items} × {answers} | {spread:g} | {right} | {' | '.join(cells)}"
        print(f"| {row} | {', '.join(none)} |", flush=True)


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:]]
    main(given[0] if given else 200, given[1] if len(given) > 1 else 0)
