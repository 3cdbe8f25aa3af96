"""Agreement of labels with gold labels beyond chance: a rare label that is never found shows in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from quaver.estimation.bootstrap import Floats
from quaver.estimation.intervals import Interval, mean_within
from quaver.estimation.statistic import Statistic


def gold_agreement(said: Statistic, counts: Floats, gold: Floats, alike: Floats | None = None) -> Statistic:
    """Cohen's kappa of labels and gold labels: 1 − D_wrong / D_chance; weighted where labels have an order.

    D_wrong is the share of labels that are not the item's gold label, and D_chance what it would be if labels
    had nothing to do with the items: 1 − Σ_k p_k q_k, with p_k the share of label k among the labels and q_k
    among the gold labels, an item's counting as often as it has labels. Source: Cohen (1960), Educational and
    Psychological Measurement 20, 37-46.

    Args:
        said: The statistic so far.
        counts: How often each item has each label, shape (items, labels).
        gold: Each item's gold label, as ones and zeros of the same shape.
        alike: How alike two labels are (`label_pairs.likeness`); None where only the same label agrees.

    Of ten items two are b; one of these is called a: 1 − 0.1 / (1 − 0.9 · 0.8 − 0.1 · 0.2):

    >>> found = gold_agreement(Statistic(method=""), np.eye(2)[[0] * 9 + [1]], np.eye(2)[[0] * 8 + [1] * 2])
    >>> round(float(found.under(np.ones((1, 10)))[0, 0]), 4)
    0.6154
    """
    like = gold if alike is None else gold @ alike
    each, right = counts.sum(1), (counts * like).sum(1)
    true = like * each[:, None]

    def shares(weights: Floats) -> tuple[Floats, Floats]:
        total = np.maximum(weights @ each, 1e-12)
        chance = 1 - ((weights @ counts) * (weights @ true)).sum(1) / total**2
        return 1 - weights @ right / total, chance

    def under(weights: Floats) -> Floats:
        wrong, chance = shares(weights)
        known = chance > 1e-9
        return np.asarray(np.where(known, 1 - wrong / np.where(known, chance, 1), np.nan)[:, None])

    spread = _spread(*(float(one[0]) for one in shares(np.ones((1, len(each))))))
    reason = "every label and gold label is the same"
    return replace(said, under=under, reason=reason, ends=(-1.0, 1.0), spread=spread)


def _spread(wrong: float, chance: float) -> Callable[[float, float], Interval]:
    """Where it may lie, by the share of further items whose label is wrong."""

    def within(value: float, share: float) -> Interval:
        if not chance:
            return Interval(-1.0, 1.0)
        ends = mean_within(wrong, share)
        return Interval(max(-1.0, 1 - ends.high / chance), 1 - ends.low / chance)

    return within
