"""Simulated items with a known truth, for tests of corrected estimates."""

import numpy as np

from quaver.measures.corrected.estimators import GoldRegression


def labels(rng, items, share=0.4, accuracy=0.85, prompts=8, slope=0.5, tied=0.8):
    """A covariate, true labels, and each prompt's, whose errors are more frequent where it is high."""
    x = rng.standard_normal(items)
    y = (rng.random(items) < 1 / (1 + np.exp(-np.log(share / (1 - share)) - slope * x))).astype(float)
    common, given = rng.random(items), np.empty((items, prompts))
    for prompt, right in enumerate(np.linspace(accuracy - 0.1, accuracy, prompts)):
        wrong = np.clip((1 - right) * (1 + tied * np.tanh(x)), 0, 1)
        chance = np.where(rng.random(items) < 0.5, common, rng.random(items))
        given[:, prompt] = np.where(chance < wrong, 1 - y, y)
    return x, y, given


def question(x, y, drawn, probability, **more):
    """The slope of a covariate; the share, where there is none."""
    columns = np.ones((y.size, 1)) if x is None else np.stack([np.ones(y.size), x], 1)
    contrast = np.eye(columns.shape[1])[-1]
    return GoldRegression(columns, np.where(drawn, y, np.nan), probability, contrast, **more)


def simple(rng, items, gold):
    """Which of the items are drawn, all with the same probability."""
    drawn = np.zeros(items, bool)
    drawn[rng.choice(items, gold, replace=False)] = True
    return drawn, np.full(items, gold / items)
