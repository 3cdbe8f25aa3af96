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
    """What the intervals of corrected estimates depend on, for each item and estimate.

    Attributes:
        squares: The square that is expected of an item's part in the corrected estimate, times the number of
            items: of the difference between its gold label's number and the prediction of it; shape (items,
            estimates).
        total: The same where nothing predicts: of the difference from the mean, or from the regression.
        names: What the estimates are of: labels whose shares are estimated, or a conclusion.
    """

    squares: Floats
    total: Floats
    names: tuple[str, ...]

    @property
    def spread(self) -> Floats:
        """Each estimate's variance, times the number of items, where every item has a gold label."""
        spread: Floats = self.total.mean(0)
        return spread

    def width(self, probabilities: Floats) -> float:
        """The widest 95% interval of these estimates, from end to end, with these probabilities.

        The variance of an estimate is ``Σ (1 / π_i − 1) e_i² / N² + s² / N``: that of the difference
        estimator (Särndal, Swensson & Wretman 1992, ch. 6) for the drawn items, and that of the items
        themselves as a sample of texts like these. Of the share of a label, ``e_i² = p_i (1 − p_i)`` where
        the prompts' labels give it the probability ``p_i``.
        """
        size = probabilities.size
        weight = np.where(probabilities > 0, 1 / np.maximum(probabilities, 1e-300) - 1, inf)
        variance = (weight[:, None] * self.squares).sum(0) / size**2 + self.spread / size
        return float(2 * _Z * np.sqrt(variance.max()))

    def scaled(self, by: float) -> Residuals:
        """The same with larger or smaller squares: as gold labels show them to be."""
        return Residuals(self.squares * by, self.total, self.names)

    @property
    def alone(self) -> Residuals:
        """The same where nothing predicts the gold labels: gold alone."""
        return Residuals(self.total, self.total, self.names)


def residuals(predicted: Predicted) -> Residuals:
    """What the labels' shares depend on, as the prompts' labels lead one to expect."""
    p = predicted.probabilities
    mean = p.mean(0)
    return Residuals(p * (1 - p), np.broadcast_to(mean * (1 - mean), p.shape), tuple(predicted.labels))


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
