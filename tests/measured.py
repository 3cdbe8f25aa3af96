"""Annotations for the tests of measures, made up on the spot."""

import numpy as np
import polars as pl

N = None
KRIPPENDORFF = list(
    zip(
        [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
        [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
        strict=True,
    )
)
"""Krippendorff (2011), section C: 4 observers, 12 units. Gwet (2014) works all coefficients on it."""


def repeated(items=30, variants=1, repeats=6, *, seed=3, missing=0.0, steadiness=0.8):
    """Noisy repeats of a label that each item has."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, items)
    rows = []
    for item in range(items):
        for variant in range(variants):
            for repeat in range(repeats):
                label = truth[item] if rng.random() < steadiness else rng.integers(3)
                given = None if rng.random() < missing else "abc"[label]
                rows.append((f"i{item:03}", f"w{variant}", repeat, given))
    return pl.DataFrame(rows, schema=["item", "variant", "repeat", "label"], orient="row")


def grid(labels, gold="a", **columns):
    """A row an answer, of items that are asked with each of several variants.

    Args:
        labels: A row an item and a place a variant: codes of labels or their numbers; none is ``-`` or -1.
        gold: The gold label of all items, or one an item.
        columns: Of all rows.
    """
    gold = [gold] * len(labels) if isinstance(gold, str) and len(gold) == 1 else gold
    rows = [
        (f"i{item:03}", f"v{variant}", _code(label), _code(gold[item]))
        for item, row in enumerate(labels)
        for variant, label in enumerate(row)
    ]
    frame = pl.DataFrame(rows, ["item", "variant", "label", "gold"], orient="row", infer_schema_length=None)
    return frame.with_columns(**{name: pl.lit(value) for name, value in columns.items()})


def _code(label):
    if label is None or isinstance(label, str):
        return None if label == "-" else label
    return None if label < 0 else "abcdef"[int(label)]
