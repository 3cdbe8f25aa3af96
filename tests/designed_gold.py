"""A gold sample drawn by design from annotations whose gold labels are all known."""

import numpy as np
import polars as pl

from quaver.core.annotations import GOLD_COLUMNS
from quaver.gold.gold_draw import FLOOR, allocated, drawn, first_draw, permanent_numbers


def designed(frame, n, seed, design="simple", *, by=None):
    """The frame as a study has it after gold labels of ``n`` items were collected; the others are hidden.

    Args:
        frame: Annotations with the gold label of every item.
        n: The sample's size; its mean with ``poisson``.
        seed: What it is drawn from.
        design: ``simple``; ``stratified`` by the column ``by``, or by the most frequent label; ``poisson``
            with probabilities that grow with how far an item's labels disagree.
        by: The column of strata.
    """
    items = frame.group_by(pl.col("item").cast(pl.String), maintain_order=True).agg(
        stratum=(pl.col(by).first() if by else pl.col("label").drop_nulls().mode().sort().first()),
        doubt=1 - pl.col("label").drop_nulls().unique_counts().max().fill_null(0) / pl.len(),
    )
    strata = items["stratum"].cast(pl.String).fill_null("none").to_list() if design == "stratified" else None
    before = first_draw(items["item"].to_list(), strata)
    draw = _poisson(before, n, seed, items["doubt"]) if design == "poisson" else drawn(before, n, seed)
    columns = draw.rename({name: f"gold_{name}" for name in draw.columns if name != "item"})
    kept = frame.drop(set(GOLD_COLUMNS[1:]) & set(frame.columns)).with_columns(pl.col("item").cast(pl.String))
    joined = kept.join(columns, on="item", how="left", maintain_order="left")
    gold = pl.when(pl.col("gold_drawn")).then(pl.col("gold"))
    return joined.with_columns(gold, pl.col("item").cast(frame.schema["item"]))


def _poisson(before, n, seed, doubt):
    """Each item drawn by itself, as whoever else draws gold labels may do."""
    size = before.height
    least = np.full(size, min(1.0, FLOOR * n / size))
    chances = allocated(doubt.to_numpy() + 0.1, least, np.ones(size), n)
    numbers = permanent_numbers(seed, before["item"])
    return before.with_columns(probability=pl.Series(chances), drawn=pl.Series(numbers <= chances))
