"""Annotations for the tests of measures, made up on the spot."""

import numpy as np
import polars as pl


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
