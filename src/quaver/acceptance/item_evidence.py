"""What speaks for each item's label: its prompts' agreement, the model's confidence, a person's check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.acceptance.error_test import Floats
from quaver.errors import MeasureError

_NEEDED = ("item", "label", "gold", "gold_probability", "gold_drawn")


@dataclass(frozen=True)
class ItemEvidence:
    """Items with their most frequent label and what speaks for it, an array of as many values each.

    Attributes:
        items: Their ids.
        label: The most frequent label over all prompts, models and repeats; empty where there is none.
        agreement: The share of all answers that give this label; answers without a label disagree.
        confidence: The model's mean probability of this label; NaN where it gave none.
        gold: The label that people gave; empty where there is none.
        checked: Whether it was drawn into the gold sample and has a gold label.
        waiting: Whether it was drawn and has none yet.
        probability: How likely it was to be drawn; NaN for items outside the sampled population.
        groups: The items' groups, by column.
    """

    items: NDArray[np.str_]
    label: NDArray[np.str_]
    agreement: Floats
    confidence: Floats
    gold: NDArray[np.str_]
    checked: NDArray[np.bool_]
    waiting: NDArray[np.bool_]
    probability: Floats
    groups: dict[str, NDArray[np.str_]]

    @property
    def candidates(self) -> NDArray[np.bool_]:
        """The items whose label might be accepted: those of the sampled population that have one."""
        return np.asarray((self.label != "") & np.isfinite(self.probability) & (self.probability > 0))

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Whether a checked label is wrong."""
        return np.asarray(self.checked & (self.label != self.gold))


def evidence_of(
    annotations: pl.DataFrame,
    labels: Sequence[str],
    *,
    groups: Sequence[str] = (),
    confidences: pl.DataFrame | None = None,
) -> ItemEvidence:
    """What speaks for each item's label.

    Args:
        annotations: An annotation frame of one evaluator.
        labels: The codes of the label set, in the order of the probabilities.
        groups: Columns of the items' groups.
        confidences: The annotations that have confidences, where they are not the same.

    Raises:
        MeasureError: There are no gold labels, or none that were drawn by design.
    """
    _check(annotations)
    text = [pl.col(name).cast(pl.String) for name in ("item", "label", "gold", *groups)]
    frame = annotations.select(*text, "gold_probability", "gold_drawn")
    items = frame.group_by("item", maintain_order=True).agg(
        pl.len().alias("asked"),
        pl.col("gold", "gold_probability", "gold_drawn", *groups).first(),
    )
    modal = _modal(frame, labels)
    sure = _confidence(annotations if confidences is None else confidences, modal, labels)
    found = items.join(modal, on="item", how="left", maintain_order="left")
    found = found.join(sure, on="item", how="left", maintain_order="left")
    drawn, gold = found["gold_drawn"].fill_null(False), found["gold"].fill_null("")
    return ItemEvidence(
        items=found["item"].to_numpy().astype(np.str_),
        label=found["label"].fill_null("").to_numpy().astype(np.str_),
        agreement=(found["times"].fill_null(0) / found["asked"]).to_numpy(),
        confidence=found["confidence"].fill_null(np.nan).to_numpy(),
        gold=gold.to_numpy().astype(np.str_),
        checked=(drawn & (gold != "")).to_numpy(),
        waiting=(drawn & (gold == "")).to_numpy(),
        probability=found["gold_probability"].fill_null(np.nan).to_numpy(),
        groups={name: found[name].fill_null("").to_numpy().astype(np.str_) for name in groups},
    )


def _check(annotations: pl.DataFrame) -> None:
    missing = [name for name in _NEEDED if name not in annotations.columns]
    drawn = 0 if missing else int(annotations["gold_drawn"].fill_null(False).sum())
    known = 0 if missing else annotations.filter(pl.col("gold_drawn"))["gold"].drop_nulls().len()
    if drawn and known:
        return
    own = 0 if "gold" not in annotations.columns else annotations["gold"].drop_nulls().len()
    found = "no gold labels" if not own else "gold labels that were not drawn by design"
    raise MeasureError(
        "what can be accepted is shown by gold labels of items that were drawn by design",
        where="gold_drawn",
        expected="the gold labels of a sample with known probabilities",
        found="a sample without gold labels yet" if drawn else found,
        fix="bring the coders' labels in: quaver gold" if drawn else "draw a sample: quaver gold",
    )


def _modal(frame: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Each item's most frequent label, and how often it was given; of equals the first in the label set."""
    order = pl.DataFrame(
        {"label": list(labels), "place": range(len(labels))}, schema_overrides={"label": pl.String}
    )
    return (
        frame.drop_nulls("label")
        .group_by("item", "label")
        .agg(pl.len().alias("times"))
        .join(order, on="label", how="inner")
        .sort("times", "place", descending=[True, False])
        .unique("item", keep="first", maintain_order=True)
    )


def _confidence(frame: pl.DataFrame, modal: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """The mean probability of each item's label; where an answer has no distribution, from its confidence."""
    if "confidence" not in frame.columns or frame["confidence"].null_count() == frame.height:
        return pl.DataFrame(schema={"item": pl.String, "confidence": pl.Float64})
    own = frame.select(
        pl.col("item").cast(pl.String),
        pl.col("label").cast(pl.String).alias("said"),
        "confidence",
        *(["probabilities"] if "probabilities" in frame.columns else []),
    ).drop_nulls("confidence")
    own = own.join(modal.select("item", "label", "place"), on="item", how="inner")
    others = (1 - pl.col("confidence")) / max(len(labels) - 1, 1)
    sure = pl.when(pl.col("said") == pl.col("label")).then(pl.col("confidence")).otherwise(others)
    if "probabilities" in own.columns:
        sure = pl.coalesce(pl.col("probabilities").list.get(pl.col("place"), null_on_oob=True), sure)
    return own.group_by("item").agg(sure.mean().alias("confidence"))
