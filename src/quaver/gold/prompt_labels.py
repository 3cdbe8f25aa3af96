"""What the prompts' labels say about each item before a person labels it: its likely label, and how sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from quaver.core.annotations import ANNOTATION_COLUMNS, GOLD_COLUMNS
from quaver.gold.gold_draw import Floats

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


def with_gold(
    annotations: pl.DataFrame,
    known: Mapping[str, str | None],
    draw: pl.DataFrame | None,
    gold: Mapping[str, str],
    apart: Mapping[str, str],
) -> pl.DataFrame:
    """Annotations with the gold labels and the draw that a study has now.

    A drawn item's gold label is the one that its coders settled on, and null until they have, whatever other
    label it came with: a label that was there because the item is easy, or hard, is no part of the sample.

    Args:
        annotations: The annotation frame.
        known: The gold labels that the items came with.
        draw: The draw; None where nothing was drawn.
        gold: The gold labels of drawn items.
        apart: The labels of items that were chosen in another way.
    """
    items = pl.DataFrame(
        {"item": list(known), "gold": [apart.get(item, label) for item, label in known.items()]},
        schema={"item": pl.String, "gold": pl.String},
    )
    if draw is None:
        empty = {
            name: pl.Series([None] * items.height, dtype=ANNOTATION_COLUMNS[name])
            for name in GOLD_COLUMNS[1:]
        }
        items = items.with_columns(**empty)
    else:
        coded = pl.DataFrame(
            {"item": list(gold), "coded": list(gold.values())}, schema={"item": pl.String, "coded": pl.String}
        )
        renamed = draw.rename({name: f"gold_{name}" for name in draw.columns if name != "item"})
        joined = items.join(renamed, on="item", how="left").join(coded, on="item", how="left")
        own = pl.when(pl.col("gold_drawn").fill_null(False)).then("coded").otherwise("gold")
        items = joined.with_columns(gold=own).drop("coded")
    columns = items.select("item", *(pl.col(name).cast(ANNOTATION_COLUMNS[name]) for name in GOLD_COLUMNS))
    order = annotations.columns
    bare = annotations.drop(name for name in GOLD_COLUMNS if name in order)
    keyed = bare.with_columns(pl.col("item").cast(pl.String).alias("item"))
    joined = keyed.join(columns, on="item", how="left", maintain_order="left")
    kind = annotations.schema["item"]
    return joined.with_columns(pl.col("item").cast(kind)).select(
        [*order, *(name for name in GOLD_COLUMNS if name not in order)]
    )


PREDICTED: Final = "predicted"
DISAGREEMENT: Final = "disagreement"
OTHER: Final = "the rest"
"""The stratum of those that are too small to get two labels each."""

_FEWEST = 2


def strata_of(
    by: Sequence[str], predicted: Predicted, columns: Mapping[str, Sequence[str]], n: float
) -> list[str]:
    """The stratum of each item.

    Args:
        by: What tells strata apart: ``predicted``, ``disagreement``, or one of the columns.
        predicted: The prompts' labels.
        columns: The items' groups by column, each in the items' order.
        n: The sample's size. Strata that would get fewer than two labels are joined.

    >>> from quaver.gold.prompt_labels import predicted_labels
    >>> nothing = predicted_labels(None, ["1", "2", "3", "4"], ["a", "b"])
    >>> strata_of(["party"], nothing, {"party": ["D", "D", "R", "R"]}, 4)
    ['party=D', 'party=D', 'party=R', 'party=R']
    """
    known = {**columns}
    if PREDICTED in by:
        known[PREDICTED] = predicted.modal
    if DISAGREEMENT in by:
        known[DISAGREEMENT] = predicted.disagreement
    if not by:
        return ["all"] * len(predicted.items)
    parts = [[f"{name}={value}" for value in known[name]] for name in by]
    strata = [", ".join(row) for row in zip(*parts, strict=True)]
    sizes = Counter(strata)
    small = {name for name, size in sizes.items() if size * n < _FEWEST * len(strata)}
    return strata if len(small) < 2 else [OTHER if name in small else name for name in strata]
