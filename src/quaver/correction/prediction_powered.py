"""One prediction, as published: PPI++ and design-based supervised learning (DSL)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quaver.correction.estimators import Corrected, Question, jackknifed
from quaver.correction.regressions import (
    GoldSample,
    Kind,
    balanced,
    expected,
    information,
    inverse_times,
    levers,
    solved,
)
from quaver.correction.spread import design_freedom, spread_of
from quaver.correction.stacking import folds_of
from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Ints

_RIDGE = 1e-3
"""A little of it, so that a prediction that never varies in a fold does no harm."""


def ppi(question: Question, prediction: Floats, tuning: float | None = None) -> Corrected | None:
    """Prediction-powered inference with power tuning, PPI++ (Angelopoulos, Duchi & Zrnic 2024).

    What the regression says of the predictions of all other items, times λ, plus what it says of the gold
    items' errors y − λ f. λ leaves the least variance of the contrast, within 0 and 1; the variance is the
    published one. Where items were drawn with equal probabilities this is what ppi-python computes, except
    that it tunes all coefficients of a logistic regression together. With unequal ones, gold items are
    weighted by one over theirs, predictions are averaged over all items, and the variance is jackknifed.

    Returns:
        None where there is no solution.

    Source: Angelopoulos, Duchi & Zrnic (2024), PPI++, arXiv 2311.01453, sections 3 and 6.

    Gold 1 and 0 of four items, all predicted as they are or would be (λ = 1): 1/2 from the others' 1 and 0.

    >>> from quaver.correction.regressions import of_share
    >>> sample = of_share(np.array([1.0, 0.0, np.nan, np.nan]), np.full(4, 0.5))
    >>> ppi(Question(sample, np.ones((1, 1))), np.array([[1.0], [0.0], [1.0], [0.0]]), 1.0).value
    0.5
    """
    parts = _Parts.of(question, prediction)
    if parts is None:
        return None
    if tuning is None:
        first = _point(question.kind, parts, 1.0)
        made = None if first is None else _influence(question, parts, first)
        if made is None:
            return None
        tuning = _tuned(parts, *made[:3])
    found = _point(question.kind, parts, tuning)
    made = None if found is None else _influence(question, parts, found)
    if found is None or made is None:
        return None
    own, predicted, others, lever = made
    value = float(question.contrast.ravel() @ found.ravel())
    sample = question.sample
    freedom = design_freedom(sample, lever)
    left = own - tuning * predicted
    grouped = sample.clusters is not None
    each = _contributions(question, parts, left, tuning * others)
    spread = spread_of(sample.unit_sums(each), freedom, grouped=grouped)
    return Corrected(value, spread, tuning, np.array([tuning]), each, left)


class _Parts(NamedTuple):
    """The gold items and those that predictions are averaged over, with weights of sum 1 each."""

    rows: Floats
    outcome: Floats
    predicted: Floats
    weights: Floats
    other: Ints
    other_rows: Floats
    other_predicted: Floats
    other_weights: Floats
    apart: bool

    @classmethod
    def of(cls, question: Question, prediction: Floats) -> _Parts | None:
        sample, gold = question.sample, question.sample.gold
        apart = sample.equal and gold.size < len(sample.matrix)
        other = np.delete(np.arange(len(sample.matrix)), gold) if apart else np.arange(len(sample.matrix))
        if gold.size < 2 or not other.size:
            return None
        weights = sample.weights[other] / sample.weights[other].sum()
        rows, outcome = sample.matrix[gold], sample.outcome[gold]
        given = (sample.matrix[other], prediction[other], weights)
        return cls(rows, outcome, prediction[gold], sample.gold_weights, other, *given, apart)


def _point(kind: Kind, parts: _Parts, tuning: float) -> Floats | None:
    left = parts.outcome - tuning * parts.predicted
    if kind == "linear":
        across = solved(kind, parts.other_rows, tuning * parts.other_predicted, parts.other_weights)
        here = solved(kind, parts.rows, left, parts.weights)
        return None if across is None or here is None else across + here
    moments = (left * parts.weights[:, None]).T @ parts.rows
    moments = moments + tuning * (parts.other_predicted * parts.other_weights[:, None]).T @ parts.other_rows
    rows = np.concatenate([parts.rows, parts.other_rows])
    weights = np.concatenate([(1 - tuning) * parts.weights, tuning * parts.other_weights])
    return balanced(kind, rows, moments, weights)


def _influence(
    question: Question, parts: _Parts, found: Floats
) -> tuple[Floats, Floats, Floats, Floats] | None:
    """What each item's outcome, and each prediction, does to the contrast; and the gold items' levers."""
    _, contrast, kind = question
    mean, other = expected(kind, parts.rows, found), expected(kind, parts.other_rows, found)
    size = parts.rows.shape[0]
    if parts.apart:
        total = size + parts.other.size
        system = size / total * information(kind, parts.rows, mean, parts.weights)
        system = system + parts.other.size / total * information(
            kind, parts.other_rows, other, parts.other_weights
        )
    else:
        system = information(kind, parts.other_rows, other, parts.other_weights)
    along = inverse_times(system, contrast.ravel())
    if along is None:
        return None
    turn = along.reshape(contrast.shape).T
    lever = parts.rows @ turn
    own, predicted = (lever * (parts.outcome - mean)).sum(1), (lever * (parts.predicted - mean)).sum(1)
    across = (parts.other_rows @ turn * (parts.other_predicted - other)).sum(1)
    return own, predicted, across, lever


def _tuned(parts: _Parts, own: Floats, predicted: Floats, across: Floats) -> float:
    """λ = cov(own, predicted) / ((1 + n / N) var(predicted)), within 0 and 1."""
    size = own.size
    scaled = parts.weights * size
    left, right = scaled * own, scaled * predicted
    if not parts.apart:
        square = float((right - right.mean()) @ right)
        best = float((left - left.mean()) @ right) / square if square > 0 else 0.0
        return float(np.clip(best, 0.0, 1.0))
    pooled = np.concatenate([right, parts.other_weights * across.size * across])
    variance = float(pooled.var(ddof=1))
    best = float((left - left.mean()) @ (right - right.mean())) / size
    return float(np.clip(best / ((1 + size / across.size) * variance), 0.0, 1.0)) if variance > 0 else 0.0


def _contributions(question: Question, parts: _Parts, left: Floats, across: Floats) -> Floats:
    """What each item adds to the error.

    Squares sum up to the published variance where items were drawn with equal probabilities. Where not, that
    variance is too small by what few heavy items draw the regression to themselves: it is jackknifed.
    """
    sample = question.sample
    result = np.zeros(len(sample.matrix))
    lost = 0 if question.mean else 1
    size, many = left.size, across.size
    if parts.apart:
        scaled = size * parts.weights * left
        elsewhere = many * parts.other_weights * across
        result[parts.other] = (elsewhere - elsewhere.mean()) / np.sqrt(many * max(many - lost, 1))
        result[sample.gold] = (scaled - scaled.mean()) / np.sqrt(size * max(size - lost, 1))
        return result
    pulled = jackknifed(sample, left)
    if sample.strata is not None:
        across = across + sample.stratum_means(left[:, None])[sample.strata, 0]
        pulled = sample.centred(pulled) * sample.small_strata
    else:
        pulled = pulled - parts.weights @ pulled
    result += parts.other_weights * (across - parts.other_weights @ across)
    result[sample.gold] += parts.weights * pulled
    return result


def dsl(question: Question, predictions: Floats, seed: int = 0, *, fitted: bool = True) -> Corrected | None:
    """Design-based supervised learning (Egami, Hinck, Stewart & Wei 2023).

    Each item's outcome is replaced by f + R (y − f) / π: its prediction, and where it was drawn (R = 1, with
    probability π) its error, times one over π. The regression on these of all items is free of bias,
    whatever the predictions are. The prediction is that of a linear regression of gold labels on the
    predictors and the regression's columns, cross-fitted. The variance is the sandwich of the estimating
    equations.

    Returns:
        None where there is no solution.

    Source: Egami, Hinck, Stewart & Wei (2023), Using imperfect surrogates for downstream inference,
    NeurIPS 36, equations 3 to 5.

    Of four items predicted 1, the two gold ones are 1 and 0, drawn with probability 1/2: 1 − 2/4 = 1/2.

    >>> from quaver.correction.regressions import of_share
    >>> sample = of_share(np.array([1.0, 0.0, np.nan, np.nan]), np.full(4, 0.5))
    >>> dsl(Question(sample, np.ones((1, 1))), np.ones((4, 1, 1)), fitted=False).value
    0.5
    """
    sample, contrast, kind = question
    if sample.gold.size < 2:
        return None
    guess = _cross_fitted(sample, predictions, seed) if fitted else predictions[:, :, 0]
    outcome = guess.copy()
    outcome[sample.gold] += (sample.outcome[sample.gold] - guess[sample.gold]) / sample.probability[
        sample.gold, None
    ]
    found = solved(kind, sample.matrix, outcome, sample.all_weights)
    if found is None:
        return None
    mean = expected(kind, sample.matrix, found)
    lever = levers(kind, sample.matrix, mean, sample.all_weights, contrast, sample.matrix)
    if lever is None:
        return None
    left = (lever * (outcome - mean)).sum(1)
    each = sample.all_weights * left
    freedom = design_freedom(sample, lever[sample.gold])
    value = float(contrast.ravel() @ found.ravel())
    spread = spread_of(sample.unit_sums(each), freedom, grouped=sample.clusters is not None)
    return Corrected(value, spread, 1.0, np.ones(1), each, left[sample.gold])


def _cross_fitted(sample: GoldSample, predictions: Floats, seed: int) -> Floats:
    """Each item's prediction: a gold item's from the other folds, any other's from the mean over folds."""
    fold = folds_of(sample, seed)
    columns = np.linalg.norm(sample.matrix, axis=0) / len(sample.matrix) ** 0.5
    guess = np.empty(predictions.shape[:2])
    for outcome in range(predictions.shape[1]):
        table = np.concatenate([sample.matrix / np.maximum(columns, 1e-300), predictions[:, outcome]], 1)
        given, true = table[sample.gold], sample.outcome[sample.gold, outcome]
        penalty = np.diag(np.r_[0.0, np.full(table.shape[1] - 1, _RIDGE)])
        each = []
        for one in range(int(fold.max()) + 1):
            some = fold != one
            weights = sample.gold_weights[some] / sample.gold_weights[some].sum()
            system = given[some].T @ (given[some] * weights[:, None]) + penalty
            each.append(
                np.linalg.lstsq(system, (given[some] * weights[:, None]).T @ true[some], rcond=None)[0]
            )
        coefficients = np.stack(each)
        guess[:, outcome] = table @ coefficients.mean(0)
        guess[sample.gold, outcome] = (given * coefficients[fold]).sum(1)
    return guess
