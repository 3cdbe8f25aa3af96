"""Scores by which labels are accepted: the surer a label, the higher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from quaver.acceptance.error_test import Floats
from quaver.acceptance.item_evidence import ItemEvidence
from quaver.core.seeds import derive
from quaver.errors import MeasureError

Score = Literal["both", "agreement", "confidence", "learned"]
"""``agreement`` between prompts, models and repeats; the model's mean ``confidence`` in the label; ``both``,
the mean of their ranks; ``learned`` from the gold labels, by cross-fitting."""

SCORES: Final = get_args(Score)

_FOLDS = 5
_RIDGE = 1.0
_FREE = 0.1
_STEPS = 30


def scored(evidence: ItemEvidence, score: Score, seed: int = 0) -> Floats:
    """How sure each item's label is; only the order of the scores counts.

    No score but ``learned`` looks at a gold label. It fits a ridge logistic regression of right labels on
    agreement, confidence and the label itself. All items, checked or not, are dealt into five folds, and an
    item's score comes from a fit without any gold label of its own fold.

    Args:
        evidence: The items.
        score: Which score.
        seed: Of the folds.

    Returns:
        A score for each item. Without confidences, ``both`` is ``agreement``.

    Raises:
        MeasureError: The model gave no confidence.
    """
    if score == "confidence" and not np.isfinite(evidence.confidence).any():
        raise MeasureError(
            "the score is confidence, and no answer has one",
            where="score",
            expected="an evaluator that reads token probabilities, such as logprob",
            found="labels alone",
            fix="score by agreement, or add such an evaluator: it reads the stored answers",
        )
    return _SCORES[score](evidence, seed)


def _agreement(evidence: ItemEvidence, seed: int) -> Floats:
    return evidence.agreement


def _confidence(evidence: ItemEvidence, seed: int) -> Floats:
    return np.nan_to_num(evidence.confidence, nan=-1.0)


def _both(evidence: ItemEvidence, seed: int) -> Floats:
    if not np.isfinite(evidence.confidence).any():
        return evidence.agreement
    return (_ranked(evidence.agreement) + _ranked(_confidence(evidence, seed))) / 2


def _learned(evidence: ItemEvidence, seed: int) -> Floats:
    columns = [_both(evidence, seed)]
    if np.isfinite(evidence.confidence).any():
        columns.append(_ranked(evidence.agreement) - _ranked(_confidence(evidence, seed)))
    columns += [(evidence.label == name).astype(float) for name in np.unique(evidence.label)[1:]]
    table = np.stack([np.ones(evidence.items.size), *map(_standardised, columns)], 1)
    fold = np.random.default_rng(derive(seed, "accept", "folds")).integers(0, _FOLDS, evidence.items.size)
    right = (evidence.checked & ~evidence.wrong).astype(float)
    found = np.zeros(evidence.items.size)
    for one in range(_FOLDS):
        learn = evidence.checked & (fold != one)
        found[fold == one] = table[fold == one] @ _fitted(table[learn], right[learn])
    return found


_SCORES: Mapping[Score, Callable[[ItemEvidence, int], Floats]] = {
    "both": _both,
    "agreement": _agreement,
    "confidence": _confidence,
    "learned": _learned,
}


def _ranked(values: Floats) -> Floats:
    return np.asarray(stats.rankdata(values) / max(values.size, 1))


def _standardised(column: Floats) -> Floats:
    spread = column.std()
    return np.asarray((column - column.mean()) / spread if spread > 0 else 0.0 * column)


def _fitted(table: Floats, right: Floats) -> NDArray[np.float64]:
    """Ridge logistic regression by Newton's method; the first two columns are hardly shrunk."""
    penalty = np.full(table.shape[1], _RIDGE)
    penalty[:2] = _FREE
    found = np.zeros(table.shape[1])
    for _ in range(_STEPS):
        likely = special.expit(table @ found)
        slope = table.T @ (right - likely) - penalty * found
        bend = (table * (likely * (1 - likely))[:, None]).T @ table + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        found = found + step
        if np.abs(step).max() < 1e-8:
            break
    return found
