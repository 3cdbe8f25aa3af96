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
