"""Evaluators that read the same answers differently: what that changes.

The answers are the same, so every comparison is paired, answer by answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import Estimate
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.declaration import measure
from quaver.estimation.means import share_of
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING

WORTH_A_WARNING: Final = 0.05
"""Two evaluators that read more than this share of the answers differently get a warning."""

_FLIPS = ("same", "gained", "lost", "changed")


@measure(compares=("evaluator",), pairs_evaluators=True)
def evaluator_flips(
    data: MeasureInput, *, first: str | None = None, second: str | None = None
) -> Iterator[Estimate]:
    """Which answers a second evaluator reads differently from a first, and how accuracy changes.

    With a the label that the first reads in an answer and b the second's, the answer is *same* (a = b, or
    neither reads one), *gained* (no a, but b), *lost* (a, but no b) or *changed* (both, and a ≠ b). For each
    cell and pair of evaluators there are three estimates:

    - ``evaluator_flips``: (gained + lost + changed) / answers; ``details`` hold the four counts. More than
      5% gets a warning;
    - ``evaluator_flips_accuracy_gain``: the second's accuracy less the first's, paired, right answers /
      answers with a gold label, no label being wrong; ``details`` hold both;
    - ``evaluator_flips_newly_wrong``: of the answers that were right by the first, the share that is wrong
      by the second.

    Undefined where there are no two evaluators, no gold labels (the last two), or no answer was right
    by the first (the last). Only answers that both have read count. ``by`` cannot hold the evaluator.
    Intervals resample items.

    Args:
        first: The first evaluator; by default the first by name, in a study the study's first.
        second: The second; by default each of the others in turn.

    Returns:
        Three estimates for each cell and pair; the cell holds ``first`` and ``second``.

    Raises:
        UnknownName: An evaluator has no rows.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": list("uvwx") * 2, "gold": list("abab") * 2,
    ...     "evaluator": ["x"] * 4 + ["y"] * 4, "label": ["a", None, "a", "b", "b", "b", "a", None]})
    >>> found = evaluator_flips(frame, resamples=0)
    >>> for one in found:
    ...     print(one.measure.removeprefix("evaluator_flips"), round(one.value, 3))
     0.75
    _accuracy_gain -0.25
    _newly_wrong 0.667
    >>> {kind: found[0].details[kind] for kind in _FLIPS}
    {'same': 1, 'gained': 1, 'lost': 1, 'changed': 1}
    """
    parts = data.cells(raters=("evaluator",), within=ASKING, gold=True)
    pairs = pairs_of(parts, first, second)
    for cell in parts:
        if not pairs:
            yield cell.estimated(
                Statistic(method="two evaluators compared", n=0, reason="fewer than two evaluators")
            )
        for one, other in pairs:
            yield from map(cell.estimated, _compared(cell, one, other))


def pairs_of(parts: Sequence[Cell], first: str | None, second: str | None) -> list[tuple[str, str]]:
    """The evaluators to compare: a first one with one or all of the others."""
    names = sorted({name for cell in parts for name in cell.raters})
    for role, name in (("first", first), ("second", second)):
        if name is not None and name not in names:
            every = " ".join(f"--evaluator {each}" for each in (*names, name))
            fix = f"read the answers with it, too: `quaver rescore STUDY {every}`"
            raise UnknownName("evaluator", name, names, where=role, fix=fix)
    if first is not None and first == second:
        raise MeasureError(
            "an evaluator is compared with itself", where="second", expected="another", found=first
        )
    reference = first or next((name for name in names if name != second), None)
    others = [second] if second else [name for name in names if name != reference]
    return [(reference, other) for other in others] if reference else []


def _compared(cell: Cell, first: str, second: str) -> Iterator[Statistic]:
    """The labels that two evaluators read in the answers that both have read."""
    (a, read_a), (b, read_b) = labels_by(cell, first), labels_by(cell, second)
    both, unpaired = read_a & read_b, int((read_a ^ read_b).sum())
    kinds = (a == b, (a < 0) & (b >= 0), (a >= 0) & (b < 0), (a >= 0) & (b >= 0) & (a != b))
    counts = {kind: int((marked & both).sum()) for kind, marked in zip(_FLIPS, kinds, strict=True)}
    shape = Statistic(
        method="share of the answers that the two evaluators read differently",
        reason="no answer was read by both",
        where={"first": first, "second": second},
        excluded={"read by one evaluator alone": unpaired},
    )
    flips = _share(cell, shape, both & (a != b), both, counts)
    differently = 1 - counts["same"] / max(1, int(both.sum()))
    if both.any() and differently > WORTH_A_WARNING:
        warning = (
            f"{first} and {second} read {differently:.1%} of the answers differently: "
            f"more than {WORTH_A_WARNING:.0%}"
        )
        flips = replace(flips, warnings=(warning,))
    yield flips
    gold = cell.gold_codes[:, None]
    judged = both & (gold >= 0)
    was, now = judged & (a == gold), judged & (b == gold)
    gain = replace(
        shape,
        part="_accuracy_gain",
        method="accuracy by the second evaluator less that by the first, paired, no label counted wrong",
        reason="no gold labels" if both.any() else shape.reason,
    )
    right = {"first": was, "second": now}
    shares = {name: float(some.sum() / judged.sum()) for name, some in right.items() if judged.any()}
    yield _share(cell, gain, now.astype(int) - was, judged, shares, -1.0)
    newly = replace(
        gain,
        part="_newly_wrong",
        method="share of the answers right by the first evaluator that are wrong by the second",
        reason="no answer was right by the first evaluator" if judged.any() else gain.reason,
    )
    yield _share(cell, newly, was & ~now, was, {})


def _share(
    cell: Cell,
    shape: Statistic,
    above: NDArray[Any],
    below: NDArray[Any],
    details: Mapping[str, float],
    low: float = 0.0,
) -> Statistic:
    """Σ above / Σ below over items."""
    counted = {**details, "answers": int(below.sum()), "counted": int(above.sum())}
    return share_of(cell, above.sum(1), below.sum(1), replace(shape, details=counted), low=low)


def labels_by(cell: Cell, evaluator: str) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """An evaluator's label codes in a cell whose raters are evaluators, and which answers it has read.

    Both of shape items × strata; a code is -1 where no label was read.
    """
    if evaluator not in cell.raters:
        shape = cell.codes.shape[:2]
        return np.full(shape, -1, np.int32), np.zeros(shape, bool)
    index = cell.raters.index(evaluator)
    return cell.codes[:, :, index], cell.rows[:, :, index] >= 0
