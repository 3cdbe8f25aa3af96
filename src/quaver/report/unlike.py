"""Which items and which variants the labels move with: answers unlike their item's commonest label.

Within a model and a decoding every item has a commonest label, over all variants and repeats. An answer that
has another is unlike it, and so is one without a label: were no label one label more, an item that is seldom
labelled would count as well answered, and the few prompts that get a label out of it as bad ones. Items
whose answers are often unlike are hard or vague to the model; a variant whose answers are often unlike asks
something else than the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from quaver.report.results import NO_LABEL, Results

__all__ = ["Unlike", "first_answers", "unlike"]

_KEYS = ("model", "decoding", "item")


@dataclass(frozen=True, slots=True)
class Unlike:
    """Answers unlike their item's commonest label.

    Attributes:
        items: A row an item, the worst first: ``item``, ``gold``, ``mode`` (the commonest label of all its
            answers; `NO_LABEL` where none has one), ``answers``, ``unlike`` (how many), ``share``,
            ``unlabelled``.
        variants: A row a variant, the worst first: ``variant``, ``answers``, ``unlike``, ``share``.
        models: The same a model: ``model``.
        pairs: For each two labels, how many answers had the second where the first is the commonest:
            ``mode``, ``label``, ``answers``.
    """

    items: pl.DataFrame
    variants: pl.DataFrame
    models: pl.DataFrame
    pairs: pl.DataFrame

    @property
    def total(self) -> int:
        """How many answers are unlike."""
        return int(self.items["unlike"].sum()) if self.items.height else 0


def first_answers(results: Results) -> pl.DataFrame:
    """The first evaluator's annotations, counted.

    Args:
        results: The study.

    Returns:
        ``model``, ``decoding``, ``variant``, ``item``, ``gold``, ``label`` (`NO_LABEL` where there is none)
        and ``len``; empty where there are no annotations.
    """
    frame = results.annotations
    if frame.is_empty() or not {"item", "label", "variant"} <= set(frame.columns):
        return pl.DataFrame()
    if results.evaluators and "evaluator" in frame.columns:
        frame = frame.filter(pl.col("evaluator").cast(pl.String) == results.evaluators[0])
    wanted = ("model", "decoding", "variant", "item", "gold", "label")
    there = [name for name in wanted if name in frame.columns]
    counted = frame.group_by(there).len()
    text = counted.with_columns(pl.col(name).cast(pl.String) for name in there)
    gone = [pl.lit(None, pl.String).alias(name) for name in wanted if name not in there]
    return text.with_columns(*gone, pl.col("label").fill_null(NO_LABEL))


def unlike(results: Results) -> Unlike | None:
    """Count the answers that are unlike their item's commonest label.

    Args:
        results: The study.

    Returns:
        None where there are no annotations.
    """
    counted = first_answers(results)
    if counted.is_empty():
        return None
    by_item = counted.group_by(*_KEYS, "label").agg(pl.col("len").sum())
    modes = _commonest(by_item, _KEYS)
    unlike_it = (pl.col("label") != pl.col("mode")) | (pl.col("label") == NO_LABEL)
    joined = counted.join(modes, on=_KEYS, nulls_equal=True).with_columns(
        other=pl.when(unlike_it).then(pl.col("len")).otherwise(0)
    )
    found = [_rates(joined, name) for name in ("item", "variant", "model")]
    whole = by_item.group_by("item", "label").agg(pl.col("len").sum())
    told = counted.group_by("item").agg(
        pl.col("gold").first(), unlabelled=pl.col("len").filter(pl.col("label") == NO_LABEL).sum()
    )
    items = found[0].join(_commonest(whole, ("item",)), on="item", maintain_order="left")
    items = items.join(told, on="item", maintain_order="left")
    others = joined.filter(pl.col("other") > 0).group_by("mode", "label").agg(answers=pl.col("len").sum())
    return Unlike(
        items, found[1], found[2], others.sort(["answers", "mode", "label"], descending=[True, False, False])
    )


def _commonest(counted: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The commonest label of each part, the first by name of several; no label only where all have none."""
    last = pl.col("label") == NO_LABEL
    ordered = counted.sort([*keys, last, -pl.col("len").cast(pl.Int64), "label"])
    return ordered.group_by(keys, maintain_order=True).first().select(*keys, mode="label")


def _rates(joined: pl.DataFrame, name: str) -> pl.DataFrame:
    added = joined.group_by(name).agg(answers=pl.col("len").sum(), unlike=pl.col("other").sum())
    shares = added.with_columns(share=pl.col("unlike") / pl.col("answers"))
    return shares.sort(["share", "unlike", name], descending=[True, True, False])
