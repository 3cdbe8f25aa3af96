"""Answers as right, wrong or not asked: what accuracy, calibration and robustness count."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing, checked


class Judged(NamedTuple):
    """Which answers count, and which of them are right.

    Attributes:
        right: True where the label is the item's gold label, shape (items, strata, raters).
        asked: True where the answer counts, the same shape.
        excluded: What does not count, by kind.
        reason: Why nothing counts; None where something does.
    """

    right: NDArray[np.bool_]
    asked: NDArray[np.bool_]
    excluded: dict[str, int]
    reason: str | None


def treatment(missing: Missing) -> str:
    """How the unanswered are treated, in words.

    Raises:
        MeasureError: It is not a treatment that correctness knows.
    """
    return "counted wrong" if checked(missing, ("wrong", "drop")) == "wrong" else "left out"


def judge(cell: Cell, missing: Missing = "wrong") -> Judged:
    """Judge a cell's answers by its gold labels.

    Args:
        cell: Read with ``gold=True``.
        missing: ``"wrong"``: an answer without a label counts as wrong; ``"drop"``: it does not count.
    """
    gold = np.full(len(cell.items), -1) if cell.gold is None else cell.gold
    known = (gold >= 0)[:, None, None]
    answered = (cell.codes >= 0) & known
    asked = answered | (cell.unanswered & known) if missing == "wrong" else answered
    excluded = {"item without gold": int((~known).sum())} if not known.all() else {}
    if missing == "drop" and (bare := int((cell.unanswered & known).sum())):
        excluded["unanswered"] = bare
    reason = None
    if not asked.any():
        reason = "no annotations" if not cell.items else "no gold labels" if not known.any() else "no answers"
    return Judged((cell.codes == gold[:, None, None]) & answered, asked, excluded, reason)
