"""How often a gate fails that is run on 100 successive commits, with and without ``--anytime``.

Each look compares a version's answers to 1,000 items with the same baseline answers. ``redrawn``: every
version answers anew where the model wavers. ``edited``: a commit changes the answers to a few items, and the
others stay. ``loss``: at one of the looks the version loses three points, and nobody repairs it. The interval
is the jackknife's of a paired difference of accuracy, in groups of three items as for 1,000, with the caution
for few changed items. Run it as ``python benchmarks/looks.py [SEQUENCES [WORDS]]``, with words in the names
of the rows to take (``repeats``: how soon a loss is found where the baseline is asked several times); 100
sequences take 20 s a row.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from quaver.sequential.spent_error import Look, share_of_look, tail_of_look

ITEMS, LOOKS, GROUP = 1000, 100, 3
ERROR = 0.05
Floats = NDArray[np.float64]


class Found(NamedTuple):
    """What a sequence of looks found: the look that failed first, if any, fixed and ``--anytime``."""

    fixed: int | None
    anytime: int | None
    wider: float


def versions(
    rng: np.random.Generator, wavering: float, edited: float | None, repeats: tuple[int, int] = (1, 1)
) -> Floats:
    """Shares of right answers, shape (1 + looks, items); the first row is the baseline.

    Args:
        rng: Draws them.
        wavering: How many items differ between two versions that answer once, without a loss.
        edited: The share of items that a commit changes; None where every version answers anew.
        repeats: How often the baseline and each version are asked.
    """
    truth = rng.random(ITEMS) < 0.85
    if edited is None:
        shares = rng.binomial([[repeats[0]], *[[repeats[1]]] * LOOKS], wavering / 2, (1 + LOOKS, ITEMS))
        wrong = shares / np.array([[repeats[0]], *[[repeats[1]]] * LOOKS])
        return np.where(truth, 1 - wrong, wrong)
    flipped = rng.random((1 + LOOKS, ITEMS)) < wavering / 2
    stays = rng.random((1 + LOOKS, ITEMS)) >= edited
    for look in range(1, 1 + LOOKS):
        flipped[look] = np.where(stays[look], flipped[look - 1], flipped[look])
    return (truth ^ flipped).astype(float)


def lose(rng: np.random.Generator, right: Floats, look: int, points: float = 0.03) -> None:
    """From a look on, some answers that were right are wrong for good."""
    lost = (rng.random(ITEMS) < points / right[look].mean()) & (right[look:].mean(0) > 0.5)
    right[look:, lost] = 0


def sequence(right: Floats, planned: int = LOOKS) -> Found:
    """Compare every version with the baseline, in order."""
    fixed = anytime = None
    ratio, looks = [], list[Look]()
    for number, after in enumerate(right[1:], 1):
        change = after - right[0]
        sums = _sums(change)
        tail = tail_of_look(ERROR * share_of_look(number, planned), looks, -sums, 2_000)
        looks.append(Look(tail, -sums))
        ratio.append(student.ppf(tail, len(sums) - 1) / student.ppf(0.025, len(sums) - 1))
        if fixed is None and _fails(change, sums, 0.025):
            fixed = number
        if anytime is None and _fails(change, sums, tail):
            anytime = number
    return Found(fixed, anytime, float(np.mean(ratio)))


def _sums(change: Floats) -> Floats:
    """Of groups of items."""
    return change[: ITEMS - ITEMS % GROUP].reshape(-1, GROUP).sum(1)


def _fails(change: Floats, sums: Floats, tail: float) -> bool:
    changed = int((change != 0).sum())
    if 0.5**changed > tail:
        return False
    error = float(sums.std(ddof=1)) / len(sums) ** 0.5 / GROUP
    return bool(change.mean() - student.ppf(tail, len(sums) - 1) * error < 0)


CASES = (
    # how versions differ, share of items that waver, share that a commit changes, look of the loss
    ("redrawn, 2%", 0.02, None, None),
    ("redrawn, 5%", 0.05, None, None),
    ("redrawn, 10%", 0.10, None, None),
    ("edited, 5%", 0.05, 0.05, None),
    ("edited, 10%", 0.10, 0.02, None),
    ("nothing else, loss", 0.0, None, 60),
    ("redrawn, 1%, loss", 0.01, None, 60),
    ("redrawn, 2%, loss", 0.02, None, 60),
    ("redrawn, 5%, loss", 0.05, None, 60),
    ("edited, 2%, loss", 0.02, 0.05, 60),
    ("edited, 5%, loss", 0.05, 0.05, 60),
)


def row(runs: int, wavering: float, edited: float | None, loss: int | None) -> tuple[float, ...]:
    """Shares of sequences: failed (before the loss, if any), at the loss, within three, within ten."""
    rng = np.random.default_rng([runs, round(1e4 * wavering), round(1e4 * (edited or 0)), loss or 0])
    found = []
    for _ in range(runs):
        right = versions(rng, wavering, edited)
        if loss is not None:
            lose(rng, right, loss)
        found.append(sequence(right))
    last = LOOKS if loss is None else loss - 1
    shares = []
    for name in ("fixed", "anytime"):
        first = [getattr(one, name) for one in found]
        shares.append(np.mean([at is not None and at <= last for at in first]))
        if loss is not None:
            clean = [at for at in first if at is None or at >= loss]
            shares += [np.mean([at is not None and at < loss + more for at in clean]) for more in (1, 3, 10)]
    return (*shares, np.mean([one.wider for one in found]))


REPEATED = (
    # share of items that waver, how often the baseline and each version are asked
    (0.02, (1, 1)),
    (0.02, (5, 1)),
    (0.05, (1, 1)),
    (0.05, (5, 1)),
    (0.05, (10, 2)),
    (0.10, (10, 3)),
)


def found_with(runs: int, wavering: float, repeats: tuple[int, int], look: int = 60) -> tuple[float, ...]:
    """Shares of runs that find the loss at its look, within three looks and within ten.

    What each look is judged by comes from five sequences without a loss.
    """
    seed, last = [round(1e4 * wavering), *repeats], look + 9
    shares = np.zeros(3)
    for number in range(5):
        right = versions(np.random.default_rng([number, *seed]), wavering, None, repeats)
        judged = list[Look]()
        for at in range(1, last + 1):
            sums = -_sums(right[at] - right[0])
            judged.append(Look(tail_of_look(ERROR * share_of_look(at, LOOKS), judged, sums, 1_000), sums))
        for run in range(runs // 5):
            rng = np.random.default_rng([number, run, *seed])
            right = versions(rng, wavering, None, repeats)
            lose(rng, right, look)
            changes = [(right[at] - right[0], judged[at - 1].tail) for at in range(look, last + 1)]
            fails = [_fails(change, _sums(change), tail) for change, tail in changes]
            shares += [any(fails[:1]), any(fails[:3]), any(fails)]
    return tuple(shares / (runs // 5 * 5))


if __name__ == "__main__":
    sequences = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    for name, *case in (one for one in CASES if wanted in one[0]):
        print(name, *(f"{share:.3f}" for share in row(sequences, *case)), flush=True)
    for waver, asked in REPEATED if wanted in ("", "repeats") else ():
        found = found_with(5 * sequences, waver, asked)
        print(f"{waver:.0%}, repeats {asked}", *(f"{share:.3f}" for share in found), flush=True)
