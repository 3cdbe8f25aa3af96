"""How far an estimate from a gold sample may be off: variance, degrees of freedom, skewness, interval."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from quaver.correction.regressions import GoldSample
from quaver.estimation.bootstrap import ALIKE, Floats
from quaver.estimation.intervals import Interval, skewed

_SKEWED = 0.5
"""How much of the skewness the ends follow: all of it overshoots where it is itself estimated from few."""


_FEW = 7.0
"""With fewer events a side of a contrast may lack them altogether."""


class Spread(NamedTuple):
    """What is known of an estimate's error.

    Attributes:
        variance: Of the estimate.
        freedom: The degrees of freedom of the variance.
        skewness: Of the estimate.
        events: As how many items the variance counts: (Σ φ²)² / Σ φ⁴ of the contributions φ. Where a share's
            error rests on few wrong labels, about the number of these.
        expected: What ``events`` is in samples of this design on average (see `expected_events`); infinite
            where that is not known.
    """

    variance: float
    freedom: float
    skewness: float
    events: float
    expected: float = inf

    @property
    def tail_freedom(self) -> float:
        """The degrees of freedom of Student's distribution: the design's, and at most twice the events.

        A sum of squares varies by 2 / ν of its own square with ν degrees of freedom; by 1 / events, where it
        rests on few large ones. A sample without the largest ones by luck shows more events than there are.
        """
        return max(min(self.freedom, 2 * self.events, 2 * self.expected), 1.0)


def spread_of(contributions: Floats, freedom: float, *, grouped: bool = False) -> Spread:
    """The spread of an estimate that is off by a sum of independent contributions."""
    squares = contributions**2
    variance = float(squares.sum())
    if not variance > 0:
        return Spread(0.0, freedom, 0.0, 0.0)
    skewness = float(squares @ contributions) / variance**1.5
    events = variance**2 / float(squares @ squares)
    if grouped:
        variance *= contributions.size / max(contributions.size - 1, 1)
    return Spread(variance, freedom, skewness, events)


def blended(corrected: Spread, alone: Spread, missed: float, cost: float = 0.0) -> Spread | None:
    """The spread of a corrected estimate, some of whose wrong labels may have been missed by chance.

    What is left after a correction is the work of few wrong labels, so that a sample may hold none of them.
    It counts as if one more gold item had a label that the predictions say nothing of.

    Returns:
        None where the correction does not narrow anything.
    """
    variance = corrected.variance + max(missed, cost * corrected.variance)
    if not variance < (1 - cost) * alone.variance:
        return None
    skewness = corrected.skewness * (corrected.variance / variance) ** 1.5
    return corrected._replace(variance=variance, skewness=skewness)


def with_floor(spread: Spread, sample: GoldSample, lever: Floats, along: Floats, events: float) -> Spread:
    """The spread of a contrast whose variance may be too small for want of events on one side.

    If a label that few items have is by chance missing on one side of a contrast, this side adds nothing to
    the variance. With seven events or fewer, the variance is therefore at least what it would be if outcomes
    varied as much wherever the columns lie, Σ w² l² · Σ w² r² / Σ w², and with more events at least the
    part 7 / events of that.
    """
    if sample.strata is not None:
        along = sample.centred(along) * sample.small_strata
    weights, levers = sample.gold_weights**2, (lever**2).sum(1)
    own = float((weights * along**2) @ levers)
    even = float(weights @ along**2) * float(weights @ levers) / float(weights.sum())
    more = min(1.0, _FEW / max(events, 1e-9)) * even - own
    return spread._replace(variance=spread.variance + more) if more > 0 else spread


def design_freedom(sample: GoldSample, lever: Floats) -> float:
    """The degrees of freedom of a contrast's variance, were all errors alike (Bell & McCaffrey 2002).

    Those of items in a group are taken to be correlated by 0.25, as in `Units.freedom`.
    """
    matrix, weights = sample.matrix[sample.gold], sample.gold_weights
    share = weights**2 * (lever**2).sum(1)
    system = np.linalg.pinv(matrix.T @ (matrix * weights[:, None]))
    own = weights * np.einsum("ip,pq,iq->i", matrix, system, matrix)
    if sample.clusters is not None:
        alone = np.bincount(sample.units, share)
        own = np.bincount(sample.units, own * share) / np.maximum(alone, 1e-300)
        sums = [np.bincount(sample.units, weights * outcome) for outcome in lever.T]
        total = (1 - ALIKE) * alone + ALIKE * np.square(sums).sum(0)
        left = total * (1 - np.minimum(own, 1.0))
        return max(float(left.sum() ** 2 / max((left**2).sum(), 1e-300)) - 1.0, 1.0)
    left = share * (1 - own)
    twice = (matrix * (share * weights)[:, None]).T @ matrix @ system
    across = float(np.trace(twice @ twice) - (share * own) @ (share * own))
    below = float((left**2).sum()) + max(across, 0.0)
    return max(float(left.sum()) ** 2 / max(below, 1e-300), 1.0)


def expected_events(sample: GoldSample, lever: Floats, residual: Floats) -> float:
    """As how many items a variance is expected to count in samples of this design.

    With q = w² l² for an item of weight w and lever l, drawn with probability π: (Σ q / π)² / Σ q² / π³ over
    all items, over the kurtosis of the gold items' residuals. How few there are shows before anything is
    drawn, where weights are unequal; in the sample itself it shows only if the heavy items are there.

    Of 100 gold labels of a simple sample a tenth is 1: kurtosis (0.1 · 0.9⁴ + 0.9 · 0.1⁴) / 0.09² = 8.11.

    >>> from quaver.correction.regressions import of_share
    >>> outcome = np.r_[np.ones(10), np.zeros(90), np.full(900, np.nan)]
    >>> sample = of_share(outcome, np.full(1000, 0.1))
    >>> round(expected_events(sample, np.ones((1000, 1)), outcome[:100] - 0.1), 2)
    12.33
    """
    weighted = sample.gold_weights * residual**2
    total = float(weighted.sum())
    if not total > 0:
        return 0.0
    kurtosis = float(weighted @ residual**2) / total**2
    each = sample.all_weights**2 * (lever**2).sum(1)
    fourth = float((each**2 / sample.probability**3).sum())
    return float((each / sample.probability).sum()) ** 2 / max(fourth * kurtosis, 1e-300)


def interval(value: float, spread: Spread, confidence_level: float) -> Interval:
    """Student's interval, its ends moved for half the skewness of the estimate (`skewed`).

    >>> [round(end, 2) for end in interval(0.0, Spread(1.0, 1e9, 0.6, 1e9), 0.95)]
    [-1.63, 2.65]
    """
    skewness = _SKEWED * spread.skewness
    return skewed(value, spread.variance, spread.tail_freedom, skewness, confidence_level)
