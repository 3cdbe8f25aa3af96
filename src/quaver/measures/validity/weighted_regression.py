"""A conclusion's regression on labels as they are, where items have weights or there are several outcomes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import special

from quaver.core.records import IntervalWarning
from quaver.correction.estimators import Question, gold_alone
from quaver.correction.gold_sample import GoldSample
from quaver.correction.regressions import Kind
from quaver.correction.spread import interval
from quaver.estimation.answer_grid import Ints
from quaver.estimation.bootstrap import Floats
from quaver.estimation.statistic import Statistic

_FEW_EVENTS = 8.0


class WeightedRegression(NamedTuple):
    """A regression of labels that are taken for true, each weighted by what its item counts for.

    Attributes:
        matrix: The items' columns, shape (items, columns); NaN where one has no value.
        weights: What each item counts for; NaN where that is not known.
        contrast: What each coefficient counts in the effect, shape (outcomes × columns,).
        kind: Of regression.
        clusters: Each item's group, from 0; None where items are on their own.
    """

    matrix: Floats
    weights: Floats
    contrast: Floats
    kind: Kind
    clusters: Ints | None

    def statistic(
        self, found: Statistic, outcome: Floats, threshold: float, confidence_level: float
    ) -> Statistic:
        """A statistic filled in: the contrast, with the interval of its sandwich variance (HC3) and p.

        Args:
            found: The statistic so far, with the reason if there is no solution.
            outcome: Shape (items, outcomes); NaN where an item has no label.
            threshold: What the effect is held against.
            confidence_level: Of the interval.
        """
        complete = np.isfinite(self.matrix).all(1) & np.isfinite(self.weights)
        known = complete & np.isfinite(outcome).all(1)
        clusters = None
        if self.clusters is not None:
            clusters = np.unique(self.clusters[known], return_inverse=True)[1].astype(np.int64)
        sample = GoldSample(
            self.matrix[known], outcome[known], np.ones(int(known.sum())), self.weights[known], clusters
        )
        contrast = self.contrast.reshape(outcome.shape[1], -1)
        made = gold_alone(Question(sample, contrast, self.kind))
        if made is None or not made.spread.variance > 0:
            return found
        each, value = np.zeros(known.size), made.value
        each[known] = made.contributions

        def under(weights: Floats) -> Floats:
            return np.asarray(value + (weights @ each - each.sum())[:, None])

        error = made.spread.variance**0.5
        p = float(2 * special.stdtr(made.spread.tail_freedom, -abs(value - threshold) / error))
        few = () if made.spread.events >= _FEW_EVENTS else (IntervalWarning(_RARE),)
        own = interval(value, made.spread, confidence_level)
        return replace(
            found,
            under=under,
            interval=(own, "sandwich interval"),
            differing=None,
            details={**found.details, "p": p},
            warnings=(*found.warnings, *few),
        )


_RARE = "the contrast rests on few items with the rarer label: its interval may be too narrow"
