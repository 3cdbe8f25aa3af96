"""How often a recommendation is wrong: simulated studies whose truth is known, drawn again and again.

Run ``python benchmarks/recommendations.py [REPLICATIONS]``; the table is in docs/verdicts.md.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from quaver.core.records import Label, LabelSet
from quaver.measures.stability.flips import label_flips
from quaver.measures.stability.prompt_choice import prompt_choice
from quaver.measures.validity.answer_quality import answer_quality
from quaver.report.findings.recommendation import Recommendation, recommendations

FACTORS = ("paraphrase",)


@dataclass(frozen=True)
class Truth:
    """A study's truth.

    Attributes:
        items: How many texts.
        prompts: How many prompts.
        repeats: How often each prompt asks about a text.
        labels: The shares of the labels among the gold labels.
        wrong: The share of texts that every prompt labels wrong, in the same way.
        missed: The share of texts with another label than the first that every prompt gives the first.
        flips: The chance that a prompt labels a text anew, by prompt; one number for all.
        noise: The chance that a repeat is labelled anew.
        none: The chance that an answer has no label, by prompt.
        failed: The chance that a call fails.
        constant: Whether every answer is the first label.
        gold: Whether gold labels are known.
    """

    items: int = 100
    prompts: int = 5
    repeats: int = 2
    labels: tuple[float, ...] = (0.4, 0.3, 0.3)
    wrong: float = 0.0
    missed: float = 0.0
    flips: tuple[float, ...] = (0.0,)
    noise: float = 0.0
    none: tuple[float, ...] = (0.0,)
    failed: float = 0.0
    constant: bool = False
    gold: bool = True

    @property
    def label_set(self) -> LabelSet:
        """The labels, by their places."""
        return LabelSet(tuple(Label(f"l{at}", f"l{at}") for at in range(len(self.labels))))


def annotations(truth: Truth, rng: np.random.Generator) -> pl.DataFrame:
    """One study's annotations."""
    size = truth.items, truth.prompts, truth.repeats
    kinds = len(truth.labels)
    gold = rng.choice(kinds, truth.items, p=truth.labels)
    off = rng.random(truth.items) < truth.wrong
    stable = np.where(off, (gold + rng.integers(1, max(2, kinds), truth.items)) % kinds, gold)
    stable = np.where((gold > 0) & (rng.random(truth.items) < truth.missed), 0, stable)
    anew = rng.random(size[:2]) < np.broadcast_to(truth.flips, size[1])
    by_prompt = np.where(anew, rng.integers(0, kinds, size[:2]), stable[:, None])
    again = rng.random(size) < truth.noise
    codes = np.where(again, rng.integers(0, kinds, size), by_prompt[..., None])
    codes = codes * (not truth.constant)
    bare = rng.random(size) < np.broadcast_to(truth.none, size[1])[None, :, None]
    failed = rng.random(size) < truth.failed
    item, prompt, repeat = (index.ravel() for index in np.indices(size))
    names = np.array([f"l{at}" for at in range(kinds)])
    gone = (bare | failed).ravel()
    status = np.where(failed.ravel(), "error", np.where(bare.ravel(), "no_label", "valid"))
    return pl.DataFrame(
        {
            "model": pl.Series(["m"] * item.size),
            "decoding": pl.Series(["greedy"] * item.size),
            "item": item,
            "variant": np.char.add("p", prompt.astype(str)),
            "paraphrase": np.char.add("p", prompt.astype(str)),
            "repeat": repeat,
            "status": status,
            "truncated": np.zeros(item.size, bool),
            "label": pl.Series(names[codes.ravel()]).set(pl.Series(gone), None),
            "gold": pl.Series(names[gold[item]] if truth.gold else [None] * item.size, dtype=pl.String),
        }
    )


def recommended(truth: Truth, seed: int) -> Recommendation:
    """What is recommended for one simulated study."""
    frame = annotations(truth, np.random.default_rng(seed))
    labels = truth.label_set
    found = [
        *answer_quality(frame, FACTORS, resamples=2),
        *label_flips(frame, FACTORS, labels=labels, resamples=60),
        *prompt_choice(frame, labels=labels, resamples=2),
    ]
    (one,) = recommendations(found)
    return one


_GOOD = Truth(flips=(0.02,), wrong=0.03)
_BARE = replace(_GOOD, gold=False)
STUDIES: Mapping[str, tuple[Truth, tuple[str, ...]]] = {
    "good": (_GOOD, ("use",)),
    "good, without gold labels": (_BARE, ("use",)),
    "good, 40 texts": (replace(_GOOD, items=40), ("use", "cannot tell")),
    "perfect, 30 texts": (Truth(items=30), ("use",)),
    "good, one label of three rare": (
        replace(_GOOD, items=300, labels=(0.9, 0.05, 0.05), flips=(0.004,), wrong=0.005),
        ("use",),
    ),
    "follows the prompt": (replace(_GOOD, flips=(0.6,)), ("do not use",)),
    "follows the prompt, without gold labels": (replace(_BARE, flips=(0.6,)), ("do not use",)),
    "another label when asked again": (replace(_GOOD, noise=0.5), ("do not use",)),
    "no label in half of the answers": (replace(_GOOD, none=(0.55,)), ("do not use",)),
    "no label in a quarter of the answers": (replace(_GOOD, none=(0.25,)), ("do not use",)),
    "calls fail": (replace(_GOOD, failed=0.6), ("do not use",)),
    "stable and wrong": (replace(_GOOD, wrong=0.35), ("do not use",)),
    "one label always": (replace(_GOOD, constant=True), ("do not use",)),
    "one bad prompt of five": (replace(_BARE, flips=(0.02, 0.02, 0.7, 0.02, 0.02)), ("use one prompt only",)),
    "one bad prompt of five, with gold labels": (
        replace(_GOOD, flips=(0.02, 0.02, 0.7, 0.02, 0.02)),
        ("use one prompt only",),
    ),
    "one prompt of five without labels": (
        replace(_BARE, none=(0.0, 0.0, 0.9, 0.0, 0.0)),
        ("use one prompt only",),
    ),
    "one good prompt of five": (replace(_GOOD, flips=(0.6, 0.6, 0.02, 0.6, 0.6)), ("use one prompt only",)),
    "one good prompt of five, without gold labels": (
        replace(_BARE, flips=(0.6, 0.6, 0.02, 0.6, 0.6)),
        ("do not use",),
    ),
    "eight texts": (replace(_GOOD, items=8), ("cannot tell",)),
}

BORDER: Mapping[str, tuple[Truth, str]] = {
    "agreement 0.79, 60 texts": (replace(_BARE, items=60, wrong=0.0, flips=(0.111,)), "use"),
    "agreement 0.79, 200 texts": (replace(_BARE, items=200, wrong=0.0, flips=(0.111,)), "use"),
    "agreement 0.79, 20 prompts, 60 texts": (
        replace(_BARE, items=60, prompts=20, repeats=1, wrong=0.0, flips=(0.111,)),
        "use",
    ),
    "agreement 0.81, 200 texts": (replace(_BARE, items=200, wrong=0.0, flips=(0.1,)), "do not use"),
    "20% wrong, 30 texts": (Truth(items=30, wrong=0.2), "use"),
    "20% wrong, 100 texts": (Truth(wrong=0.2), "use"),
    "10% wrong, 30 texts": (Truth(items=30, wrong=0.1), "do not use"),
    "10% wrong, 100 texts": (Truth(wrong=0.1), "do not use"),
    "five prompts alike, 12% of labels at random, 100 texts": (
        replace(_GOOD, flips=(0.12,)),
        "use one prompt only",
    ),
    "five prompts alike, 25% of labels at random, 40 texts": (
        replace(_GOOD, items=40, flips=(0.25,)),
        "use one prompt only",
    ),
    "twenty prompts alike, 12% of labels at random, 40 texts": (
        replace(_GOOD, prompts=20, items=40, repeats=1, flips=(0.12,)),
        "use one prompt only",
    ),
    "twenty prompts alike, 12%, 40 texts, without gold labels": (
        replace(_BARE, prompts=20, items=40, repeats=1, flips=(0.12,)),
        "use one prompt only",
    ),
    "one label in twenty, which is missed two times in three": (
        Truth(items=400, labels=(0.95, 0.05), missed=0.67),
        "use",
    ),
    "10% of the answers without a label": (replace(_GOOD, none=(0.1,)), "do not use"),
}
"""Studies on the border of a rule, and the recommendation that would be wrong."""


def shares(truth: Truth, replications: int) -> Counter[str]:
    """How often each kind is recommended."""
    return Counter(recommended(truth, seed).kind for seed in range(replications))


def main(replications: int) -> None:
    """Print both tables: studies on the border of a rule, and studies with a clear truth."""
    for name, (truth, error) in BORDER.items():
        found = shares(truth, replications)
        wrong = 100 * found[error] / replications
        print(f"| {name} | {_percent(found)} | {error}: {wrong:.3g}% |", flush=True)
    for name, (truth, right) in STUDIES.items():
        found = shares(truth, replications)
        wrong = 100 * sum(found[kind] for kind in found if kind not in (*right, "cannot tell")) / replications
        print(f"| {name} | {' or '.join(right)} | {_percent(found)} | {wrong:.3g}% |", flush=True)


def _percent(found: Counter[str]) -> str:
    total = found.total()
    return ", ".join(f"{kind} {100 * count / total:.3g}%" for kind, count in found.most_common())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
