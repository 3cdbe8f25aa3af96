"""How many labels `accept` accepts, and how often it breaks its promise: the table in docs/simulations.md.

Usage: python benchmarks/accepted.py [studies [promise]]
       python benchmarks/accepted.py alike [promise]

Each study has items of three labels, labelled by eight prompts that err more on hard items and share part of
their errors, with a token confidence that is noisy and too high. Errors are independent of everything else,
or come on top in one class or one group, where all prompts share them. People check a gold sample drawn by
design. A line is one kind of study: for each score the share of open labels that is accepted, and the share
of studies in which more of these than promised are wrong. ``one prompt`` is what one prompt's labels and its
token confidence alone give; ``confidence`` the mean confidence over all prompts. With ``alike``, all labels
are equally sure, and all are accepted or none: how often they are, and how often wrongly, is exact.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from quaver.acceptance.item_scores import ItemEvidence, scored
from quaver.acceptance.selection import Candidates, exact_p, select
from quaver.estimation.jackknife import one_thread
from quaver.gold.gold_draw import drawn, first_draw

PROMPTS, LABELS, GROUPS = 8, 3, 4
SCORES = ("agreement", "learned")


class Kind(NamedTuple):
    """A kind of study: how able prompts are, and how items are drawn."""

    able: float
    errors: str
    gold: int
    items: int
    design: str


KINDS = (
    Kind(2.5, "independent", 200, 2000, "simple"),
    Kind(2.5, "more in one class", 500, 2000, "simple"),
    Kind(3.2, "independent", 100, 1000, "simple"),
    Kind(2.0, "more in one group", 300, 3000, "simple"),
    Kind(4.5, "more in one class", 200, 5000, "simple"),
    Kind(2.5, "independent", 300, 2000, "more where prompts disagree"),
    Kind(2.0, "more in one class", 500, 3000, "more where prompts disagree"),
    Kind(2.5, "more in one group", 300, 2000, "as many of each label"),
    Kind(1.2, "independent", 500, 3000, "simple"),
    Kind(0.55, "independent", 500, 3000, "simple"),
)


def answers(rng: np.random.Generator, kind: Kind) -> tuple[Any, Any, Any, Any]:
    """True labels, groups, and each prompt's label and token confidence."""
    shape = (kind.items, PROMPTS)
    able = kind.able - rng.normal(0, 1.6, kind.items)
    bent = rng.normal(0, 0.4, PROMPTS)
    true = rng.integers(0, LABELS, kind.items)
    lure = (true + rng.integers(1, LABELS, kind.items)) % LABELS  # the wrong label that an item invites
    right = rng.random(shape) < special.expit(able[:, None] + bent + rng.normal(0, 0.7, shape))
    wrong = np.where(rng.random(shape) < 0.75, lure[:, None], rng.integers(0, LABELS, shape))
    label = np.where(right, true[:, None], wrong)
    confidence = special.expit(1.5 + 0.8 * np.abs(able[:, None]) + rng.normal(0, 1.2, shape))
    group = rng.integers(0, GROUPS, kind.items)
    if kind.errors == "more in one class":
        misread = (true == 0) & (rng.random(kind.items) < 0.12)
    elif kind.errors == "more in one group":
        misread = (group == 0) & (rng.random(kind.items) < 0.15)
    else:
        misread = np.zeros(kind.items, bool)
    label = np.where(misread[:, None], (label + 1) % LABELS, label)  # by every prompt alike
    return true, group, label, confidence


def drawn_by_design(rng: np.random.Generator, kind: Kind, modal: Any, agreement: Any) -> tuple[Any, Any]:
    """Which items people check, and how likely each was to be checked."""
    ids = [str(at) for at in range(kind.items)]
    seed = int(rng.integers(2**31))
    if kind.design == "simple":
        draw = drawn(first_draw(ids), kind.gold, seed)
    elif kind.design == "more where prompts disagree":
        strata = np.where(agreement < 1, "split", "agreed")
        draw = drawn(first_draw(ids, strata.tolist()), kind.gold, seed, worth=1.1 - agreement)
    else:
        sizes = np.bincount(modal, minlength=LABELS)
        draw = drawn(first_draw(ids, modal.astype(str).tolist()), kind.gold, seed, worth=1 / sizes[modal])
    return draw["drawn"].to_numpy(), draw["probability"].to_numpy()


def evidence(rng: np.random.Generator, kind: Kind) -> tuple[ItemEvidence, Any]:
    """What a study knows of all prompts' labels; the true labels."""
    true, group, label, confidence = answers(rng, kind)
    counts = np.stack([(label == code).sum(1) for code in range(LABELS)], 1)
    modal = counts.argmax(1)
    agreement = counts.max(1) / PROMPTS
    sure = np.where(label == modal[:, None], confidence, (1 - confidence) / (LABELS - 1)).mean(1)
    checked, probability = drawn_by_design(rng, kind, modal, agreement)
    every = ItemEvidence(
        items=np.arange(kind.items).astype(str),
        label=modal.astype(str),
        agreement=agreement,
        confidence=sure,
        gold=true.astype(str),
        checked=checked,
        waiting=np.zeros(kind.items, bool),
        probability=probability,
        groups={"group": group.astype(str)},
    )
    return every, true.astype(str)


def accepted(found: ItemEvidence, true: Any, score: Any, promise: float, seed: int) -> tuple[float, bool]:
    """The share of open labels that is accepted, and whether more of these are wrong than promised."""
    scores = scored(found, seed) if score == "learned" else found.agreement
    candidates = Candidates(scores, found.checked, found.wrong, found.probability)
    open_labels = select(candidates, promise, 0.05) & ~found.checked
    wrong = (found.label != true)[open_labels]
    return open_labels.sum() / (~found.checked).sum(), bool(wrong.size and wrong.mean() > promise)


@one_thread()
def main(studies: int = 500, promise: float = 0.05) -> None:
    """Print the table."""
    print("| labels | gold sample |", " | ".join(SCORES), "|")
    for number, kind in enumerate(KINDS):
        found: dict[str, list[tuple[float, bool]]] = {name: [] for name in SCORES}
        right = []
        for study in range(studies):
            every, true = evidence(np.random.default_rng([number, study]), kind)
            right.append((every.label == true).mean())
            for name in SCORES:
                found[name].append(accepted(every, true, name, promise, study))
        cells = [f"{np.mean(some, 0)[0]:.1%} / {np.mean(some, 0)[1]:.1%}" for some in found.values()]
        about = f"{np.mean(right):.0%} right, errors {kind.errors}"
        print(
            f"| {about} | {kind.gold} of {kind.items:,}, {kind.design} |",
            " | ".join(cells),
            "|",
            flush=True,
        )


def alike(promise: float = 0.05) -> None:
    """Print how often labels that are equally sure are accepted, and how often wrongly."""
    print("| labels, checked | wrong | accepted | promise broken | broken, of the accepted |")
    for labels, checked in ((1500, 200), (20_000, 300), (20_000, 1000)):
        for share in (0.02, 0.03, 0.04, 0.045, 0.05, 0.051, 0.055, 0.06, 0.07):
            bad = round(share * labels)
            found = np.arange(min(checked, bad) + 1)  # so many of the checked labels are wrong
            whole, drawn = np.full(found.size, labels), np.full(found.size, checked)
            chance = stats.hypergeom.pmf(found, labels, bad, checked)
            passes = exact_p(found, drawn, whole, promise) <= 0.05
            broken = (bad - found) / (labels - checked) > promise + 1e-12
            taken, wrongly = chance[passes].sum(), chance[passes & broken].sum()
            cells = f"{taken:.1%} | {wrongly:.1%} | {wrongly / taken:.0%}"
            print(f"| {labels:,}, {checked:,} | {share:.1%} | {cells} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["alike"]:
        alike(*map(float, sys.argv[2:]))
        sys.exit()
    main(*(kind(text) for kind, text in zip((int, float), sys.argv[1:], strict=False)))
