"""A gold sample in the annotation frame: its columns, the same in all rows of an item."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from quaver.core.annotations import ANNOTATION_COLUMNS, GOLD_COLUMNS


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
