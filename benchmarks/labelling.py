"""What a second model for doubtful texts saves, and whether the promise holds (docs/simulations.md).

Usage: python benchmarks/labelling.py [studies [promise]]

A cheap model labels all texts with five prompts, and a dear one, at 25 times the price of a call, those on
which less than three quarters of the prompts agree. Texts are easier or harder for both; the dear model is
abler, and errs on its own or where the cheap one does. People label a sample, and labels are accepted for a
promise against people. A line is one kind of study: how many labels are right with the cheap model alone,
the dear one alone and both; the price beside the dear model's alone; the share of open labels that is
accepted with the cheap model and with both; and how often more of these than promised are wrong.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from quaver.acceptance.item_scores import ItemEvidence, scored
from quaver.acceptance.selection import Candidates, select
from quaver.estimation.bootstrap import one_thread
from quaver.gold.gold_draw import SPLIT, drawn, first_draw

PROMPTS, LABELS, PRICE = 5, 3, 25


class Kind(NamedTuple):
    """A kind of study.

    Attributes:
        cheap: How able the cheap model is, in log-odds of a right answer to a text of middle difficulty.
        dear: How much abler the dear one is.
        shared: The share of texts that both read wrongly, whatever the prompt.
        gold: Texts that people label.
        items: Texts.
        spread: How much the texts' difficulty differs.
        rare: The share of the first label; the others are equally frequent.
    """

    cheap: float
    dear: float
    shared: float
    gold: int
    items: int
    spread: float = 1.6
    rare: float = 1 / 3


KINDS = (
    Kind(1.9, 2.0, 0.0, 153, 2000),
    Kind(1.9, 1.0, 0.0, 153, 2000),
    Kind(1.9, 0.0, 0.0, 153, 2000),
    Kind(3.2, 1.5, 0.0, 153, 2000),
    Kind(4.5, 1.0, 0.0, 153, 5000),
    Kind(1.0, 2.5, 0.0, 300, 3000),
    Kind(1.9, 2.0, 0.03, 300, 3000),
    Kind(3.2, 1.5, 0.06, 300, 2000),
    Kind(1.9, 2.0, 0.0, 153, 2000, 3.0),
    Kind(1.9, 2.0, 0.0, 153, 2000, 0.5),
    Kind(2.5, 2.0, 0.0, 153, 2000, 1.6, 0.04),
    Kind(0.4, 1.0, 0.02, 300, 1000),
)


class Found(NamedTuple):
    """Of one study: shares of right labels, the price, and for the cheap model and both what is accepted."""

    cheap: float
    dear: float
    both: float
    price: float
    accepted_cheap: float
    broken_cheap: bool
    accepted_both: float
    broken_both: bool


def answers(rng: np.random.Generator, kind: Kind) -> tuple[Any, Any, Any]:
    """True labels, the cheap model's by prompt, and the dear one's."""
    others = (1 - kind.rare) / (LABELS - 1)
    true = rng.choice(LABELS, kind.items, p=[kind.rare, others, others])
    lure = (true + rng.integers(1, LABELS, kind.items)) % LABELS  # the wrong label that a text invites
    easy = rng.normal(0, kind.spread, kind.items)
    misread = rng.random(kind.items) < kind.shared

    def labels(able: float, prompts: int) -> Any:
        odds = able + easy[:, None] + rng.normal(0, 0.4, prompts) + rng.normal(0, 0.7, (kind.items, prompts))
        right = (rng.random(odds.shape) < special.expit(odds)) & ~misread[:, None]
        any_other = (true[:, None] + rng.integers(1, LABELS, odds.shape)) % LABELS
        wrong = np.where(rng.random(odds.shape) < 0.75, lure[:, None], any_other)
        return np.where(right, true[:, None], wrong)

    return true, labels(kind.cheap, PROMPTS), labels(kind.cheap + kind.dear, 1)[:, 0]


def one_study(rng: np.random.Generator, kind: Kind, promise: float, seed: int) -> Found:
    """A study labelled by the cheap model alone and by both, with the same people's labels."""
    true, cheap, dear = answers(rng, kind)
    counts = np.stack([(cheap == code).sum(1) for code in range(LABELS)], 1)
    modal, agreement = counts.argmax(1), counts.max(1) / PROMPTS
    doubtful = agreement < SPLIT
    strata = np.char.add(modal.astype(str), np.where(doubtful, " split", ""))
    draw = drawn(first_draw([str(at) for at in range(kind.items)], strata), kind.gold, seed)
    known = draw["drawn"].to_numpy(), draw["probability"].to_numpy()
    both = np.where(doubtful, dear, modal)
    alone = accepted(true, modal, agreement, known, promise, seed)
    votes = (np.take_along_axis(counts, dear[:, None], 1)[:, 0] + 1) / (
        PROMPTS + 1
    )  # the dear one's is one more
    together = accepted(true, both, np.where(doubtful, votes, agreement), known, promise, seed)
    return Found(
        float((modal == true).mean()),
        float((dear == true).mean()),
        float((both == true).mean()),
        PROMPTS / PRICE + float(doubtful.mean()),
        *alone,
        *together,
    )


def accepted(
    true: Any, label: Any, agreement: Any, known: tuple[Any, Any], promise: float, seed: int
) -> tuple[float, bool]:
    """The share of open labels that is accepted, and whether more of these are wrong than promised."""
    checked, probability = known
    found = ItemEvidence(
        items=np.arange(true.size).astype(str),
        label=label.astype(str),
        agreement=agreement,
        confidence=np.full(true.size, np.nan),
        gold=true.astype(str),
        checked=checked,
        waiting=np.zeros(true.size, bool),
        probability=probability,
        groups={},
    )
    candidates = Candidates(scored(found, "learned", seed), checked, found.wrong, probability)
    taken = select(candidates, promise, 0.05).accepted & ~checked
    wrong = (label != true)[taken]
    return float(taken.sum() / (~checked).sum()), bool(wrong.size and wrong.mean() > promise)


@one_thread()
def main(studies: int = 300, promise: float = 0.05) -> None:
    """Print the table."""
    print(
        "| texts | labelled by people | cheap right | dear right | both right | price of both "
        "| accepted, cheap | broken | accepted, both | broken |"
    )
    print("|" + " --- |" * 10)
    for number, kind in enumerate(KINDS):
        found = [
            one_study(np.random.default_rng([number, one]), kind, promise, one) for one in range(studies)
        ]
        mean = Found(*np.mean(found, 0))
        cells = [f"{mean.cheap:.0%}", f"{mean.dear:.0%}", f"{mean.both:.0%}", f"{mean.price:.2f}"]
        cells += [f"{mean.accepted_cheap:.0%}", f"{mean.broken_cheap:.1%}"]
        cells += [f"{mean.accepted_both:.0%}", f"{mean.broken_both:.1%}"]
        print(f"| {kind.items:,} | {kind.gold} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, float), sys.argv[1:], strict=False)))
