"""How often the labels are the true ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.encoding import Ints
from quaver.estimation.means import share_of
from quaver.estimation.reading import judge, treatment
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING


@measure(
    title="How often the label is correct: accuracy, beside what guessing gives",
    axis="share of correct answers",
    section="accuracy",
    unit="share",
    better="higher",
    source="Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, section 8.3",
    missing=("wrong", "drop"),
    raters=ASKING,
    gold=True,
    estimands=("fixed", "population", "next"),
)
def accuracy(cell: Cell, *, missing: Missing) -> Iterator[Statistic]:
    """The share of answers whose label is the item's gold label, beside what guessing would give.

    Accuracy = right answers / answers about items with a gold label. In ``details``: ``chance`` (one over
    the number of labels), ``majority`` (the share of these items that have the most frequent gold label,
    ``majority_label``), and the accuracy under the other treatment of answers without a label. Undefined
    where no item has a gold label or nothing was answered.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", None, "a", "b"], "gold": list("aaab")})
    >>> found = accuracy(frame)[0]
    >>> found.value, found.details["chance"], found.details["majority"], found.details["left_out"]
    (0.75, 0.5, 0.75, 1.0)
    """
    judged = judge(cell, missing)
    right, asked = judged.right.sum((1, 2)), judged.asked.sum((1, 2))
    said = Statistic(
        method=f"share of right answers, unanswered {treatment(missing)}",
        excluded=judged.excluded,
        reason=judged.reason,
        details=_beside(cell, asked, int(right.sum())) if asked.any() else {},
    )
    yield share_of(cell, right, asked, said)


def _beside(cell: Cell, asked: Ints, right: int) -> dict[str, Any]:
    """What guessing gives, and the accuracy under either treatment of answers without a label."""
    gold = np.full(len(cell.items), -1) if cell.gold is None else cell.gold
    known = gold >= 0
    answered, bare = (int(marked[known].sum()) for marked in (cell.codes >= 0, cell.unanswered))
    truths = np.bincount(gold[known & (asked > 0)], minlength=len(cell.labels))
    return {
        "chance": 1 / len(cell.labels),
        "majority": float(truths.max() / truths.sum()),
        "majority_label": cell.labels[int(truths.argmax())],
        "answers": int(asked.sum()),
        "unanswered": bare,
        "counted_wrong": right / (answered + bare),
        "left_out": right / answered if answered else None,
    }
