"""What the prompts' labels say about each item before a person labels it: its likely label, and how sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from quaver.gold.permanent_numbers import Floats

_INDEPENDENT = 4
"""Prompts of one model err together: however many there are, they count as at most this many."""

SPLIT = 0.75
"""An item's prompts are split where fewer than this share of its answers give the most frequent label."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """The prompts' labels of each item, as probabilities.

    Attributes:
        items: The ids.
        labels: The codes.
        shares: The share of an item's valid answers that give each label, shape (items, labels); 0 in all
            where it has none.
        answers: How many answers an item has a label from.
    """

    items: Sequence[str]
    labels: Sequence[str]
    shares: Floats
    answers: Floats

    @property
    def probabilities(self) -> Floats:
        """The probability of each label: the shares, drawn towards equal ones.

        ``p = (m · share + 1 / L) / (m + 1)`` with ``m`` answers (4 at most) and ``L`` labels, so that
        a label on which eight prompts agree still counts as wrong at times.
        """
        weight = np.minimum(self.answers, _INDEPENDENT)[:, None]
        probabilities: Floats = (weight * self.shares + 1 / len(self.labels)) / (weight + 1)
        return probabilities

    @property
    def doubt(self) -> Floats:
        """For each item, the standard deviation that is expected of its residual, over all labels."""
        doubt: Floats = np.sqrt(np.maximum(1 - (self.probabilities**2).sum(1), 0.0))
        return doubt

    @property
    def modal(self) -> list[str]:
        """Each item's most frequent label; ``no label`` where it has none."""
        most = self.shares.argmax(1)
        return [
            self.labels[at] if n else "no label" for at, n in zip(most.tolist(), self.answers, strict=True)
        ]

    @property
    def disagreement(self) -> list[str]:
        """Whether the answers about each item are ``agreed`` or ``split``."""
        agreed = (self.shares.max(1, initial=0.0) >= SPLIT).tolist()
        return ["agreed" if one else "split" for one in agreed]


def predicted_labels(
    annotations: pl.DataFrame | None,
    items: Sequence[str],
    labels: Sequence[str],
    evaluator: str | None = None,
) -> Predicted:
    """Count the labels that the prompts of a study gave to each item.

    Args:
        annotations: The annotation frame; None before anything is collected.
        items: The items, in the order that is wanted.
        labels: The label set's codes.
        evaluator: Whose reading; the first evaluator's by default.

    Returns:
        Each item's labels; items without answers have none.
    """
    counts = np.zeros((len(items), len(labels)))
    if annotations is not None and annotations.height:
        first = evaluator or annotations["evaluator"].cast(pl.String)[0]
        counted = (
            annotations.filter(pl.col("label").is_not_null() & (pl.col("evaluator").cast(pl.String) == first))
            .group_by(pl.col("item").cast(pl.String), pl.col("label").cast(pl.String))
            .len()
        )
        rows = pl.DataFrame({"item": list(items)}, schema={"item": pl.String}).with_row_index("row")
        columns = pl.DataFrame({"label": list(labels)}, schema={"label": pl.String}).with_row_index("column")
        there = counted.join(rows, on="item").join(columns, on="label")
        counts[there["row"].to_numpy(), there["column"].to_numpy()] = there["len"].to_numpy()
    answers: Floats = counts.sum(1)
    shares = counts / np.maximum(answers, 1)[:, None]
    return Predicted(list(items), list(labels), shares, answers)
