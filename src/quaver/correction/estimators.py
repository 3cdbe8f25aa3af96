"""A contrast of a regression on true labels that few items have: naive, from gold alone, and corrected.

Every estimate is off by a sum of contributions, one of each item: what the item does to the regression on all
items, and, where it has a gold label, what it does to the correction. Their squares make the variance, in
groups where items are in groups. Items are taken for a random sample of all that might have been there.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from quaver.correction.regressions import GoldSample, Kind, expected, inverse_times, levers, solved
from quaver.correction.spread import (
    Spread,
    blended,
    design_freedom,
    expected_events,
    spread_of,
    with_floor,
)
from quaver.correction.stacking import Residuals, Stack, stacked_predictors, unused, vote_shapes
from quaver.estimation.bootstrap import Floats
from quaver.estimation.intervals import Interval, clopper_pearson, effective


def strata_interval(
    value: float,
    sample: GoldSample,
    contributions: Floats,
    confidence_level: float,
    bounded: tuple[float, float],
) -> Interval:
    """The interval of a mean, by the limits of its strata (Donner & Zou 2012).

    With W_h a stratum's share of the items, m_h the mean of its gold labels, and (l_h, u_h) its interval, the
    mean reaches from value − √Σ (W_h r_h (m_h − l_h))² to value + √Σ (W_h r_h (u_h − m_h))². r_h is how much
    narrower the correction makes the stratum's part of the error than the gold labels alone do, where either
    counts one gold label more that nothing foresaw.

    Of a stratum of 50 gold labels half are 1, of one that is as large all 50 are 0. The second may yet hold
    up to 7.1% (Clopper & Pearson), half of which counts:

    >>> outcome = np.full((1000, 1), np.nan)
    >>> outcome[:50, 0], outcome[500:550, 0] = np.arange(50) % 2, 0.0
    >>> strata = np.repeat([0, 1], 500)
    >>> sample = GoldSample(np.ones((1000, 1)), outcome, np.full(1000, 0.1), np.ones(1000), strata=strata)
    >>> each = np.zeros(1000)
    >>> each[:50] = 0.5 / 50 * 0.5
    >>> low, high = strata_interval(0.25, sample, each, 0.95, (0.0, 1.0))
    >>> round(low, 3), round(high, 3)
    (0.181, 0.328)
    """
    assert sample.strata is not None
    weights, where, outcome = sample.gold_weights, sample.gold_strata, sample.outcome[sample.gold, 0]
    size = np.bincount(where).astype(np.float64)
    share = np.bincount(where, weights)
    mean = np.bincount(where, weights * outcome) / share
    square = np.bincount(where, weights * (outcome - mean[where]) ** 2) / share / np.maximum(size - 1, 1.0)
    ends = np.array(
        [_stratum_interval(*one, confidence_level, bounded) for one in zip(mean, square, size, strict=True)]
    )
    missed = (share * (bounded[1] - bounded[0]) / size) ** 2
    made = np.bincount(sample.strata, contributions**2, minlength=size.size)
    narrower = (made + missed) / (share**2 * square + missed)
    down, up = (np.sqrt(((share * (ends[:, end] - mean)) ** 2 * narrower).sum()) for end in (0, 1))
    return Interval(max(float(value - down), bounded[0]), min(float(value + up), bounded[1]))


def _stratum_interval(
    mean: float, variance: float, size: float, confidence_level: float, bounded: tuple[float, float]
) -> Interval:
    low, high = bounded
    if variance > 1e-24:
        return effective(mean, variance, size - 1, confidence_level, bounded)
    other = clopper_pearson(0, int(size), confidence_level).high
    return Interval(mean - other * (mean - low), mean + other * (high - mean))


_MOST_LEVERAGE = 0.9

_MANY_EVENTS = 25.0
"""With fewer among the gold labels, predictors are not weighted against each other."""

_LEARNED = 2.5
"""What one learned weight costs: about one event that it adds to the variance and one that it hides."""


class Question(NamedTuple):
    """What is asked of a sample.

    Attributes:
        sample: The items.
        contrast: What each coefficient counts, shape (outcomes, columns).
        kind: Of regression.
    """

    sample: GoldSample
    contrast: Floats
    kind: Kind = "linear"

    @property
    def mean(self) -> bool:
        """Whether it is a mean: a linear regression on a constant."""
        columns = self.sample.matrix
        return self.kind == "linear" and columns.shape[1] == 1 and bool(np.ptp(columns) == 0)

    @property
    def counts_events(self) -> bool:
        """Whether the interval depends on how many events samples of this design have (not a mean's)."""
        return self.sample.clusters is None and not self.mean


class Corrected(NamedTuple):
    """An estimate of a contrast.

    Attributes:
        value: The contrast.
        spread: How far it may be off.
        tuning: How far predictions were used: 0 for not at all, 1 for as they are.
        coefficients: Of each predictor, where there are several.
        contributions: What each item adds to the error.
        residuals: What each gold item leaves after the correction, times its lever; None of a naive estimate.
    """

    value: float
    spread: Spread
    tuning: float
    coefficients: Floats
    contributions: Floats
    residuals: Floats | None = None


def naive(question: Question, prediction: Floats) -> Corrected | None:
    """The regression on predictions as if they were the true labels.

    Returns:
        None where the columns determine each other, or tell the predictions apart.
    """
    sample, contrast, kind = question
    found = solved(kind, sample.matrix, prediction, sample.all_weights)
    if found is None:
        return None
    mean = expected(kind, sample.matrix, found)
    lever = _all_levers(question, found)
    if lever is None:
        return None
    each = sample.all_weights * (lever * (prediction - mean)).sum(1)
    sums = sample.unit_sums(each)
    freedom = max(float(sums.size - sample.matrix.shape[1]), 1.0)
    spread = spread_of(sums, freedom, grouped=sample.clusters is not None)
    return Corrected(_value(contrast, found), spread, 1.0, np.ones(1), each)


def gold_alone(question: Question) -> Corrected | None:
    """The regression on the gold labels and nothing else, each weighted by one over its probability.

    Returns:
        None where the columns determine each other among the gold items, or tell their labels apart.

    >>> from quaver.correction.regressions import of_share
    >>> sample = of_share(np.array([1.0, 0.0, np.nan, np.nan]), np.full(4, 0.5))
    >>> gold_alone(Question(sample, np.ones((1, 1)))).value
    0.5
    """
    return _adjusted(question, None, unused(question.sample, 0))


def stacked(
    question: Question, predictions: Floats, seed: int = 0, votes: int | None = None
) -> Corrected | None:
    """All predictions together, cross-fitted, each weighted by what it explains of the gold labels.

    What the predictions explain of each gold item's contribution is subtracted there, since over all items it
    sums to zero. Where they explain nothing, it is the estimate from gold alone, whose variance it never
    exceeds. With fewer than 25 events they are not weighted against each other: their share of votes (see
    `vote_shapes`) has one weight, λ.

    Returns:
        None where `gold_alone` has none.
    """
    alone = gold_alone(question)
    if alone is None:
        return None
    sample, contrast, kind = question
    shapes = vote_shapes(predictions[:, :, :votes])
    predictions = np.concatenate([predictions, shapes], 2)
    residuals = Residuals(sample, predictions, kind)
    rows, weights, outcome = sample.matrix[sample.gold], sample.gold_weights, sample.outcome[sample.gold]
    first = solved(kind, rows, outcome, weights)
    assert first is not None
    mean = expected(kind, rows, first)
    lever = levers(kind, rows, mean, weights, contrast, rows)
    assert lever is not None
    target = (lever * (outcome - mean)).sum(1)
    explained = np.einsum("io,iok->ik", lever, residuals.gold())
    few = shapes.shape[2] if min(alone.spread.events, alone.spread.expected) < _MANY_EVENTS else 0
    stack = stacked_predictors(sample, target, explained, seed, alone=few)
    corrected = _adjusted(question, residuals, stack, alone.spread.expected)
    if corrected is None or not stack.tuning:
        return alone._replace(coefficients=np.zeros(predictions.shape[2]))
    missed = np.ptp(outcome, axis=0).max() ** 2 * _one_more(sample, lever, shapes)
    # What is learned from few events hangs on the heaviest of them.
    cost = _LEARNED / max(alone.spread.expected, _LEARNED) if few and not sample.equal else 0.0
    together = blended(corrected.spread, alone.spread, missed, cost)
    if together is None:
        return alone._replace(coefficients=np.zeros(predictions.shape[2]))
    return corrected._replace(spread=together._replace(expected=alone.spread.expected))


def _value(contrast: Floats, coefficients: Floats) -> float:
    return float(contrast.ravel() @ coefficients.ravel())


def _one_more(sample: GoldSample, lever: Floats, shapes: Floats) -> float:
    """The variance that one more gold item adds, if its outcome is one off: the mean over gold items.

    Where items were drawn with unequal probabilities, half of it is weighted by how far the votes are split,
    since these are the items that predictions are wrong about.
    """
    each = ((sample.gold_weights[:, None] * lever) ** 2).sum(1)
    share = shapes[sample.gold, :, :1]
    split = (share * (1 - share)).sum((1, 2))
    if sample.equal or not split.sum() > 0:
        return float(each.mean())
    return float(each.mean() + each @ split / split.sum()) / 2


def _adjusted(
    question: Question, residuals: Residuals | None, stack: Stack, events: float = inf
) -> Corrected | None:
    """The regression on gold labels less what predictions explain of them."""
    sample, contrast, kind = question
    if not sample.gold.size:
        return None
    rows, weights = sample.matrix[sample.gold], sample.gold_weights
    outcome = sample.outcome[sample.gold]
    if residuals is not None:
        outcome = outcome - np.einsum("iok,ik->io", residuals.gold(), stack.coefficients[stack.fold])
    found = solved(kind, rows, outcome, weights)
    if found is None:
        return None
    mean = expected(kind, rows, found)
    lever = levers(kind, rows, mean, weights, contrast, rows)
    if lever is None:
        return None
    left = (lever * (outcome - mean)).sum(1)
    alone = residuals is None
    across = _all_levers(question, found) if not alone or question.counts_events else lever
    if across is None:
        return None
    explained = np.zeros(len(sample.matrix))
    if residuals is not None:
        explained = (across * residuals.combined(stack.mean)).sum(1)
    each = contributions(sample, left, explained)
    freedom, grouped = design_freedom(sample, lever), sample.clusters is not None
    spread = spread_of(sample.unit_sums(each), freedom, grouped=grouped)
    if question.counts_events:
        along = left / np.maximum(np.sqrt((lever**2).sum(1)), 1e-300)
        if alone:
            events = expected_events(sample, across, along)
            spread = spread._replace(expected=events)
        if kind == "linear" and sample.equal:
            spread = with_floor(spread, sample, lever, along, events)
    return Corrected(_value(contrast, found), spread, stack.tuning, stack.mean, each, left)


def _all_levers(question: Question, coefficients: Floats) -> Floats | None:
    """How far the contrast moves with each item's outcome, times its weight."""
    sample, contrast, kind = question
    mean = expected(kind, sample.matrix, coefficients)
    return levers(kind, sample.matrix, mean, sample.all_weights, contrast, sample.matrix)


def contributions(sample: GoldSample, left: Floats, explained: Floats) -> Floats:
    """What each item adds to the error of an estimate."""
    pulled = jackknifed(sample, left)
    if sample.strata is not None:
        # Strata of fixed sizes: what all of a stratum's items leave is no error of the sample.
        explained = explained + sample.stratum_means(left[:, None])[sample.strata, 0]
        pulled = sample.centred(pulled) * sample.small_strata
    found = sample.all_weights * (explained - sample.all_weights @ explained)
    found[sample.gold] += sample.gold_weights * pulled
    return np.asarray(found)


def jackknifed(sample: GoldSample, left: Floats) -> Floats:
    """What gold items leave, had each not drawn the regression to itself: MacKinnon & White (1985), HC3."""
    rows, weights = sample.matrix[sample.gold], sample.gold_weights
    system = inverse_times(rows.T @ (rows * weights[:, None]), rows.T)
    own = np.zeros(len(rows)) if system is None else weights * np.einsum("ip,pi->i", rows, system)
    return np.asarray(left / (1 - np.minimum(own, _MOST_LEVERAGE)))
