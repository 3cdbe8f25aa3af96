"""The annotations of a large study, made up."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl


def study(
    items: int = 500, paraphrases: int = 250, repeats: int = 3, conditions: int = 8, seed: int = 3
) -> pl.DataFrame:
    """The annotations of a large study, every column a measure may use."""
    rng = np.random.default_rng(seed)
    shape = (conditions, items, paraphrases, repeats)
    size = int(np.prod(shape))
    model, item, paraphrase, repeat = (part.ravel() for part in np.indices(shape, np.int32))
    gold = (item % 4).astype(np.int32)
    label = np.where(rng.random(size) < 0.6, gold, rng.integers(0, 4, size, dtype=np.int32))
    label = np.where(rng.random(size) < 0.02, 4, label)
    codes = pl.Series(["a", "b", "c", "d", None], dtype=pl.Categorical)
    sure = rng.random(size)
    rest = (1 - sure) / 3

    def named(prefix: str, numbers: np.ndarray[Any, Any]) -> pl.Series:
        names = [f"{prefix}{number:03}" for number in range(int(numbers.max()) + 1)]
        return pl.Series(names, dtype=pl.Categorical).gather(numbers)

    probabilities = pl.Series(np.stack([sure, rest, rest, rest], 1)).arr.to_list()
    return pl.DataFrame(
        {
            "model": named("m", model),
            "variant": named("v", paraphrase),
            "item": named("i", item),
            "repeat": repeat,
            "label": codes.gather(label),
            "gold": codes.gather(gold),
            "confidence": sure,
            "probabilities": probabilities,
            "original": pl.Series(paraphrase == 0),
        }
    )
