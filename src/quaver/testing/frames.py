"""Annotations that are made up, for measures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl

LABELS = ("a", "b", "c")
_CONSTANT = {
    "decoding": "d",
    "evaluator": "e",
    "truncated": False,
    "looping": False,
    "mass_coverage": 0.9,
    "text_length": 60,
    "marked_start": 10,
    "marked_end": 40,
    "marked_spans": "a[10:40]",
    "gold_drawn": True,
    "gold_probability": 1.0,
}


def noisy_annotations(
    items: int = 12,
    variants: int = 3,
    repeats: int = 3,
    *,
    models: Sequence[str] = ("m",),
    seed: int = 1,
    missing: float = 0.1,
    labels: Sequence[str] = LABELS,
    noise: float = 0.4,
) -> pl.DataFrame:
    """Noisy copies of the gold label, with some answers missing, in every column that a measure may need.

    Args:
        items: How many items, two of each author.
        variants: How many variants, ``v0`` the original.
        repeats: How many repeats.
        models: The models' names.
        seed: What the noise is drawn from.
        missing: The share of answers without a label.
        labels: The labels; the items' gold labels are these in turn.
        noise: The share of answers whose label is drawn at random.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for item, model, variant, repeat in product(range(items), models, range(variants), range(repeats)):
        gold = labels[item % len(labels)]
        drawn = gold if rng.random() > noise else labels[int(rng.integers(len(labels)))]
        label = None if rng.random() < missing else drawn
        rows.append((f"i{item}", model, f"v{variant}", repeat, label, gold, f"g{item // 2}"))
    columns = ["item", "model", "variant", "repeat", "label", "gold", "author"]
    schema = {name: pl.Int32 if name == "repeat" else pl.String for name in columns}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    # In the labels' order, and the same whatever the labels are called.
    side = (pl.col("item").hash(0) % 4) / 10
    spread = pl.concat_list(side, 1 - 2 * side, side)
    start = (pl.concat_str("item", "variant", "repeat").hash(2) % 50).cast(pl.Int32)
    likely = pl.when(pl.col("label") == pl.col("gold")).then(0.8).otherwise(0.55)
    of_label = {
        "confidence": likely,
        "probabilities": spread,
        "quote_start": start,
        "quote_end": start + 10,
        "spans": pl.format("a[{}:{}]", start, start + 10),
        "quote_score": pl.when(start < 40).then(1.0),
    }
    labelled = pl.col("label").is_not_null()
    return frame.with_columns(
        *(pl.lit(value).alias(name) for name, value in _CONSTANT.items()),
        *(pl.when(labelled).then(value).alias(name) for name, value in of_label.items()),
        original=pl.col("variant") == "v0",
        status=pl.when(labelled).then(pl.lit("valid")).otherwise(pl.lit("no_label")),
        reason=pl.lit(None, pl.String),
        served_host=pl.when(start % 2 == 0).then(pl.lit("north")).otherwise(pl.lit("south")),
        served_snapshot=pl.when(start % 3 == 0).then(pl.lit("june")).otherwise(pl.lit("july")),
        ben=pl.col("gold"),
        cleo=pl.when(pl.col("item").hash(1) % 5 > 0).then("gold"),
    )
