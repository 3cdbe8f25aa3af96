"""How wide a conclusion's interval will be: a regression on gold labels, before there are any."""

from __future__ import annotations

import numpy as np
from scipy import special

from quaver.gold.permanent_numbers import Floats
from quaver.gold.prompt_labels import Predicted
from quaver.gold.width_forecast import Residuals

_STEPS = 25


def regression_residuals(
    predicted: Predicted,
    matrix: Floats,
    contrast: Floats,
    values: Floats,
    name: str,
    *,
    logistic: bool = False,
    weights: Floats | None = None,
) -> Residuals:
    """What the interval of a regression's effect depends on, as the prompts' labels lead one to expect.

    An item's outcome enters the effect by ``a_i = w_i c (X' W X)⁻¹ x_i``, with ``W`` the weights, times
    ``μ (1 − μ)`` in a logistic regression. Its gold label is expected to differ from its prediction by
    ``σ²_i = Σ_c p_ic v_c² − (Σ_c p_ic v_c)²``, and from the regression by ``σ²_i`` plus the square of the
    prediction's own distance from it.

    Args:
        predicted: The prompts' labels of the items.
        matrix: The design matrix, shape (items, columns); rows with a NaN take no part.
        contrast: What each coefficient counts in the effect.
        values: What each label counts as in the outcome.
        name: What the conclusion is called.
        logistic: Whether the outcome is a share whose log-odds are explained.
        weights: What each item counts for.

    Of four items, two in each group, a difference of groups is the difference of two means, and each outcome
    counts for one half:

    >>> two = Predicted(list("1234"), ["a", "b"], np.full((4, 2), 0.5), np.full(4, 4.0))
    >>> matrix = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    >>> found = regression_residuals(two, matrix, np.array([0.0, 1.0]), np.array([1.0, 0.0]), "difference")
    >>> (found.squares[:, 0] / 16).round(9).tolist()  # (1 / 2)² × 0.25
    [0.0625, 0.0625, 0.0625, 0.0625]
    """
    p = predicted.probabilities
    mean = p @ values
    spread = np.maximum(p @ values**2 - mean**2, 0.0)
    return _residuals(matrix, contrast, mean, spread, weights, name, logistic=logistic)


def multinomial_residuals(
    predicted: Predicted, matrix: Floats, contrast: Floats, values: Floats, name: str, weights: Floats
) -> Residuals:
    """The same of a multinomial regression's effect: of the label that it is most about.

    Its log-odds against the reference are explained by the logistic regression of the items that have one of
    them (Begg & Gray 1984, Biometrika 71, 11-18); an item is one of these with the probability of both.

    Args:
        predicted: The prompts' labels of the items.
        matrix: The design matrix.
        contrast: What each coefficient counts, shape (outcomes, columns).
        values: What each label counts as in each outcome, shape (labels, outcomes).
        name: What the conclusion is called.
        weights: What each item counts for.

    >>> two = Predicted(list("1234"), ["a", "b"], np.full((4, 2), 0.5), np.full(4, 4.0))
    >>> given = np.ones((4, 1)), np.ones((1, 1)), np.array([[0.0], [1.0]])
    >>> one = multinomial_residuals(two, *given, "odds", np.ones(4)).squares
    >>> other = regression_residuals(two, given[0], np.ones(1), np.array([0.0, 1.0]), "odds", logistic=True)
    >>> bool(np.allclose(one, other.squares))
    True
    """
    outcome = int(np.abs(contrast).sum(1).argmax())
    label, reference = int(values[:, outcome].argmax()), int(values.sum(1).argmin())
    p = predicted.probabilities
    both = p[:, label] + p[:, reference]
    mean = p[:, label] / both
    found = _residuals(
        matrix, contrast[outcome], mean, mean * (1 - mean), weights * both, name, logistic=True
    )
    return Residuals(found.squares / both[:, None], found.total / both[:, None], found.names)


def _residuals(
    matrix: Floats,
    contrast: Floats,
    mean: Floats,
    spread: Floats,
    weights: Floats | None,
    name: str,
    *,
    logistic: bool,
) -> Residuals:
    """The squares that items' outcomes, of a mean and a variance, bring into an effect."""
    size = len(matrix)
    given = np.ones(size) if weights is None else weights
    complete = np.asarray(np.isfinite(matrix).all(1)) & np.isfinite(given)
    counts, x = np.where(complete, given, 0.0), np.where(complete[:, None], matrix, 0.0)
    fitted, information = _fitted(x, mean, counts, logistic=logistic)
    part = counts * (x @ np.linalg.pinv(information) @ contrast)
    squares = (size * part) ** 2 * spread
    total = squares + (size * part) ** 2 * (mean - fitted) ** 2
    return Residuals(squares[:, None], total[:, None], (name,))


def _fitted(x: Floats, mean: Floats, counts: Floats, *, logistic: bool) -> tuple[Floats, Floats]:
    """The regression's expected outcomes, and its information matrix."""
    if not logistic:
        information = x.T @ (x * counts[:, None])
        return x @ (np.linalg.pinv(information) @ (x.T @ (counts * mean))), information
    beta = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        fitted = special.expit(x @ beta)
        information = x.T @ (x * (counts * fitted * (1 - fitted))[:, None])
        step = np.linalg.pinv(information) @ (x.T @ (counts * (mean - fitted)))
        beta = beta + np.clip(step, -2.0, 2.0)
        if np.abs(step).max(initial=0.0) < 1e-9:
            break
    return special.expit(x @ beta), information
