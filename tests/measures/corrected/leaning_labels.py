"""Annotations whose errors lean on a covariate: every prompt agrees on an effect that is not there."""

import numpy as np
import polars as pl


def leaning(items=3000, prompts=6, slope=0.0, lean=0.12, seed=0):
    """Prompts that say yes too often where ``x`` is high; the true share rises with ``x`` by ``slope``."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(items)
    true = rng.random(items) < 1 / (1 + np.exp(0.4 - slope * x))
    frames = []
    for prompt in range(prompts):
        wrong = rng.random(items) < 0.15 + 0.02 * prompt
        pushed = rng.random(items) < lean * (1 + np.tanh(x))
        said = np.where(pushed, True, np.where(wrong, ~true, true))
        frames.append(
            pl.DataFrame(
                {
                    "item": [f"i{n}" for n in range(items)],
                    "model": "m",
                    "variant": f"v{prompt}",
                    "label": np.where(said, "yes", "no"),
                    "gold": np.where(true, "yes", "no"),
                    "x": x,
                    "half": np.where(np.arange(items) % 2, "odd", "even"),
                    "author": np.arange(items) // 10,
                }
            )
        )
    return pl.concat(frames)
