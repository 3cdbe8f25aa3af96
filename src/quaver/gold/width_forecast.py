"""How wide the interval of a corrected estimate will be, before its gold labels are collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import polars as pl

from quaver.gold.permanent_numbers import Floats
from quaver.gold.prompt_labels import Predicted

_Z = 1.959963984540054

Sampling = Callable[[float], Floats]
"""Each item's probability of being in a sample of a size."""


@dataclass(frozen=True, slots=True)
class Residuals:
    """What a corrected share's interval depends on, for each item and label.

    Attributes:
        squares: The square that is expected of the difference between the gold label's indicator and its
            prediction, shape (items, labels).
        spread: The variance of the gold label's indicator over the items, for each label.
        labels: The codes.
    """

    squares: Floats
    spread: Floats
    labels: tuple[str, ...]

    def width(self, probabilities: Floats) -> float:
        """The widest 95% interval of a label's corrected share, from end to end, with these probabilities.

        The variance of the share of label c is ``Σ (1 / π_i − 1) e_ic² / N² + s_c² / N``: that of the
        difference estimator (Särndal, Swensson & Wretman 1992, ch. 6) for the drawn items, and that of the
        items themselves as a sample of texts like these. With ``e_ic² = p_ic (1 − p_ic)`` where the prompts'
        labels predict with probability ``p_ic``.
        """
        size = probabilities.size
        weight = np.where(probabilities > 0, 1 / np.maximum(probabilities, 1e-300) - 1, inf)
        variance = (weight[:, None] * self.squares).sum(0) / size**2 + self.spread / size
        return float(2 * _Z * np.sqrt(variance.max()))

    def scaled(self, by: float) -> Residuals:
        """The same with larger or smaller squares: as gold labels show them to be."""
        return Residuals(self.squares * by, self.spread, self.labels)

    @property
    def alone(self) -> Residuals:
        """The same where nothing predicts the gold labels: gold alone."""
        return Residuals(np.broadcast_to(self.spread, self.squares.shape), self.spread, self.labels)


def residuals(predicted: Predicted) -> Residuals:
    """What the prompts' labels lead one to expect before there is any gold label."""
    p = predicted.probabilities
    mean = p.mean(0)
    return Residuals(p * (1 - p), mean * (1 - mean), tuple(predicted.labels))


def observed_scale(
    expected: Residuals, predicted: Predicted, draw: pl.DataFrame, gold: Mapping[str, str]
) -> float:
    """By how much the squared residuals of the gold labels so far exceed the expected ones.

    A ratio of two Horvitz-Thompson totals over the drawn items that have a label; 1 before there are ten.

    Args:
        expected: The squares that were expected.
        predicted: The prompts' labels.
        draw: The draw.
        gold: The gold labels of drawn items.
    """
    places = {item: at for at, item in enumerate(predicted.items)}
    codes = {code: at for at, code in enumerate(predicted.labels)}
    known = [
        (places[item], codes[gold[item]], probability)
        for item, probability in draw.filter("drawn").select("item", "probability").iter_rows()
        if item in gold and item in places and gold[item] in codes
    ]
    if len(known) < 10:
        return 1.0
    rows, columns = np.array([one[0] for one in known]), np.array([one[1] for one in known])
    weight = 1 / np.array([one[2] for one in known])
    truth = np.zeros((rows.size, len(codes)))
    truth[np.arange(rows.size), columns] = 1.0
    found = ((truth - predicted.probabilities[rows]) ** 2).sum(1) @ weight
    return float(found / (expected.squares[rows].sum(1) @ weight))


def needed(found: Residuals, sampling: Sampling, width: float, least: int = 2) -> int | None:
    """The smallest sample whose interval is at most this wide; None where labels of all items do not do it.

    Args:
        found: What the interval depends on.
        sampling: The items' probabilities in a sample of a size.
        width: From end to end.
        least: The smallest sample that is tried.
    """
    most = len(found.squares)
    if 2 * _Z * sqrt(float(found.spread.max()) / most) > width:
        return None
    low, high = min(least, most), most
    while low < high:
        middle = (low + high) // 2
        if found.width(sampling(middle)) <= width:
            high = middle
        else:
            low = middle + 1
    return low
