"""Weighted regressions with one outcome or several: means, linear, logistic and multinomial ones.

Coefficients have the shape (outcomes, columns): a mean is a linear regression on a constant, a logistic
regression has one outcome, a multinomial one an outcome for each label but the reference. Outcomes need not
be whole: what a correction makes of them lies anywhere.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from quaver.estimation.bootstrap import Floats

Kind = Literal["linear", "logistic", "multinomial"]
"""Which regression."""

_STEPS = 60
_FAR = 5.0
"""A step of Newton's may move no item's log-odds by more than this."""
_STRAYED = 30.0
"""Log-odds beyond which the columns tell the outcomes apart: there is no finite solution."""
_SINGULAR = 1e12


def expected(kind: Kind, matrix: Floats, coefficients: Floats) -> Floats:
    """What a regression expects of each item.

    Args:
        kind: Of regression.
        matrix: Shape (items, columns).
        coefficients: Shape (outcomes, columns).

    Returns:
        Shape (items, outcomes). A reference label has what the others leave.

    >>> expected("multinomial", np.ones((1, 1)), np.log([[2.0], [1.0]])).tolist()
    [[0.5, 0.25]]
    """
    log_odds = matrix @ coefficients.T
    if kind == "linear":
        return np.asarray(log_odds)
    top = np.maximum(log_odds.max(1, keepdims=True), 0.0)
    odds = np.exp(log_odds - top)
    return np.asarray(odds / (np.exp(-top) + odds.sum(1, keepdims=True)))


def information(kind: Kind, matrix: Floats, mean: Floats, weights: Floats) -> Floats:
    """How the estimating equations move with the coefficients: Σ w (∂μ/∂η) ⊗ x xᵀ.

    Args:
        kind: Of regression.
        matrix: Shape (items, columns).
        mean: `expected` of them.
        weights: Of the items.

    Returns:
        Shape (outcomes × columns, outcomes × columns).
    """
    columns, outcomes = matrix.shape[1], mean.shape[1]
    if kind == "linear":
        return np.asarray(np.kron(np.eye(outcomes), matrix.T @ (matrix * weights[:, None])))
    found = np.empty((outcomes, columns, outcomes, columns))
    for one in range(outcomes):
        for other in range(one, outcomes):
            slope = mean[:, one] * ((one == other) - mean[:, other]) * weights
            found[one, :, other] = found[other, :, one] = matrix.T @ (matrix * slope[:, None])
    return found.reshape(outcomes * columns, outcomes * columns)


def solved(kind: Kind, matrix: Floats, outcome: Floats, weights: Floats) -> Floats | None:
    """The coefficients b with Σ w x (y − μ(x b)) = 0.

    Args:
        kind: Of regression.
        matrix: Shape (items, columns).
        outcome: Shape (items, outcomes).
        weights: Of the items.

    Returns:
        Shape (outcomes, columns); None where the columns determine each other, or tell the outcomes apart.

    A share of 3 in 4, in log-odds ln 3:

    >>> found = solved("logistic", np.ones((4, 1)), np.array([[1.0], [1.0], [1.0], [0.0]]), np.ones(4))
    >>> float(np.exp(found[0, 0]).round(9))
    3.0
    """
    return balanced(kind, matrix, (outcome * weights[:, None]).T @ matrix, weights)


def balanced(kind: Kind, matrix: Floats, moments: Floats, weights: Floats) -> Floats | None:
    """The coefficients b with Σ w μ(x b) xᵀ = moments; None where there are none.

    Args:
        kind: Of regression.
        matrix: Shape (items, columns).
        moments: Shape (outcomes, columns): Σ w y xᵀ, from whichever items.
        weights: Of the items.
    """
    if kind == "linear":
        found = inverse_times(matrix.T @ (matrix * weights[:, None]), moments.T)
        return None if found is None else found.T
    coefficients = np.zeros(moments.shape)
    for _ in range(_STEPS):
        mean = expected(kind, matrix, coefficients)
        left = moments - (mean * weights[:, None]).T @ matrix
        step = inverse_times(information(kind, matrix, mean, weights), left.ravel())
        if step is None:
            return None
        moved = np.abs(matrix @ step.reshape(moments.shape).T)
        reach = float(moved.max(initial=0.0))
        coefficients = coefficients + step.reshape(moments.shape) * min(1.0, _FAR / max(reach, 1e-300))
        if float(np.abs(matrix @ coefficients.T).max(initial=0.0)) > _STRAYED:
            return None
        if reach < 1e-10:
            return coefficients
    return None


def inverse_times(system: Floats, right: Floats) -> Floats | None:
    """The solution of a symmetric system; None where there is none worth the name.

    >>> inverse_times(np.array([[1.0, 1.0], [1.0, 1.0]]), np.ones(2)) is None
    True
    """
    if not np.isfinite(system).all() or not np.isfinite(right).all():
        return None
    scale = np.sqrt(np.maximum(np.abs(np.diag(system)), 1e-300))
    even = system / np.outer(scale, scale)
    sizes = np.abs(np.linalg.eigvalsh(even))
    if not sizes.min(initial=np.inf) > sizes.max(initial=0.0) / _SINGULAR:
        return None
    scaled = np.linalg.solve(even, (right.T / scale).T)
    return np.asarray((scaled.T / scale).T)


def levers(
    kind: Kind, matrix: Floats, mean: Floats, weights: Floats, contrast: Floats, rows: Floats
) -> Floats | None:
    """How far a contrast of the coefficients moves with the outcome of each of some items, times its weight.

    Args:
        kind: Of regression.
        matrix: The items that the regression is on.
        mean: What it expects of them.
        weights: Theirs.
        contrast: Shape (outcomes, columns).
        rows: The columns of the items asked for.

    Returns:
        Shape (items asked for, outcomes); None where the columns determine each other.
    """
    found = inverse_times(information(kind, matrix, mean, weights), contrast.ravel())
    return None if found is None else np.asarray(rows @ found.reshape(contrast.shape).T)
