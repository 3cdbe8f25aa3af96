"""How often sign flips reject what is true, where prompts differ in their noise and items come in groups.

    python benchmarks/sign_flips.py [REPLICATIONS]

`distribution_shift` against a reference and against the others together, `spread` and `label_shift`, at 5%:
eight prompts have the same true shares and differ in their noise; then one of them moves a part of the
labels.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import polars as pl
from machine import machine

from quaver.core.records import Label, LabelSet
from quaver.measures import distribution_shift, spread
from quaver.measures.evidence.verdict_evidence import verdict_evidence

TESTED = ("distribution_shift_tv", "spread", "label_shift")
SHARES = (0.5, 0.3, 0.2)


class Setting(NamedTuple):
    """Eight prompts: how many are noisy, in groups of how many items, and what part the first moves."""

    name: str
    items: int
    noisy: int
    group: int = 1
    moved: float = 0.0


SETTINGS = (
    Setting("equal noise", 100, 0),
    Setting("one noisy prompt", 100, 1),
    Setting("two noisy prompts", 30, 2),
    Setting("20 groups of 10, one noisy prompt", 200, 1, 10),
    Setting("10 groups of 10, two noisy prompts", 100, 2, 10),
    Setting("a prompt moves 15%", 100, 0, 1, 0.15),
    Setting("20 groups of 10, a prompt moves 15%", 200, 0, 10, 0.15),
)


def study(setting: Setting, rng: np.random.Generator) -> pl.DataFrame:
    """Labels that each prompt draws afresh for some groups: a noisy prompt for most of them."""
    groups = setting.items // setting.group
    noise = np.where(np.arange(8) < setting.noisy, 0.7, 0.1)
    again = rng.random((groups, 8)) < noise
    drawn = rng.choice(3, (groups, 8), p=SHARES)
    codes = np.where(again, drawn, rng.choice(3, (groups, 1), p=SHARES)).repeat(setting.group, 0)
    codes[rng.random(setting.items) < setting.moved, 0] = 2
    item, prompt = np.indices(codes.shape)
    names = np.array(["a", "b", "c"])
    return pl.DataFrame(
        {
            "item": item.ravel(),
            "author": item.ravel() // setting.group,
            "variant": prompt.ravel(),
            "model": "m",
            "decoding": "d",
            "label": names[codes.ravel()],
            "gold": "c",
        }
    )


def rejections(setting: Setting, replications: int, rng: np.random.Generator) -> list[str]:
    """The share of p values up to 5%: of both shifts, spread and label shift."""
    group = "author" if setting.group > 1 else None
    labels = LabelSet(tuple(Label(code, code) for code in "abc"))
    found = []
    for seed in range(replications):
        frame = study(setting, rng)
        options = {"labels": labels, "group": group, "seed": seed}
        shift = [
            distribution_shift(frame, reference=reference, resamples=400, **options)[0]
            for reference in ("1", None)
        ]
        flips = verdict_evidence(frame, ["variant"], **options)
        shown = [*shift, *spread(frame, resamples=400, **options), *flips]
        found.append([one.details["p"] <= 0.05 for one in shown if one.measure in TESTED])
    return [f"{100 * share:.1f}%" for share in np.mean(found, 0)]


def main() -> None:
    """Print the table."""
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    rng = np.random.default_rng(1)
    print(f"{machine()}; {replications} replications; up to 0.05")
    print("| setting | shift, a reference | shift, the others | spread | label shift |")
    print("| --- | --- | --- | --- | --- |")
    for setting in SETTINGS:
        print(f"| {setting.name} | {' | '.join(rejections(setting, replications, rng))} |", flush=True)


if __name__ == "__main__":
    main()
